import SheafBytes
package import SheafDocument
import SheafEngine
import SheafQuery
import SheafStatements
import SheafStorage
import SheafSync

/// The receiver: the subscription of this peer, and the documents received for it.
extension Replicator {
    /// Replaces the subscription of this peer.
    package func subscribe(_ queries: [SubscriptionQuery]) throws(StoreError) {
        var tally = SubscriptionTally()
        for query in queries { try tally.add(query) }
        // A query that another one covers would cost the remote peer time without a benefit.
        let queries = SubscriptionQuery.effective(queries)
        let wire = queries.map(\.wire)
        guard wire != subscriptions.wire else { return }
        let known = Set(subscriptions.wire)
        let isWider = !wire.allSatisfy { known.contains($0) }
        subscriptions.wire = wire
        subscriptions.queries = queries
        subscriptions.matcher = SubscriptionMatcher(queries, self.queries, stop: evaluationStop)
        if isWider { subscriptions.epoch += 1 }
        for connection in orderedConnections where connection.session.isOpen {
            renewSubscription(connection)
        }
        pump()
    }

    /// Requests again the evicted documents that match the subscription.
    func requestEvicted() {
        var isConcerned = false
        var evicted: [EvictedDocument] = []
        for commit in news.fresh {
            // Documents that were received again are included: their states may be older or newer.
            for change in commit.changes where change.isEvicted {
                guard let before = change.before else { continue }
                if !refusals.isEmpty, let address = news.snapshot.address(of: change.key.bytes) {
                    refusals.remove(address)
                }
                // Other peers may still have a document whose tombstone was collected locally.
                if before.isTombstone { news.recordCollection(at: commit.number) }
                if let address = news.snapshot.address(of: change.key.bytes),
                    subscriptions.matcher?.selects(for: address.collection) ?? false
                {
                    isConcerned = true
                    evicted.append(
                        EvictedDocument(
                            key: change.key.bytes, address: address, before: before))
                }
            }
        }
        guard isConcerned else { return }
        subscriptions.epoch += 1
        subscriptions.evictionCount += 1
        for connection in orderedConnections
        where connection.session.isOpen && context(of: connection).isConcerned(by: evicted) {
            renewSubscription(connection)
        }
    }

    /// Subscribes at the remote peer, immediately or when the rate limiter permits it.
    func renewSubscription(_ connection: Connection, complete: [DocumentAddress] = []) {
        guard connection.session.isOpen else { return }
        // An empty subscription is sent only if it replaces another one.
        guard !subscriptions.queries.isEmpty || connection.receiver.generation > 0 else { return }
        // A peer with limited rights must not observe evictions of documents that it may not read.
        let epoch =
            connection.isLimited
            ? subscriptions.epoch &- subscriptions.evictionCount : subscriptions.epoch
        // The credit of discarded batches is granted again, too.
        connection.session.grant(connection.receiver.renew(epoch))
        subscribe(connection, complete: complete)
    }

    func sendSubscription(_ connection: Connection, complete: [DocumentAddress]) {
        guard let hello = connection.session.remote, connection.session.isOpen else { return }
        // Collections that are not shared are not requested.
        let shared = subscriptions.queries.filter { scopes.isShared($0.collection) }.map(\.wire)
        var cursor: Cursor?
        if let known = subscriptions.cursors[hello.peerKey], known.epoch == subscriptions.epoch,
            known.cursor.log == hello.log, !connection.isLimited
        {
            // Documents whose addresses do not fit in one frame are found by reconciliation.
            if Subscribe.fits(complete: complete) { cursor = known.cursor }
        }
        connection.receiver.reached = cursor?.commit ?? 0
        connection.session.subscribe(
            Subscribe(
                generation: connection.receiver.generation, shared,
                at: connection.isLimited
                    ? connection.exchange.reserveStepNumber() : news.snapshot.log.commit,
                from: cursor,
                complete: cursor == nil ? [] : complete))
    }

