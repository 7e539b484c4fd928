import SheafBytes
import SheafDocument
import SheafEngine
import SheafQuery
import SheafStatements
import SheafStorage
import SheafSync
import SheafTransport

/// The receivers of all connections: their events, and the effects of these.
extension Replicator {
    // MARK: Events

    /// Runs an event of the receiver of a connection, and performs its effects.
    ///
    /// An error ends the connection. After the end of the session nothing runs: otherwise each
    /// batch of one frame would be an event nested in the previous one.
    func runReceiver(
        of connection: Connection,
        _ event: (inout Receiver, PeerContext, inout DocumentExchange) throws(EngineError) -> Void
    ) {
        guard connection.session.isOpen else { return }
        var failure: EngineError?
        do throws(EngineError) {
            let context = context(of: connection)
            try event(&connection.receiver, context, &connection.exchange)
        } catch {
            failure = error
        }
        while let effect = connection.receiver.effects.next() { perform(effect, of: connection) }
        if let failure { return failReading(connection, failure) }
        if !connection.session.isOpen { settle(connection) }
    }

    private func perform(_ effect: Receiver.Effect, of connection: Connection) {
        switch effect {
        case .write(let steps): write(steps, from: connection)
        case .written(let outcome): apply(outcome, to: connection)
        case .renew(let addresses): renewSubscription(connection, complete: addresses)
        case .reconcile:
            if let key = connection.session.remote?.peerKey { subscriptions.cursors[key] = nil }
            renewSubscription(connection)
        case .cursor(let commit): recordCursor(commit, of: connection)
        case .repair(let outdated, let commit): repair(outdated, after: commit, on: connection)
        case .repetition: recordRepetition(on: connection)
        }
    }

    /// Takes the steps of the receiver that have become possible.
    func advanceReceiver(of connection: Connection) {
        let acknowledgeable = min(recent.snapshot.log.commit, hubDurable)
        guard connection.receiver.canAdvance(through: acknowledgeable) else { return }
        runReceiver(of: connection) { receiver, context, exchange throws(EngineError) in
            try receiver.advance(context, on: &exchange)
        }
    }

    /// Compares the complete local version list of the subscription with that of the peer.
    ///
    /// The list is complete once all documents received from the peer are durable. They are not
    /// sent back: if the peer deleted one before it builds its list, no list would show it.
    func compareIfComplete(_ connection: Connection) {
        guard connection.receiver.awaitsComparison,
            let key = connection.session.remote?.peerKey, !unfinishedWrites.has(key)
        else { return }
        connection.receiver.awaitsComparison = false
        recordFullRetry(connection)
        // The former cursor is invalid until the reconciliation is done.
        subscriptions.cursors[key] = nil
        runReceiver(of: connection) { receiver, context, exchange throws(EngineError) in
            try receiver.compare(context, on: &exchange)
        }
    }

    /// Records a replication cursor, unless the subscription has been widened since it was sent.
    private func recordCursor(_ commit: UInt64, of connection: Connection) {
        guard let hello = connection.session.remote,
            connection.receiver.epoch == subscriptions.epoch, !connection.isLimited
        else { return }
        subscriptions.cursors[hello.peerKey] = KnownCursor(
            cursor: Cursor(log: hello.log, commit: commit), epoch: subscriptions.epoch,
            named: connection.receiver.named)
    }

    /// Evaluates the queries of the peer on documents that this peer may not send.
    ///
    /// The documents wait for the subscription of the peer. The evaluation continues in later
    /// iterations when the slice is used up.
    func settleDisputed(on connection: Connection) {
        guard connection.session.isOpen, connection.receiver.disputed.isPending,
            let wanted = connection.sender?.unfilteredMatcher(queries)
        else { return }
        let context = context(of: connection)
        let snapshot = context.queries.documents.snapshot()
        let unsendable = connection.receiver.disputed.settle { address, commits in
            context.isUnsendable(address, commits, snapshot, wantedBy: wanted)
        }
        for (address, commits) in unsendable {
            recordUnsendable(address, commits, on: connection)
        }
        reviewDisputed(on: connection)
    }

    /// Reviews documents that lack local writes at the peer, whose subscription must be known.
    func reviewDisputed(on connection: Connection) {
        guard connection.sender != nil, connection.receiver.disputed.isReviewDue else { return }
        let context = context(of: connection)
        connection.receiver.disputed.review(through: context.snapshot.log.commit) {
            context.unsendableCommits(of: $0)
        }
    }

    // MARK: Writing

    /// Requests a write job for received batches.
    private func write(_ steps: [PreparedStep], from connection: Connection) {
        fillBudget(of: connection)
        if let key = connection.session.remote?.peerKey {
            unfinishedWrites.begin(on: connection.number, from: key)
        }
        emit(
            .write(
                WriteJob(
                    connection: connection.number, steps: steps,
                    peer: connection.exchange.sites.peer,
                    limitedPeer: connection.isLimited ? connection.session.remote?.peerKey : nil,
                    writable: connection.access.writable, readable: connection.access.readRule,
                    shadows: connection.exchange.limitedPeer?.shadows ?? ShadowTable(),
                    received: connection.exchange.limitedPeer?.received ?? ReceivedDocuments(),
                    awaited: quarantine.addresses,
                    disputed: refusals.addresses(of: connection.session.remote?.peerKey ?? [])
                        .union(connection.receiver.disputed.addresses),
                    budget: connection.access.writable == nil ? nil : meter(of: connection),
                    stop: evaluationStop)))
    }

