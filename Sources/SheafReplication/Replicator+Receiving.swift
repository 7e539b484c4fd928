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
    struct Wishes {
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
        var written: [(commit: UInt64, here: CommitID)] = []
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
        var comparesSetAside = false
        /// Whether a check of the quarantined documents was skipped on this connection.
        var missesCheck = false
        /// Number of quarantined documents last reported to the peer.
        var reportedSetAside: UInt64 = 0
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
        guard wire != wishes.wire else { return }
        let known = Set(wishes.wire)
        let isWider = !wire.allSatisfy { known.contains($0) }
        wishes.wire = wire
        wishes.queries = queries
        wishes.matcher = SubscriptionMatcher(queries, self.queries, stop: evaluationStop)
        if isWider { wishes.epoch += 1 }
        for link in allLinks where link.session.isOpen { renewSubscription(link) }
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
                    wishes.matcher?.selects(for: address.collection) ?? false
                {
                    isConcerned = true
                    evicted.append(
                        Evicted(key: change.key.bytes, address: address, before: before))
                }
            }
        }
        guard isConcerned else { return }
        wishes.epoch += 1
        wishes.evictionCount += 1
        for link in allLinks where link.session.isOpen && concern(evicted, link) {
            renewSubscription(link)
        }
    }

    /// Subscribes at the remote peer, immediately or when the rate limiter permits it.
    func renewSubscription(_ link: Connection, complete: [DocumentAddress] = []) {
        guard link.session.isOpen else { return }
        // An empty subscription is sent only if it replaces another one.
        guard !wishes.queries.isEmpty || link.receiver.generation > 0 else { return }
        link.receiver.generation += 1
        // A peer with limited rights must not observe evictions of documents that it may not read.
        let epoch = link.isLimited ? wishes.epoch &- wishes.evictionCount : wishes.epoch
        if link.receiver.epoch != epoch { link.receiver.rankFactor = 1 }
        link.receiver.epoch = epoch
        // The credit of discarded batches is granted again, too.
        link.session.grant(link.receiver.waiting.reduce(0) { $0 + $1.length })
        link.receiver.waiting = []
        // Batches of an older subscription do not define the position in this one.
        link.receiver.written = []
        (link.receiver.staged, link.receiver.stagedStamp) = (SpillBuffer(), nil)
        link.receiver.announced = Announced()
        link.receiver.rankCheck = nil
        link.receiver.hasCaughtUp = false
        (link.receiver.retried, link.receiver.comparesSetAside) = ([], false)
        subscribe(link, complete: complete)
        handle(link)
    }

    func sendSubscription(_ link: Connection, complete: [DocumentAddress]) {
        guard let hello = link.session.remote, link.session.isOpen else { return }
        // Collections that are not shared are not requested.
        let shared = wishes.queries.filter { scopes.isShared($0.collection) }.map(\.wire)
        var cursor: Cursor?
        if let known = wishes.cursors[hello.peerKey], known.epoch == wishes.epoch,
            known.cursor.log == hello.log, !link.isLimited
        {
            // Documents whose addresses do not fit in one frame are found by reconciliation.
            if Subscribe.fits(complete: complete) { cursor = known.cursor }
        }
        link.receiver.reached = cursor?.commit ?? 0
        link.session.subscribe(
            Subscribe(
                generation: link.receiver.generation, shared,
                at: link.isLimited ? reserveStepNumber(link) : news.snapshot.log.commit,
                from: cursor,
                complete: cursor == nil ? [] : complete))
    }

    func listOwn(_ link: Connection, _ generation: UInt64) {
        guard generation == link.receiver.generation, var matcher = wishes.matcher else { return }
        recordFullRetry(link)
        // A restart can occur within a batch.
        (link.receiver.staged, link.receiver.stagedStamp) = (SpillBuffer(), nil)
        // The former cursor is invalid until the reconciliation is done.
        if let key = link.session.remote?.peerKey { wishes.cursors[key] = nil }
        let snapshot = shown(news.snapshot, to: link)
        // Without the filter, an error on a document that the peer may not read would end the
        // connection.
        if link.isLimited {
            matcher = SubscriptionMatcher(
                wishes.queries, queries, meter: .unlimited(stop: evaluationStop),
                where: rankFilter(link, in: snapshot, isOwn: true))
        }
        do throws(EngineError) {
            let rankings = try beginRankCheck(link, matcher, in: snapshot)
            link.receiver.listed = news.snapshot.log.commit
            link.session.compare(
                with: try versions(
                    matching: matcher, rankings, in: snapshot, isOwn: true, on: link),
                most: lengths.wanted, reportsDifferences: link.sendable != nil)
        } catch {
            failReading(link, error)
        }
    }

    /// Queues a batch for writing once all its parts have been received.
    func apply(_ step: ShippedStep, from link: Connection) {
        guard step.generation == link.receiver.generation else {
            link.session.grant(step.length)
            return
        }
        recordCompared(step, on: link)
        if link.receiver.staged.isEmpty { link.receiver.stagedStamp = step.commits.first?.stamp }
        do throws(EngineError) {
            try makeRoom(for: step.documentLength, on: link)
            try prepare(step, on: link, onto: &link.receiver.staged)
            try makeRoom(for: 0, on: link)
        } catch {
            return fail(link, error)
        }
        guard !step.isContinued else { return }
        if link.receiver.staged.isEmpty, link.receiver.waiting.isEmpty, !link.receiver.isWriting {
            // An empty batch needs no write, but documents of an earlier connection may not be
            // durable yet.
            return handleOutcome(
                .nothing(step, on: link.number, behind: queries.documents.store.lastCommit))
        }
        link.receiver.waiting.append(
            PreparedStep(
                generation: step.generation, documents: link.receiver.staged, commit: step.commit,
                stamp: link.receiver.stagedStamp,
                bringer: link.writable == nil ? nil : link.session.remote?.peerKey,
                connection: link.nonce,
                // A forgotten write detected by the pauses would reveal a hidden document.
                pauses: link.readable == nil ? link.pauses : [],
                isCut: step.isCut, length: step.length))
        (link.receiver.staged, link.receiver.stagedStamp) = (SpillBuffer(), nil)
        write(link)
    }

    /// Moves the partially received batch to disk if the memory limit would be exceeded.
    private func makeRoom(for coming: Int, on link: Connection) throws(EngineError) {
        let waiting = link.receiver.waiting.reduce(link.receiver.writingLength) {
            $0 + $1.documents.lengthInMemory
        }
        let staged = link.receiver.staged.lengthInMemory
        guard staged > 0, waiting + staged + coming > lengths.inMemory else { return }
        try onStorage { () throws(StorageError) in
            try link.receiver.staged.moveToDisk(queries.documents.store)
        }
    }

    private func write(_ link: Connection) {
        guard !link.receiver.isWriting, !link.receiver.waiting.isEmpty, link.session.isOpen
        else { return }
        link.receiver.isWriting = true
        link.receiver.writingLength = link.receiver.waiting.reduce(0) {
            $0 + $1.documents.lengthInMemory
        }
        link.session.withholdLongCredit(true)
        fillBudget(of: link)
        emit(
            .write(
                WriteJob(
                    connection: link.number, steps: link.receiver.waiting, peer: link.site,
                    limitedPeer: link.isLimited ? link.session.remote?.peerKey : nil,
                    writable: link.writable, readable: link.readRule, shadows: shadows(of: link),
                    received: limitedPeers[link.session.remote?.peerKey ?? []]?.received
                        ?? ReceivedDocuments(),
                    awaited: setAside.addresses,
                    disputed: refusals.addresses(of: link.session.remote?.peerKey ?? [])
                        .union(link.receiver.disputed.keys),
                    budget: link.writable == nil ? nil : meter(of: link), stop: evaluationStop)))
        link.receiver.waiting = []
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
        guard let link = connections[outcome.connection] else { return }
        (link.receiver.isWriting, link.receiver.writingLength) = (false, 0)
        link.session.grant(outcome.length)
        link.session.withholdLongCredit(false)
        statistics.documentsReceived += UInt64(outcome.documentCount)
        statistics.documentsApplied += UInt64(outcome.appliedCount)
        refuse(outcome, from: link)
        recordHidden(outcome, from: link)
        if outcome.lacksOwnWrites { logMissingWrites(knownBy: link) }
        if let time = outcome.lostByPeer { return reportForgotten(time, to: link) }
        correct(outcome.outdated, behind: outcome.lastCommit, on: link)
        let isCurrent = outcome.generation == link.receiver.generation
        if isCurrent, let applied = outcome.applied {
            if link.receiver.announced.messages.isEmpty {
                link.receiver.written.append((applied.commit, applied.here))
                advanceCursor(applied.commit, on: link)
            } else {
                recordWrittenBehindAnnounced(applied.commit, here: applied.here, on: link)
            }
            link.receiver.hasCaughtUp = true
            link.receiver.missing = []
            if outcome.isNew { change(link) { $0.updates += 1 } }
            if outcome.hasRepetition { recordRepetition(on: link) }
        }
        let isComplete = isCurrent && outcome.applied != nil
        recordQuarantined(outcome, isComplete: isComplete, on: link)
        resolveDisputed(outcome, isComplete: isComplete, on: link)
        recordLacking(outcome, on: link)
        if let error = outcome.error { return fail(link, error) }
        if isCurrent, !outcome.gaps.isEmpty {
            // All missing documents are requested together; the earlier ones would arrive as deltas
            // again.
            link.receiver.missing.formUnion(outcome.gaps)
            return renewSubscription(link, complete: link.receiver.missing.sorted(by: <))
        }
        write(link)
        acknowledge(link)
        checkAnnounced(link)
        sendChanges(link)
        handle(link)
    }

    /// Advances the replication cursor to `commit`.
    func advanceCursor(_ commit: UInt64, on link: Connection) {
        link.receiver.reached = commit
        guard let hello = link.session.remote, link.receiver.epoch == wishes.epoch, !link.isLimited
        else { return }
        wishes.cursors[hello.peerKey] = (Cursor(log: hello.log, commit: commit), wishes.epoch)
    }

    /// Ends a connection because a batch cannot be written.
    ///
    /// The text for a peer with limited rights has no lengths and no values: these may be of stored
    /// documents.
    private func fail(_ link: Connection, _ error: EngineError) {
        if link.isLimited {
            queries.log?.write(
                .warning, "cannot write a batch of a peer with limited rights: \(error)")
        }
        func text(_ short: String) -> String { link.isLimited ? short : "\(error)" }
        switch error {
        case .invalidDocument, .id, .invalidCollection:
            fail(link, .protocolBroken, text("a batch contains an invalid document"))
        case .clock: fail(link, .refused, text("a batch contains an invalid time"))
        case .limit: fail(link, .limit, text("a batch, or a document in it, is too long"))
        case .evaluation(let error) where error.reason == .cancelled:
            fail(link, .done, "the peer stops")
        case .evaluation(let error) where error.reason == .limit:
            fail(
                link, .limit,
                "the write rule of this peer cannot be evaluated: \(error.message)")
        default: fail(link, .failed, "the store cannot write")
        }
    }

    /// Acknowledges the batches that are durable.
    func acknowledge(_ link: Connection) {
        let durable = news.snapshot.log.commit
        let count = link.receiver.written.prefix { $0.here <= durable }.count
        guard count > 0 else { return }
        let commit = link.receiver.written[count - 1].commit
        link.receiver.written.removeFirst(count)
        link.session.acknowledge(commit: commit, of: link.receiver.generation)
        checkAnnounced(link)
        checkRanks(link, through: commit)
    }
}

extension Replicator.Connection {
    /// Whether disputed documents can be checked against the queries of the peer.
    var hasUnsettled: Bool { sender != nil && !receiver.unsettled.isEmpty }
}
