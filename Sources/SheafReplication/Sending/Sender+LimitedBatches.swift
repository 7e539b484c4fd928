import SheafDocument
import SheafEngine
import SheafStorage
import SheafSync

/// Batches for peers with limited rights.
///
/// The bytes sent to such a peer depend only on documents that it may read. So batches have numbers
/// of their own, no batch is sent without a change that the peer may read, and documents are
/// complete, in the order of their addresses, with names numbered by the connection.
extension Sender {
    // MARK: Subscriptions

    /// Starts a subscription; if it has a cursor, the peers reconcile.
    ///
    /// A check of the cursor's age would reveal how many commits were written since.
    mutating func beginLimited(
        _ request: Subscribe, _ context: PeerContext, on exchange: inout DocumentExchange
    ) {
        sent = context.snapshot.log.commit
        limited.named =
            context.limitedPeer?.repairs.filter { matcher.selects(for: $0.collection) } ?? []
        let unjudged = context.limitedPeer?.drainUnjudged() ?? []
        for address in unjudged.sorted(by: <) where matcher.selects(for: address.collection) {
            limited.repairs.append(
                LimitedSender.Repair(requiredCommit: 0, address: address, before: nil))
        }
        if request.cursor != nil { exchange.session.restart() }
    }

    /// Returns the newest snapshot as the peer may see it, and discards the reserved number.
    func visibleSnapshot(
        _ newest: DocumentSnapshot, _ context: PeerContext, on exchange: inout DocumentExchange
    ) -> DocumentSnapshot {
        // The number is discarded even if no commit followed, since the peer may not be able to
        // read that commit.
        exchange.reservedStep = nil
        return context.shown(newest)
    }

    // MARK: Batches

    /// Schedules pending changes for the next tick.
    ///
    /// The time of a commit or its publication depends on documents that the peer may not read.
    mutating func scheduleLimited(_ context: PeerContext) {
        guard isStreaming else { return }
        if outgoing != nil || !limited.isIdle {
            hasMore = true
            if !limited.repairs.isEmpty { limited.isJudging = true }
        } else {
            recordSyncedIfIdle(context)
        }
    }

    /// Begins a batch of new changes; returns false if there are none or the peers must reconcile.
    mutating func beginLimitedStep(
        _ context: PeerContext, on exchange: inout DocumentExchange
    ) throws(EngineError) -> Bool {
        if limited.draft == nil {
            try judgeIncoming(context)
            try judgeRepairs(context, on: &exchange)
            guard beginDraft(context, on: &exchange) else { return false }
        }
        guard var draft = limited.draft else { return false }
        limited.draft = nil
        do throws(EngineError) {
            guard try advance(&draft, context) else {
                restart(on: &exchange)
                return false
            }
            try choose(&draft, context)
        } catch {
            if error == .paused { limited.draft = draft }
            throw error
        }
        guard !draft.found.isEmpty else { return false }
        draft.outgoing.documents = .keys(draft.found, next: 0)
        draft.outgoing.number = exchange.nextStepNumber()
        outgoing = draft.outgoing
        return true
    }

    /// Begins to select the documents of a batch; returns false if nothing has changed.
    private mutating func beginDraft(
        _ context: PeerContext, on exchange: inout DocumentExchange
    ) -> Bool {
        guard !limited.changes.changed.isEmpty || !limited.named.isEmpty else { return false }
        let (changed, named) = (limited.changes.changed, limited.named)
        let length = limited.changes.drainChanged()
        limited.named = []
        let snapshot = visibleSnapshot(context.snapshot, context, on: &exchange)
        let keys = inOrder(Array(changed.keys), snapshot)
        limited.draft = LimitedSender.Draft(
            changed: changed, length: length, named: named.sorted(by: <),
            advance: rankings.map { RankingAdvance($0, to: snapshot, changed: keys) },
            keys: keys,
            outgoing: Outgoing(
                snapshot: snapshot, documents: .keys([], next: 0), since: nil, complete: named))
        return true
    }

    /// Advances the rankings of a draft; returns false if the peers must reconcile.
    private mutating func advance(
        _ draft: inout LimitedSender.Draft, _ context: PeerContext
    ) throws(EngineError) -> Bool {
        guard matcher.isRanked, !draft.hasAdvanced else { return true }
        let snapshot = draft.outgoing.snapshot
        try draft.advance?.run(matcher, context.access.rankFilter(in: snapshot, isOwn: false))
        guard let rankings = draft.advance?.rankings, rankings.areSure else { return false }
        draft.hasAdvanced = true
        draft.outgoing.rankings = rankings
        draft.entered = Set(rankings.entered(snapshot.catalog))
        let entered = draft.entered.filter { draft.changed[$0] == nil }
        draft.keys = inOrder(draft.keys + entered, snapshot)
        self.rankings = rankings
        self.rankings?.discardChanges()
        return true
    }