    /// Processes the outcome of a write job.
    package func handleOutcome(_ outcome: WriteJob.Outcome) {
        outcome.chargeBudget()
        queries.log?.writeUnmoved(outcome)
        queries.log?.write(outcome.lostWrites)
        if outcome.lacksOwnWrites { mayReportSite = true }
        guard outcome.connection != HubFeed.connection else {
            handleFeedOutcome(outcome)
            return pump()
        }
        if outcome.hasBatches { recordWritten(outcome) }
        if outcome.isOfProof {
            recordProven(outcome)
        } else {
            // The documents are written even if the connection has ended.
            recordReceived(outcome)
            holdClients(after: outcome)
            if let connection = connections[outcome.connection] { apply(outcome, to: connection) }
        }
        pump()
    }

    private func apply(_ outcome: WriteJob.Outcome, to connection: Connection) {
        statistics.documentsReceived += UInt64(outcome.documentCount)
        statistics.documentsApplied += UInt64(outcome.appliedCount)
        let key = connection.session.remote?.peerKey
        if outcome.lacksOwnWrites { queries.log?.writeMissingWrites(knownBy: key) }
        runReceiver(of: connection) { receiver, context, exchange in
            receiver.finish(outcome, context, on: &exchange)
        }
        recordHidden(outcome, from: connection)
        guard outcome.lostByPeer == nil else { return }
        let isComplete =
            outcome.generation == connection.receiver.generation && outcome.applied != nil
        recordQuarantined(outcome, isComplete: isComplete, on: connection)
        if let key { for address in outcome.covered { refusals.remove(address, of: key) } }
        if isComplete {
            if outcome.isNew { change(connection) { $0.updates += 1 } }
            settleDisputed(on: connection)
        }
        runReceiver(of: connection) { receiver, context, exchange in
            receiver.conclude(outcome, context, on: &exchange)
        }
        if connection.session.isOpen { scheduleSending(connection) }
    }

    /// Records the end of a job with batches, for which reconciliations may wait.
    private func recordWritten(_ outcome: WriteJob.Outcome) {
        unfinishedWrites.end(
            on: outcome.connection, through: outcome.lastCommit, durable: recent.snapshot.log.commit
        )
        refreshTable()
        for connection in table.awaiting.members { connection.isChanged = true }
    }

    /// Records the peer's writes to hidden documents, and logs those that were dropped.
    func recordHidden(_ outcome: WriteJob.Outcome, from connection: Connection) {
        let documents = outcome.hidden
        guard let key = connection.session.remote?.peerKey else { return }
        for address in outcome.revealed { connection.exchange.limitedPeer?.shadows.remove(address) }
        guard !documents.isEmpty else { return }
        for document in documents {
            connection.exchange.limitedPeer?.shadows.set(
                document.address, document.write.shadow)
        }
        // For the peer, the changes are the same as if the documents had been written.
        let changes = documents.compactMap { document in
            recent.snapshot.key(of: document.address).map {
                ChangedDocument(
                    key: $0, before: document.write.before, shadowCommit: document.commit)
            }
        }
        runSender(of: connection) { sender, context, exchange throws(EngineError) in
            try sender.collect(changes, context, on: &exchange)
        }
        guard let (count, last) = outcome.dropped else { return }
        queries.log?.write(
            .warning,
            "dropped writes of a peer with limited rights to documents that it may not read: it may "
                + "not write them, or the results exceed a limit",
            [
                "peer": PeerKey(unchecked: key).description, "documents": "\(count)",
            ].merging(last.logFields) { $1 })
    }

    /// Records documents that were received from a peer with limited rights and written.
    func recordReceived(_ outcome: WriteJob.Outcome) {
        guard let key = outcome.limitedPeer, !outcome.received.isEmpty else { return }
        let peer = peers.openLimitedPeer(key, most: limits.limitedRepairs)
        for address in outcome.received { peer.received.add(address) }
    }

    // MARK: Announcements

    /// Subscribes again if announced documents were not delivered in time.
    func checkAnnouncementTimeout(_ connection: Connection) {
        guard connection.receiver.isAnnouncementLate(at: now) else { return }
        // Only one connection is subscribed again: its peer may send all missing documents. If all
        // connections were, each peer would send every document from then on.
        for other in connections.values where other.receiver.announced.deadline != nil {
            other.receiver.announced.restartTimer(at: now)
        }
        // Connections of the spanning tree send in both directions.
        connection.sender?.isAnnouncing = false
        // A new generation excludes messages of the old one.
        renewSubscription(connection)
    }

    /// Switches the connection to announcements, since the peer has another source.
    ///
    /// Connections that send must form a tree for every writer. If one sent in a single direction
    /// only, documents of other writers would arrive late or twice.
    func announceFromNowOn(on connection: Connection) {
        guard !connection.isLimited else { return }
        connection.sender?.isAnnouncing = true
        recordRepetition(on: connection)
    }

    /// Requests announcements from a peer whose documents had arrived from another peer before.
    func recordRepetition(on connection: Connection) {
        // A peer that only announces would not learn when its documents are hub-durable.
        guard !connection.isLimited, !isHub else { return }
        let hasOthers = connections.values.contains { other in
            // A peer with limited rights does not send all documents.
            other !== connection && other.session.isOpen && other.receiver.generation > 0
                && !other.receiver.announced.isAnnouncing && !other.isLimited
        }
        guard hasOthers, !connection.receiver.announced.isAnnouncing else { return }
        connection.receiver.announced.isAnnouncing = connection.session.announceOnly()
    }
}