    func listOwn(_ connection: Connection, _ generation: UInt64) {
        guard generation == connection.receiver.generation, var matcher = subscriptions.matcher
        else { return }
        recordFullRetry(connection)
        // A restart can occur within a batch.
        connection.receiver.discardStaged()
        // The former cursor is invalid until the reconciliation is done.
        if let key = connection.session.remote?.peerKey { subscriptions.cursors[key] = nil }
        let snapshot = context(of: connection).shown(news.snapshot)
        // The filter precedes the queries: an error on a document that the peer may not read would
        // end the connection.
        if let filter = connection.access.rankFilter(in: snapshot, isOwn: true) {
            matcher = SubscriptionMatcher(
                subscriptions.queries, queries, meter: .unlimited(stop: evaluationStop),
                where: filter)
        }
        do throws(EngineError) {
            let rankings = try beginRankCheck(connection, matcher, in: snapshot)
            connection.receiver.listed = news.snapshot.log.commit
            connection.session.compare(
                with: try snapshot.versions(matching: matcher, rankings),
                most: lengths.wanted, reportsDifferences: connection.access.sendable != nil)
        } catch {
            failReading(connection, error)
        }
    }

    /// Queues a batch for writing once all its parts have been received.
    func apply(_ step: ShippedStep, from connection: Connection) {
        guard step.generation == connection.receiver.generation else {
            connection.session.grant(step.length)
            return
        }
        connection.receiver.rankCheck?.recordCompared(step)
        if connection.receiver.staged.isEmpty {
            connection.receiver.stagedStamp = step.commits.first?.stamp
        }
        do throws(EngineError) {
            try makeRoom(for: step.documentLength, on: connection)
            try connection.exchange.translate(
                step, context(of: connection), onto: &connection.receiver.staged)
            try makeRoom(for: 0, on: connection)
        } catch {
            return fail(connection, error)
        }
        guard !step.isContinued else { return }
        if connection.receiver.isIdle {
            // An empty batch needs no write, but documents of an earlier connection may not be
            // durable yet.
            return apply(
                .nothing(step, on: connection.number, after: queries.documents.store.lastCommit),
                to: connection)
        }
        connection.receiver.waiting.append(
            PreparedStep(
                generation: step.generation, documents: connection.receiver.staged,
                commit: step.commit,
                stamp: connection.receiver.stagedStamp,
                senderKey: connection.access.writable == nil
                    ? nil : connection.session.remote?.peerKey,
                connection: connection.nonce,
                // A lost write detected by the pauses would reveal a hidden document.
                pauses: connection.access.readable == nil ? connection.exchange.sites.pauses : [],
                isCut: step.isCut, length: step.length))
        connection.receiver.discardStaged()
    }

    /// Moves the partially received batch to disk if the memory limit would be exceeded.
    private func makeRoom(for coming: Int, on connection: Connection) throws(EngineError) {
        let waiting = connection.receiver.lengthInMemory
        let staged = connection.receiver.staged.lengthInMemory
        guard staged > 0, waiting + staged + coming > lengths.inMemory else { return }
        try onStorage { () throws(StorageError) in
            try connection.receiver.staged.moveToDisk(queries.documents.store)
        }
    }

