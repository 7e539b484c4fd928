import SheafEngine
import SheafStorage
import SheafSync
import SheafTransport

/// The pump: the only code that performs the effects of sessions.
///
/// The contract: an event updates the state, which queues effects in sessions, and ends with
/// `pump()`. The pump performs the effects of all sessions, in the order of the connections, until
/// there are none. After each one except a frame to send, `follow(_:)` takes the steps that the
/// state of the connection permits, in a fixed order: write, acknowledge, check, compare, repair,
/// send. An event handler therefore never triggers the next step itself. Events of a receiver or a
/// sender that may queue effects run in `runReceiver` or `runSender`, which perform these at once.
/// The caller then takes the effects of the replicator with `drainEffects()`, and sets its timer to
/// `deadline`.
extension Replicator {
    /// Performs the effects of all sessions until there are none.
    func pump() {
        while true {
            reportNewSite()
            transfer.requestParts()
            performTransfers()
            if table.touched.isEmpty { return }
            visitTouched()
        }
    }

    /// Performs the effects of the changed connections, in order.
    ///
    /// A connection that changes after its turn waits for the next round.
    private func visitTouched() {
        var last: UInt64?
        while let connection = table.touched.next(after: last) {
            last = connection.number
            table.beginVisit(connection)
            settle(connection)
            if connection.isChanged {
                follow(connection)
                settle(connection)
            }
            guard !table.touched.contains(connection) else { continue }
            table.refresh(connection, through: recent.snapshot.log.commit)
        }
    }

    /// Performs the effects of one session, and the steps that follow from each.
    ///
    /// Events call it before they end only where the order matters: a frame may cancel the effects
    /// of the previous one, a failed connection must end before its successor begins, and a tick
    /// completes one connection after the other.
    func settle(_ connection: Connection) {
        // Only a change of the session is recorded in the table, and a check is none.
        while connection.session.hasEffects, let effect = connection.session.nextEffect() {
            perform(effect, of: connection)
            performTransfers()
            if case .send = effect { continue }
            follow(connection)
        }
    }

    /// Takes the steps that the state of a connection permits, in a fixed order.
    func follow(_ connection: Connection) {
        connection.isChanged = false
        defer { table.recordFollowed(connection) }
        guard connection.session.isOpen else { return }
        advanceReceiver(of: connection)
        compareIfComplete(connection)
        let newest = recent.snapshot.log.commit
        if connection.sender?.completeLater.isEmpty == false {
            connection.sender?.queueDurableRepairs(through: newest)
        }
        reviewDisputed(on: connection)
        if connection.sender?.isDue(through: newest, isLimited: connection.isLimited) == true {
            send(connection)
        }
        if connection.sender?.isReviewDue == true { reviewUnsendable(on: connection) }
        recordSynced(connection)
        recordProgress(on: connection)
        if connection.receiver.awaitsRenewal, connection.receiver.isSettled {
            renewSubscription(connection)
        }
    }

    private func perform(_ effect: SyncSession.Effect, of connection: Connection) {
        switch effect {
        case .send(let bytes): emit(.send(connection: connection.number, bytes))
        case .end(let closeMessage):
            logContested(closeMessage, on: connection)
            emit(.close(connection: connection.number, closeMessage))
            end(
                connection.number,
                .ended(closeMessage, isRemote: connection.session.isEndedRemotely))
        case .greeted(let hello): greet(connection, hello)
        case .listOwn(let generation):
            connection.receiver.awaitsComparison =
                generation == connection.receiver.generation && subscriptions.matcher != nil
        case .apply(let step):
            runReceiver(of: connection) { receiver, context, exchange in
                receiver.receive(step, context, on: &exchange)
            }
        case .announced(let message):
            runReceiver(of: connection) { receiver, context, exchange in
                receiver.receive(message, context, on: &exchange)
            }
        case .announceOnly: announceFromNowOn(on: connection)
        case .subscribed(let request): subscribed(connection, request)
        case .listMatches: listMatches(connection, in: recent.snapshot)
        case .wanted(let documents): prepareWanted(connection, documents, in: recent.snapshot)
        case .wantedRanges(let ranges, let count):
            connection.sender?.wantedRanges = (ranges, count)
        case .acknowledged(let commit): acknowledged(connection, commit)
        case .roomToSend: connection.sender?.isAwake = true
        case .quarantine(let notice): recordQuarantined(notice, on: connection)
        case .refused(let notice):
            runSender(of: connection) { sender, context, exchange in
                sender.handleRefusal(notice, context, on: &exchange)
            }
        case .differing(let addresses):
            let context = context(of: connection)
            connection.receiver.disputed.recordDiffering(addresses) {
                context.unsendableCommits(of: $0)
            }
        case .lostWrite(let message): processLostWrite(message, on: connection)
        case .changedSite(let site): record(site, of: connection)
        case .pauses(let known): addPauses(known, from: connection)
        case .sought(let message): transfer.sought(message, on: connection.number)
        case .offered(let message): transfer.offered(message, on: connection.number)
        case .fetched(let part, let bytes): transfer.fetched(part, bytes, on: connection.number)
        case .proofAsked(let token):
            transfer.handleProofRequest(token, on: connection.number)
            answerProofs(on: connection)
        case .proven(let token): transfer.confirmed(token, on: connection.number)
        case .presence(let message): mesh.receive(message, on: connection.number, at: now)
        case .presenceAcknowledged: mesh.acknowledged(on: connection.number)
        }
    }

    private func greet(_ connection: Connection, _ hello: Hello) {
        table.recordPeer(of: connection)
        guard replaceConnection(connection, hello), prepareRights(of: connection, hello) else {
            return
        }
        makeRoom(forPeer: hello.peerKey)
        recordAuthorization(connection, hello)
        record(connected: connection, hello)
        recordSite(hello, on: connection)
        compareClock(of: hello, on: connection)
        mesh.opened(connection.number, to: hello.peerKey, kind: connection.kind.rawValue, at: now)
        renewSubscription(connection)
        // The requests for documents precede those for attachments.
        settle(connection)
        guard connections[connection.number] === connection else { return }
        transfer.open(
            connection.number,
            AttachmentExchange(key: hello.peerKey, site: hello.site, connection.access))
    }
}
