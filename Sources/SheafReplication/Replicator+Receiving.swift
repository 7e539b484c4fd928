import SheafBytes
import SheafDocument
import SheafEngine
package import SheafQuery
import SheafStatements
import SheafStorage
import SheafSync

/// The receiver: the subscription of this peer, and the documents received for it.
extension Replicator {
    /// The subscription of this peer, and its cursors at remote peers.
    struct Subscriptions {
        package var queries: [SubscriptionQuery] = []
        /// The queries in their wire form.
        var wire: [SubscribedQuery] = []
        var matcher: SubscriptionMatcher?
        /// Version of the subscription; cursors of other epochs are invalid.
        ///
        /// It increases when the subscription is widened and when documents are evicted.
        var epoch: UInt64 = 0
        /// Number of epoch increments caused by evictions.
        var evictionCount: UInt64 = 0
        /// Replication cursors with the epochs of their validity, by peer key.
        var cursors: [[UInt8]: (cursor: Cursor, epoch: UInt64)] = [:]
    }

    /// The receiver's state of one connection.
    struct Receiver {
        var generation: UInt64 = 0
        var epoch: UInt64 = 0
        /// Documents of the partially received batch.
        var staged = SpillBuffer()
        var stagedStamp: Stamp?
        /// Received batches that wait until earlier ones are written.
        var waiting: [PreparedStep] = []
        var isWriting = false
        /// Size in memory of the batches being written.
        var writingLength = 0
        /// Remote and local commits of written batches that are not acknowledged yet.
        var written: [(commit: UInt64, localCommit: CommitID)] = []
        /// The remote commit up to which all documents were received.
        package var reached: UInt64 = 0
        /// Whether all documents that matched at the time of the subscription were received.
        var hasCaughtUp = false
        var announced = Announced()
        /// The check of queries with LIMIT that follows a reconciliation.
        var rankCheck: RankCheck?
        /// The subscription that the rate limiter delays.
        var delayedSubscription: DelayedSubscription?
        /// Factor by which a reconciliation exceeds the LIMIT of queries.
        var rankFactor = 1
        /// Documents that must be received complete before other documents can be written.
        var missing: Set<DocumentAddress> = []
        /// Quarantined documents that were requested again.
        var retried: Set<DocumentAddress> = []
        /// Whether a reconciliation covers quarantined documents that were not recorded.
        var reconcilesQuarantine = false
        /// Whether a check of the quarantined documents was skipped on this connection.
        var missesCheck = false
        /// Number of quarantined documents last reported to the peer.
        var reportedQuarantineCount: UInt64 = 0
        /// The peer's queries at the last review of documents that this peer may not send.
        var reviewed: Set<SubscribedQuery> = []
        /// The local commit of the version list that was last reconciled.
        var listed = CommitID.max
        /// Whether a refusal was reported to the peer.
        var hasReported = false
        /// Differing documents that this peer may not send, with the commits that wrote them.
        var disputed: [DocumentAddress: [CommitID]] = [:]
        /// Disputed documents that the peer has not sent, last one first; its queries decide on
        /// them.
        var unsettled: [(key: DocumentAddress, value: [CommitID])] = []
        /// Documents that the peer sent without a write of this store.
        ///
        /// The value is the local commit that must be durable before the document is reviewed.
        var lacking: [DocumentAddress: CommitID] = [:]
    }

    /// Replaces the subscription of this peer.
    package func subscribe(_ queries: [SubscriptionQuery]) throws(QueryError) {
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
    }

    /// Requests evicted documents again that match the subscription.
    func requestEvicted() {
        var isConcerned = false
        var evicted: [Evicted] = []
        for commit in news.fresh {
            // Documents that were received again are included: their states may be older or newer.
            for change in commit.changes where change.isEvicted {
                guard let before = change.before else { continue }
                if !refusals.isEmpty, let address = news.snapshot.address(of: change.key.bytes) {
                    refusals.remove(address)
                }
                // Other peers may still have a document whose tombstone was collected here.
                if before.isTombstone { news.recordReaping(at: commit.number) }
                if let address = news.snapshot.address(of: change.key.bytes),
                    subscriptions.matcher?.selects(for: address.collection) ?? false
                {
                    isConcerned = true
                    evicted.append(
                        Evicted(key: change.key.bytes, address: address, before: before))
                }
            }
        }
        guard isConcerned else { return }
        subscriptions.epoch += 1
        subscriptions.evictionCount += 1
        for connection in orderedConnections
        where connection.session.isOpen && concern(evicted, connection) {
            renewSubscription(connection)
        }
    }

