import SheafBytes
import SheafDocument
import SheafEngine
import SheafQuery
import SheafStatements
import SheafStorage
import SheafSync

/// Received batches, until they are written and acknowledged.
extension Receiver {
    // MARK: Reconciliation

    /// Compares the local version list of the subscription with that of the peer.
    mutating func compare(
        _ context: PeerContext, on exchange: inout DocumentExchange
    ) throws(EngineError) {
        guard var matcher = context.subscriptions.matcher else { return }
        // A restart can occur within a batch.
        discardStaged()
        progress = nil
        let snapshot = context.shown(context.snapshot)
        // The filter precedes the queries: an error on a document that the peer may not read would
        // end the connection.
        if let filter = context.access.rankFilter(in: snapshot, isOwn: true) {
            matcher = SubscriptionMatcher(
                context.subscriptions.queries, context.queries,
                meter: .unlimited(stop: context.evaluationStop), where: filter)
        }
        let rankings = try beginRankCheck(matcher, in: snapshot, context)
        listed = context.snapshot.log.commit
        exchange.session.compare(
            with: try snapshot.versions(
                matching: matcher, rankings, readable: context.access.readableCollections,
                allAreReadable: !context.access.isRestricted),
            most: context.limits.wanted, reportsDifferences: context.access.sendable != nil,
            isRanked: matcher.isRanked)
    }

    // MARK: Receipt

    /// Queues a batch for writing once all its parts have been received.
    mutating func receive(
        _ step: ShippedStep, _ context: PeerContext, on exchange: inout DocumentExchange
    ) {
        guard step.generation == generation else { return exchange.session.grant(step.length) }
        recordProgress(of: step)
        rankCheck?.recordCompared(step.commits)
        if staged.isEmpty { stagedStamp = step.commits.first?.stamp }
        do throws(EngineError) {
            try makeRoom(for: step.documentLength, context)
            try exchange.translate(step, context, into: &staged)
            try makeRoom(for: 0, context)
        } catch {
            return fail(error, context, on: &exchange)
        }
        guard !step.isContinued else { return }
        guard !isIdle else {
            // An empty batch needs no write, but documents of an earlier connection may not be
            // durable yet.
            let last = context.queries.documents.store.lastCommit
            return effects.append(.written(.nothing(step, on: context.connection, after: last)))
        }
        waiting.append(
            PreparedStep(
                generation: step.generation, documents: staged, commit: step.commit,
                stamp: stagedStamp,
                senderKey: context.access.writable == nil ? nil : context.key,
                connection: context.nonce,
                // A lost write detected by the pauses would reveal a hidden document.
                pauses: context.access.readable == nil ? exchange.sites.pauses : [],
                isCut: step.isCut, length: step.length))
        discardStaged()
    }

    private mutating func recordProgress(of step: ShippedStep) {
        guard step.isContinued || step.isCut else { return progress = nil }
        for commit in step.commits {
            guard let remaining = commit.remaining else { continue }
            progress = progress ?? SyncProgress(of: nil)
            // No store has more documents; sums of larger numbers would overflow.
            progress?.remaining = remaining == 0 ? nil : Int(min(remaining, 1 << 48))
            progress?.advance(by: commit.documents.count)
        }
    }

    /// Moves the partially received batch to disk if the memory limit would be exceeded.
    private mutating func makeRoom(
        for coming: Int, _ context: PeerContext
    ) throws(EngineError) {
        guard staged.lengthInMemory > 0,
            lengthInMemory + staged.lengthInMemory + coming > context.limits.inMemory
        else { return }
        try onStorage { () throws(StorageError) in
            try staged.moveToDisk(context.queries.documents.store)
        }
    }

    // MARK: Writing

    /// Whether batches can be written or acknowledged, or announcements checked.
    func canAdvance(through durable: CommitID) -> Bool {
        (!isWriting && !waiting.isEmpty) || !announced.messages.isEmpty
            || written.first.map { $0.localCommit <= durable } ?? false
    }

    /// Writes received batches, acknowledges durable ones, and checks announcements and rankings.
    mutating func advance(
        _ context: PeerContext, on exchange: inout DocumentExchange
    ) throws(EngineError) {
        if let steps = beginWriting() {
            exchange.session.withholdLongCredit(true)
            effects.append(.write(steps))
        }
        let commit = removeDurable(through: context.acknowledgeable)
        if let commit { exchange.session.acknowledge(commit: commit, of: generation) }
        checkAnnounced(context, on: &exchange)
        if let commit { try checkRanks(through: commit, context) }
    }

