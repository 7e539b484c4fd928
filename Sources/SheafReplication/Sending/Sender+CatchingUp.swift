import SheafDocument
import SheafEngine
import SheafStorage
import SheafSync

/// Catch-up batches, which contain all changes from a cursor to the newest state.
extension Sender {
    /// A catch-up batch before it is sent.
    struct CatchUp {
        let snapshot: DocumentSnapshot
        /// Keys of the documents changed since the cursor, or that entered a ranking.
        var keys: [[UInt8]]
        /// Keys changed by commits that the peer did not send; nil if unknown; empty if not ranked.
        var keysOfOthers: Set<[UInt8]>?
        /// The rankings to advance; nil if the subscription has none.
        var advance: RankingAdvance?
    }

    /// Begins a batch of all changes since the last one; returns false if the peers must reconcile.
    mutating func beginCatchingUp(
        _ context: PeerContext, on exchange: inout DocumentExchange
    ) throws(EngineError) -> Bool {
        var step = catchingUp ?? catchUp(context)
        catchingUp = nil
        let snapshot = step.snapshot
        // A restricted peer is sent a deletion only if it could read a former state, which needs
        // the history.
        if context.access.isRestricted, sent < snapshot.log.compactedThrough {
            restart(on: &exchange)
            return false
        }
        guard try advance(&step, context) else {
            restart(on: &exchange)
            return false
        }
        var keys = step.keys
        let known = Set(keys)
        // The keys are sorted so that runs are deterministic.
        keys += complete.compactMap { snapshot.key(of: $0) }
            .filter { !known.contains($0) }.sorted { $0.lexicographicallyPrecedes($1) }
        outgoing = Outgoing(
            snapshot: snapshot, documents: .keys(keys, next: 0), since: sent,
            complete: complete,
            isRepeated: !isBehind && sent == snapshot.log.commit,
            rankings: step.advance?.rankings,
            // Some of the changes may be in collections that the peer does not receive.
            progress: context.isLimited ? nil : SyncProgress(of: nil))
        complete = []
        isBehind = false
        judging = Judging()
        return true
    }

    private func catchUp(_ context: PeerContext) -> CatchUp {
        let snapshot = context.snapshot
        var step = CatchUp(snapshot: snapshot, keys: [])
        if let commits = context.recent.commits(after: sent) {
            var seen: Set<DocumentKey> = []
            var others: Set<[UInt8]> = []
            for commit in commits {
                let isFromPeer = matcher.isRanked && isFromPeer(commit, context)
                for change in commit.changes {
                    if seen.insert(change.key).inserted { step.keys.append(change.key.bytes) }
                    if matcher.isRanked, !isFromPeer { others.insert(change.key.bytes) }
                }
            }
            step.keysOfOthers = others
        } else {
            let end = context.recent.end(of: sent)
            snapshot.log.tree.forEach(in: StoreKey.documents) { key, value in
                if let pointer = RecordPointer(value), pointer.position >= end {
                    step.keys.append(Array(key))
                }
                return true
            }
        }
        if matcher.isRanked, let rankings {
            step.advance = RankingAdvance(
                rankings, to: snapshot, changed: step.keysOfOthers == nil ? nil : step.keys)
        }
        return step
    }

    /// Advances the rankings of a catch-up batch; returns false if the peers must reconcile.
    ///
    /// Adds the keys of documents that enter a result, and removes those that only the peer has
    /// changed.
    private mutating func advance(
        _ step: inout CatchUp, _ context: PeerContext
    ) throws(EngineError) -> Bool {
        guard matcher.isRanked else { return true }
        let filter = context.access.rankFilter(in: step.snapshot, isOwn: false)
        do throws(EngineError) {
            try step.advance?.run(matcher, filter)
        } catch {
            if error == .paused { catchingUp = step }
            throw error
        }
        guard let rankings = step.advance?.rankings, rankings.areSure else { return false }
        var known = Set(step.keys)
        if let others = step.keysOfOthers { step.keys.removeAll { !others.contains($0) } }
        for key in rankings.entered(step.snapshot.catalog) where known.insert(key).inserted {
            step.keys.append(key)
        }
        self.rankings = rankings
        self.rankings?.discardChanges()
        return true
    }