    /// Requests a write job for the received batches, unless one is running.
    func write(_ connection: Connection) {
        guard connection.session.isOpen, let steps = connection.receiver.beginWriting() else {
            return
        }
        connection.session.withholdLongCredit(true)
        fillBudget(of: connection)
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
                        .union(connection.receiver.disputed.keys),
                    budget: connection.access.writable == nil ? nil : meter(of: connection),
                    stop: evaluationStop)))
    }

    /// Processes the outcome of a write job.
    package func handleOutcome(_ outcome: WriteJob.Outcome) {
        outcome.chargeBudget()
        queries.log?.writeUnmoved(outcome)
        queries.log?.write(outcome.lostWrites)
        if outcome.lacksOwnWrites { mayReportSite = true }
        if outcome.isOfProof {
            recordProven(outcome)
        } else {
            // The documents are written even if the connection has ended.
            recordReceived(outcome)
            if let connection = connections[outcome.connection] { apply(outcome, to: connection) }
        }
        pump()
    }

    private func apply(_ outcome: WriteJob.Outcome, to connection: Connection) {
        connection.receiver.endWriting()
        connection.session.grant(outcome.length)
        connection.session.withholdLongCredit(false)
        statistics.documentsReceived += UInt64(outcome.documentCount)
        statistics.documentsApplied += UInt64(outcome.appliedCount)
        refuse(outcome, from: connection)
        recordHidden(outcome, from: connection)
        if outcome.lacksOwnWrites {
            queries.log?.writeMissingWrites(knownBy: connection.session.remote?.peerKey)
        }
        if let time = outcome.lostByPeer { return reportLostWrite(time, to: connection) }
        repair(outcome.outdated, after: outcome.lastCommit, on: connection)
        let isCurrent = outcome.generation == connection.receiver.generation
        if isCurrent, let applied = outcome.applied {
            if connection.receiver.announced.messages.isEmpty {
                connection.receiver.written.append((applied.commit, applied.localCommit))
                advanceCursor(applied.commit, on: connection)
            } else {
                connection.receiver.announced.addWritten(
                    applied.commit, localCommit: applied.localCommit,
                    generation: outcome.generation)
            }
            connection.receiver.hasCaughtUp = true
            connection.receiver.missing = []
            if outcome.isNew { change(connection) { $0.updates += 1 } }
            if outcome.hasRepetition { recordRepetition(on: connection) }
        }
        let isComplete = isCurrent && outcome.applied != nil
        recordQuarantined(outcome, isComplete: isComplete, on: connection)
        resolveDisputed(outcome, isComplete: isComplete, on: connection)
        recordLacking(outcome, on: connection)
        if let error = outcome.error { return fail(connection, error) }
        if isCurrent, !outcome.gaps.isEmpty {
            // All missing documents are requested together; the earlier ones would arrive as deltas
            // again.
            connection.receiver.missing.formUnion(outcome.gaps)
            return renewSubscription(
                connection, complete: connection.receiver.missing.sorted(by: <))
        }
        scheduleSending(connection)
    }

    /// Advances the replication cursor to `commit`.
    func advanceCursor(_ commit: UInt64, on connection: Connection) {
        connection.receiver.reached = commit
        guard let hello = connection.session.remote,
            connection.receiver.epoch == subscriptions.epoch, !connection.isLimited
        else { return }
        subscriptions.cursors[hello.peerKey] = (
            Cursor(log: hello.log, commit: commit), subscriptions.epoch
        )
    }

    /// Ends a connection because a batch cannot be written.
    ///
    /// The text for a peer with limited rights has no lengths and no values, which could come from
    /// stored documents.
    private func fail(_ connection: Connection, _ error: EngineError) {
        if connection.isLimited {
            queries.log?.write(
                .warning, "cannot write a batch of a peer with limited rights: \(error)")
        }
        func text(_ short: String) -> String { connection.isLimited ? short : "\(error)" }
        switch error {
        case .invalidDocument, .document(.id), .invalidCollection:
            fail(connection, .protocolBroken, text("a batch contains an invalid document"))
        case .document(.time): fail(connection, .refused, text("a batch contains an invalid time"))
        case .limit: fail(connection, .limit, text("a batch, or a document in it, is too long"))
        case .evaluation(let error) where error.reason == .cancelled:
            fail(connection, .done, "the peer stops")
        case .evaluation(let error) where error.reason == .limit:
            fail(
                connection, .limit,
                "the write rule of this peer cannot be evaluated: \(error.message)")
        default: fail(connection, .failed, "the store cannot write")
        }
    }

    /// Acknowledges the batches that are durable; returns the remote commit of the last one.
    func acknowledge(_ connection: Connection) -> UInt64? {
        let durable = news.snapshot.log.commit
        guard let commit = connection.receiver.removeDurable(through: durable) else { return nil }
        connection.session.acknowledge(commit: commit, of: connection.receiver.generation)
        return commit
    }
}

extension Replicator.Connection {
    /// Whether disputed documents can be checked against the queries of the peer.
    var hasUnsettled: Bool { sender != nil && !receiver.unsettled.isEmpty }
}