    /// Handles the outcome of a write job.
    mutating func finish(
        _ outcome: WriteJob.Outcome, _ context: PeerContext, on exchange: inout DocumentExchange
    ) {
        // A change of sites may end while a job writes batches of the connection.
        guard outcome.hasBatches else { return }
        endWriting()
        exchange.session.grant(outcome.length)
        exchange.session.withholdLongCredit(false)
        refuse(outcome, context, on: &exchange)
        if let time = outcome.lostByPeer { return reportLostWrite(time, on: &exchange) }
        if !outcome.outdated.isEmpty {
            effects.append(.repair(outcome.outdated, after: outcome.lastCommit))
        }
        let isCurrent = outcome.generation == generation
        if isCurrent, let applied = outcome.applied { recordApplied(applied, outcome) }
        disputed.remove(outcome.covered)
        if isCurrent, outcome.applied != nil { disputed.endReconciliation() }
    }

    /// Ends the connection, or subscribes again, if batches of a write job could not be written.
    ///
    /// It follows `finish` once the replicator has recorded what the job wrote.
    mutating func conclude(
        _ outcome: WriteJob.Outcome, _ context: PeerContext, on exchange: inout DocumentExchange
    ) {
        if context.access.sendable != nil, let commit = outcome.lastCommit {
            let lacking = outcome.outdated.filter(\.lacksOwn).map(\.address)
            disputed.recordLacking(lacking, until: commit)
        }
        if let error = outcome.error { return fail(error, context, on: &exchange) }
        guard outcome.generation == generation, !outcome.gaps.isEmpty else { return }
        // All missing documents are requested together; the earlier ones would arrive as deltas
        // again.
        missing.formUnion(outcome.gaps)
        effects.append(.renew(complete: missing.sorted(by: <)))
    }

    private mutating func recordApplied(
        _ applied: (commit: UInt64, localCommit: CommitID), _ outcome: WriteJob.Outcome
    ) {
        if announced.messages.isEmpty {
            written.append((applied.commit, applied.localCommit))
            advanceCursor(to: applied.commit)
        } else {
            announced.addWritten(
                applied.commit, localCommit: applied.localCommit, generation: outcome.generation)
        }
        hasCaughtUp = true
        missing = []
        if outcome.hasRepetition { effects.append(.repetition) }
    }

    /// Advances the replication cursor to `commit`.
    mutating func advanceCursor(to commit: UInt64) {
        reached = commit
        effects.append(.cursor(commit))
    }

    // MARK: Failures

    /// Reports a write that the peer's store has lost, so that the store changes its site.
    private func reportLostWrite(_ time: HybridTime, on exchange: inout DocumentExchange) {
        exchange.session.report(LostWrite(site: exchange.sites.peer, time: time))
        exchange.end(
            .lostWrite,
            "this peer has writes of that store that the store lacks: an older state was restored, "
                + "or a copy of the store is in use")
    }

    /// Ends a connection because a batch cannot be written.
    ///
    /// The text for a peer with limited rights has no lengths and no values, which could come from
    /// stored documents.
    private func fail(
        _ error: EngineError, _ context: PeerContext, on exchange: inout DocumentExchange
    ) {
        if context.isLimited {
            context.queries.log?.write(
                .warning, "cannot write a batch of a peer with limited rights: \(error)")
        }
        func text(_ short: String) -> String { context.isLimited ? short : "\(error)" }
        switch error {
        case .invalidDocument, .document(.id), .invalidCollection:
            exchange.end(.protocolBroken, text("a batch contains an invalid document"))
        case .document(.time): exchange.end(.refused, text("a batch contains an invalid time"))
        case .limit: exchange.end(.limit, text("a batch, or a document in it, is too long"))
        case .evaluation(let error) where error.reason == .cancelled:
            exchange.end(.done, "the peer stops")
        case .evaluation(let error) where error.reason == .limit:
            exchange.end(
                .limit, "the write rule of this peer cannot be evaluated: \(error.message)")
        default: exchange.end(.failed, "the store cannot write")
        }
    }
}