    /// Returns a document as a long batch sends it; nil if it is not sent.
    mutating func shipped(
        _ key: [UInt8], _ outgoing: Outgoing, _ context: PeerContext
    ) throws(EngineError) -> ShippedDocument? {
        let snapshot = outgoing.snapshot
        guard let address = snapshot.address(of: key), let document = try snapshot.document(key),
            !document.isRemnant
        else { return nil }
        guard !context.isLimited else {
            let isShown = try maySend(document, key, address, outgoing, toLimited: context)
            return isShown ? snapshot.complete(document, key, address) : nil
        }
        let isNamed = outgoing.complete.contains(address)
        guard let since = outgoing.since, !isNamed else {
            guard context.access.isShared(address.collection) else { return nil }
            // A peer that names a tombstone has, or had, the document.
            if !document.isTombstone {
                guard
                    try context.access.maySend(
                        document, before: nil, key, address, snapshot.names)
                else {
                    return nil
                }
            }
            return snapshot.complete(document, key, address)
        }
        guard matcher.selects(for: address.collection) else { return nil }
        try recordUnsendable(document, key, address, since: since, in: snapshot, context)
        let ranked = outgoing.rankings?.contains(key, in: address.collection)
        let matches =
            try matcher.matches(
                document, key: key, in: address.collection, snapshot.names) || ranked?.now == true
        let past = try past(of: key, address, outgoing, since: since, context)
        guard matches || past.hasMatched,
            try context.access.maySend(
                document, before: past.state, key, address, snapshot.names)
        else { return nil }
        return try snapshot.changes(
            of: key, address, since: since,
            isComplete: !past.isBase || context.isRefused(address))
    }

    /// The last state of a document that the peer may have.
    private struct Past {
        /// The state; nil if there is none or it is not known.
        var state: StoredDocument?
        var hasMatched = false
        /// Whether `state` is the state at the cursor, to which a delta applies.
        var isBase = false
    }

    private func past(
        of key: [UInt8], _ address: DocumentAddress, _ outgoing: Outgoing, since: CommitID,
        _ context: PeerContext
    ) throws(EngineError) -> Past {
        let snapshot = outgoing.snapshot
        let wasRanked = outgoing.rankings?.contains(key, in: address.collection).before == true
        // Without the history, a match is assumed.
        let unknown = Past(
            hasMatched: matcher.selectsWithoutLimit(for: address.collection) || wasRanked)
        guard let base = try snapshot.document(key, asOf: since) else { return unknown }
        let matched = try matcher.matches(
            base, key: key, in: address.collection, snapshot.names)
        let hadBase = matched || wasRanked
        if hadBase, try maySee(base, key, address, snapshot, context) {
            return Past(state: base, hasMatched: true, isBase: true)
        }
        // The document may have matched only after the cursor: the peer may have written it, or
        // received it from another peer.
        guard since >= snapshot.log.compactedThrough,
            let commits = try snapshot.commits(
                of: key, since: since,
                most: context.access.isRestricted ? .max : Self.maximumExaminedStates)
        else { return unknown }
        for commit in commits {
            guard let found = try snapshot.document(key, asOf: commit) else { return unknown }
            guard let state = found else { continue }
            let matched = try matcher.matches(
                state, key: key, in: address.collection, snapshot.names)
            guard matched || matcher.hasLimit(in: address.collection),
                try maySee(state, key, address, snapshot, context)
            else { continue }
            return Past(state: state, hasMatched: true)
        }
        return Past(state: base, hasMatched: hadBase)
    }

    /// Whether the peer may be sent a former state of a document.
    private func maySee(
        _ document: StoredDocument?, _ key: [UInt8], _ address: DocumentAddress,
        _ snapshot: DocumentSnapshot, _ context: PeerContext
    ) throws(EngineError) -> Bool {
        guard let document, context.access.isRestricted else { return true }
        return try context.access.maySend(document, before: nil, key, address, snapshot.names)
    }

    /// Maximum number of former states examined for a peer without restrictions.
    private static let maximumExaminedStates = 32
}