    /// Subscribes at the remote peer, immediately or when the rate limiter permits it.
    func renewSubscription(_ connection: Connection, complete: [DocumentAddress] = []) {
        guard connection.session.isOpen else { return }
        // An empty subscription is sent only if it replaces another one.
        guard !subscriptions.queries.isEmpty || connection.receiver.generation > 0 else { return }
        connection.receiver.generation += 1
        // A peer with limited rights must not observe evictions of documents that it may not read.
        let epoch =
            connection.isLimited
            ? subscriptions.epoch &- subscriptions.evictionCount : subscriptions.epoch
        if connection.receiver.epoch != epoch { connection.receiver.rankFactor = 1 }
        connection.receiver.epoch = epoch
        // The credit of discarded batches is granted again, too.
        connection.session.grant(connection.receiver.waiting.reduce(0) { $0 + $1.length })
        connection.receiver.waiting = []
        // Batches of an older subscription do not define the position in this one.
        connection.receiver.written = []
        (connection.receiver.staged, connection.receiver.stagedStamp) = (SpillBuffer(), nil)
        connection.receiver.announced = Announced()
        connection.receiver.rankCheck = nil
        connection.receiver.hasCaughtUp = false
        (connection.receiver.retried, connection.receiver.reconcilesQuarantine) = ([], false)
        subscribe(connection, complete: complete)
        handle(connection)
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
                at: connection.isLimited ? reserveStepNumber(connection) : news.snapshot.log.commit,
                from: cursor,
                complete: cursor == nil ? [] : complete))
    }

    func listOwn(_ connection: Connection, _ generation: UInt64) {
        guard generation == connection.receiver.generation, var matcher = subscriptions.matcher
        else { return }
        recordFullRetry(connection)
        // A restart can occur within a batch.
        (connection.receiver.staged, connection.receiver.stagedStamp) = (SpillBuffer(), nil)
        // The former cursor is invalid until the reconciliation is done.
        if let key = connection.session.remote?.peerKey { subscriptions.cursors[key] = nil }
        let snapshot = shown(news.snapshot, to: connection)
        // Without the filter, an error on a document that the peer may not read would end the
        // connection.
        if connection.isLimited {
            matcher = SubscriptionMatcher(
                subscriptions.queries, queries, meter: .unlimited(stop: evaluationStop),
                where: rankFilter(connection, in: snapshot, isOwn: true))
        }
        do throws(EngineError) {
            let rankings = try beginRankCheck(connection, matcher, in: snapshot)
            connection.receiver.listed = news.snapshot.log.commit
            connection.session.compare(
                with: try versions(
                    matching: matcher, rankings, in: snapshot, isOwn: true, on: connection),
                most: lengths.wanted, reportsDifferences: connection.sendable != nil)
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
        recordCompared(step, on: connection)
        if connection.receiver.staged.isEmpty {
            connection.receiver.stagedStamp = step.commits.first?.stamp
        }
        do throws(EngineError) {
            try makeRoom(for: step.documentLength, on: connection)
            try prepare(step, on: connection, onto: &connection.receiver.staged)
            try makeRoom(for: 0, on: connection)
        } catch {
            return fail(connection, error)
        }
        guard !step.isContinued else { return }
        if connection.receiver.staged.isEmpty, connection.receiver.waiting.isEmpty,
            !connection.receiver.isWriting
        {
            // An empty batch needs no write, but documents of an earlier connection may not be
            // durable yet.
            return handleOutcome(
                .nothing(step, on: connection.number, after: queries.documents.store.lastCommit))
        }
        connection.receiver.waiting.append(
            PreparedStep(
                generation: step.generation, documents: connection.receiver.staged,
                commit: step.commit,
                stamp: connection.receiver.stagedStamp,
                senderKey: connection.writable == nil ? nil : connection.session.remote?.peerKey,
                connection: connection.nonce,
                // A forgotten write detected by the pauses would reveal a hidden document.
                pauses: connection.readable == nil ? connection.pauses : [],
                isCut: step.isCut, length: step.length))
        (connection.receiver.staged, connection.receiver.stagedStamp) = (SpillBuffer(), nil)
        write(connection)
    }

    /// Moves the partially received batch to disk if the memory limit would be exceeded.
    private func makeRoom(for coming: Int, on connection: Connection) throws(EngineError) {
        let waiting = connection.receiver.waiting.reduce(connection.receiver.writingLength) {
            $0 + $1.documents.lengthInMemory
        }
        let staged = connection.receiver.staged.lengthInMemory
        guard staged > 0, waiting + staged + coming > lengths.inMemory else { return }
        try onStorage { () throws(StorageError) in
            try connection.receiver.staged.moveToDisk(queries.documents.store)
        }
    }

    private func write(_ connection: Connection) {
        guard !connection.receiver.isWriting, !connection.receiver.waiting.isEmpty,
            connection.session.isOpen
        else { return }
        connection.receiver.isWriting = true
        connection.receiver.writingLength = connection.receiver.waiting.reduce(0) {
            $0 + $1.documents.lengthInMemory
        }
        connection.session.withholdLongCredit(true)
        fillBudget(of: connection)
        emit(
            .write(
                WriteJob(
                    connection: connection.number, steps: connection.receiver.waiting,
                    peer: connection.site,
                    limitedPeer: connection.isLimited ? connection.session.remote?.peerKey : nil,
                    writable: connection.writable, readable: connection.readRule,
                    shadows: shadows(of: connection),
                    received: limitedPeers[connection.session.remote?.peerKey ?? []]?.received
                        ?? ReceivedDocuments(),
                    awaited: quarantine.addresses,
                    disputed: refusals.addresses(of: connection.session.remote?.peerKey ?? [])
                        .union(connection.receiver.disputed.keys),
                    budget: connection.writable == nil ? nil : meter(of: connection),
                    stop: evaluationStop)))
        connection.receiver.waiting = []
    }

    /// Processes the outcome of a write job.
    package func handleOutcome(_ outcome: WriteJob.Outcome) {
        outcome.chargeBudget()
        logUnmoved(outcome)
        record(outcome.forgotten)
        if outcome.lacksOwnWrites {
            mayReportSite = true
            reportNewSite()
        }
        guard !outcome.isOfProof else { return recordProven(outcome) }
        // The documents are written even if the connection has ended.
        recordReceived(outcome)
        guard let connection = connections[outcome.connection] else { return }
        (connection.receiver.isWriting, connection.receiver.writingLength) = (false, 0)
        connection.session.grant(outcome.length)
        connection.session.withholdLongCredit(false)
        statistics.documentsReceived += UInt64(outcome.documentCount)
        statistics.documentsApplied += UInt64(outcome.appliedCount)
        refuse(outcome, from: connection)
        recordHidden(outcome, from: connection)
        if outcome.lacksOwnWrites { logMissingWrites(knownBy: connection) }
        if let time = outcome.lostByPeer { return reportForgotten(time, to: connection) }
        repair(outcome.outdated, after: outcome.lastCommit, on: connection)
        let isCurrent = outcome.generation == connection.receiver.generation
        if isCurrent, let applied = outcome.applied {
            if connection.receiver.announced.messages.isEmpty {
                connection.receiver.written.append((applied.commit, applied.localCommit))
                advanceCursor(applied.commit, on: connection)
            } else {
                recordWrittenAfterAnnounced(
                    applied.commit, localCommit: applied.localCommit, on: connection)
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
        write(connection)
        acknowledge(connection)
        checkAnnounced(connection)
        sendChanges(connection)
        handle(connection)
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
    /// The text for a peer with limited rights has no lengths and no values: these may be of stored
    /// documents.
    private func fail(_ connection: Connection, _ error: EngineError) {
        if connection.isLimited {
            queries.log?.write(
                .warning, "cannot write a batch of a peer with limited rights: \(error)")
        }
        func text(_ short: String) -> String { connection.isLimited ? short : "\(error)" }
        switch error {
        case .invalidDocument, .id, .invalidCollection:
            fail(connection, .protocolBroken, text("a batch contains an invalid document"))
        case .clock: fail(connection, .refused, text("a batch contains an invalid time"))
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

    /// Acknowledges the batches that are durable.
    func acknowledge(_ connection: Connection) {
        let durable = news.snapshot.log.commit
        let count = connection.receiver.written.prefix { $0.localCommit <= durable }.count
        guard count > 0 else { return }
        let commit = connection.receiver.written[count - 1].commit
        connection.receiver.written.removeFirst(count)
        connection.session.acknowledge(commit: commit, of: connection.receiver.generation)
        checkAnnounced(connection)
        checkRanks(connection, through: commit)
    }
}

extension Replicator.Connection {
    /// Whether disputed documents can be checked against the queries of the peer.
    var hasUnsettled: Bool { sender != nil && !receiver.unsettled.isEmpty }
}