    /// Selects the documents of a batch; throws `.paused` if the slice is used up.
    private func choose(
        _ draft: inout LimitedSender.Draft, _ context: PeerContext
    ) throws(EngineError) {
        while draft.next < draft.keys.count {
            let key = draft.keys[draft.next]
            let change = draft.changed[key]
            if change?.isOnlyFromPeer != true || draft.entered.contains(key) {
                let hasMatched = change?.hasMatched ?? false
                if try concerns(key, hasMatched: hasMatched, &draft.outgoing, context) {
                    draft.found.append(key)
                }
            }
            draft.next += 1
        }
        let snapshot = draft.outgoing.snapshot
        let known = Set(draft.found)
        for address in draft.named {
            guard let key = snapshot.key(of: address), !known.contains(key),
                let document = try snapshot.document(key), !document.isRemnant,
                try maySend(document, key, address, draft.outgoing, toLimited: context)
            else { continue }
            draft.found.append(key)
        }
    }

    /// Sorts keys by document address, since collection numbers depend on hidden collections.
    private func inOrder(_ keys: [[UInt8]], _ snapshot: DocumentSnapshot) -> [[UInt8]] {
        keys.compactMap { key in snapshot.address(of: key).map { (key, $0) } }
            .sorted { $0.1 < $1.1 }.map(\.0)
    }

    /// Whether a changed document must be sent to the peer.
    private func concerns(
        _ key: [UInt8], hasMatched: Bool, _ outgoing: inout Outgoing, _ context: PeerContext
    ) throws(EngineError) -> Bool {
        let snapshot = outgoing.snapshot
        guard let address = snapshot.address(of: key), let document = try snapshot.document(key),
            !document.isRemnant
        else { return false }
        let ranked = outgoing.rankings?.contains(key, in: address.collection)
        let hasMatched = hasMatched || ranked?.before == true
        if !hasMatched, ranked?.now != true {
            let matches = try matcher.matches(
                document, key: key, in: address.collection, snapshot.names)
            guard matches else { return false }
        }
        // The peer could read the document before its deletion.
        if hasMatched, document.isTombstone { outgoing.knownDeletions.insert(key) }
        return try maySend(document, key, address, outgoing, toLimited: context)
    }

    /// Whether a document, or its deletion, may be sent to a peer with limited rights.
    func maySend(
        _ document: StoredDocument, _ key: [UInt8], _ address: DocumentAddress,
        _ outgoing: Outgoing, toLimited context: PeerContext
    ) throws(EngineError) -> Bool {
        guard document.isTombstone else {
            return try context.access.maySend(
                document, before: nil, key, address, outgoing.snapshot.names)
        }
        guard context.access.isShared(address.collection) else { return false }
        if outgoing.knownDeletions.contains(key) { return true }
        return try context.mayKnowDeletion(key, address, outgoing.snapshot)
    }

    // MARK: Acknowledgments

    /// Records a sent batch until it is acknowledged.
    mutating func recordSentToLimited(_ outgoing: Outgoing) {
        guard let number = outgoing.number else { return }
        limited.steps.append(
            LimitedSender.Step(
                number: number, commit: outgoing.snapshot.log.commit,
                repairs: outgoing.complete))
    }

    /// Handles the acknowledgment of all batches up to `number`.
    mutating func acknowledgeLimited(through number: UInt64, _ context: PeerContext) {
        let done = limited.steps.prefix { $0.number <= number }
        guard let last = done.last else { return }
        limited.steps.removeFirst(done.count)
        // A document that has a newer repair is not settled yet.
        let again = limited.named.union(limited.repairs.map(\.address))
            .union(limited.draft?.named ?? [])
        for step in done {
            context.limitedPeer?.recordRepaired(step.repairs.subtracting(again))
        }
        acknowledged = max(acknowledged, last.commit)
        effects.append(.acknowledged(last.commit, synced: last.commit))
        recordSyncedIfIdle(context)
    }

    /// Records that the peer is in sync, if nothing is left to be sent to it.
    mutating func recordSyncedIfIdle(_ context: PeerContext) {
        guard context.isLimited, isStreaming, outgoing == nil, limited.steps.isEmpty,
            limited.isIdle
        else { return }
        acknowledged = context.snapshot.log.commit
        // Batches that repeat documents have the number that follows the commit.
        effects.append(.acknowledged(acknowledged + 1, synced: acknowledged))
    }
}
