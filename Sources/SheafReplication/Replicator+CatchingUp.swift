import SheafDocument
import SheafEngine
import SheafStorage
import SheafSync

/// Catch-up batches, which contain all changes from a cursor to the newest state.
extension Replicator {
    /// A catch-up batch before it is sent.
    struct CatchUp {
        let snapshot: DocumentSnapshot
        /// Keys of the documents changed since the cursor, or that entered a ranking.
        var keys: [[UInt8]]
        /// Keys changed by commits that the peer did not send; nil if unknown; empty if not ranked.
        var omittedKeys: Set<[UInt8]>?
        /// The rankings to advance; nil if the subscription has none.
        var advance: RankingAdvance?
    }

    /// Begins a batch of all changes since the last one; returns false if the peers must reconcile.
    func beginCatchingUp(_ connection: Connection, _ sender: Sender) throws(EngineError) -> Bool {
        var step = sender.catchingUp ?? catchUp(connection, sender)
        connection.sender?.catchingUp = nil
        let snapshot = step.snapshot
        // A restricted peer is sent a deletion only if it could read a former state, which needs
        // the history.
        if connection.access.isRestricted, sender.sent < snapshot.log.compactedThrough {
            restart(connection)
            return false
        }
        guard try advance(&step, on: connection) else {
            restart(connection)
            return false
        }
        var keys = step.keys
        let known = Set(keys)
        // The keys are sorted so that runs are deterministic.
        keys += sender.complete.compactMap { snapshot.key(of: $0) }
            .filter { !known.contains($0) }.sorted { $0.lexicographicallyPrecedes($1) }
        connection.sender?.outgoing = Outgoing(
            snapshot: snapshot, documents: .keys(keys, next: 0), since: sender.sent,
            complete: sender.complete,
            isRepeated: !sender.isBehind && sender.sent == snapshot.log.commit,
            rankings: step.advance?.rankings)
        connection.sender?.complete = []
        connection.sender?.isBehind = false
        connection.sender?.judging = Judging()
        return true
    }

    private func catchUp(_ connection: Connection, _ sender: Sender) -> CatchUp {
        let snapshot = news.snapshot
        var step = CatchUp(snapshot: snapshot, keys: [])
        if let commits = news.commits(after: sender.sent) {
            var seen: Set<DocumentKey> = []
            var others: Set<[UInt8]> = []
            for commit in commits {
                let isFromPeer = sender.matcher.isRanked && isFromPeer(commit, connection)
                for change in commit.changes {
                    if seen.insert(change.key).inserted { step.keys.append(change.key.bytes) }
                    if sender.matcher.isRanked, !isFromPeer { others.insert(change.key.bytes) }
                }
            }
            step.omittedKeys = others
        } else {
            let end = news.end(of: sender.sent)
            snapshot.log.tree.forEach(in: StoreKey.documents) { key, value in
                if let pointer = RecordPointer(value), pointer.position >= end {
                    step.keys.append(Array(key))
                }
                return true
            }
        }
        if sender.matcher.isRanked, let rankings = sender.rankings {
            step.advance = RankingAdvance(
                rankings, to: snapshot, changed: step.omittedKeys == nil ? nil : step.keys)
        }
        return step
    }

    /// Returns a document as a long batch sends it; nil if it is not sent.
    func shipped(
        _ key: [UInt8], _ outgoing: Outgoing, _ sender: Sender, _ connection: Connection
    ) throws(EngineError) -> ShippedDocument? {
        let snapshot = outgoing.snapshot
        guard let address = snapshot.address(of: key), let document = try snapshot.document(key),
            !document.isRemnant
        else { return nil }
        guard !connection.isLimited else {
            let isShown = try maySend(document, key, address, outgoing, toLimited: connection)
            return isShown ? snapshot.complete(document, key, address) : nil
        }
        let isNamed = outgoing.complete.contains(address)
        guard let since = outgoing.since, !isNamed else {
            guard connection.access.isShared(address.collection) else { return nil }
            // A peer that names a tombstone has, or had, the document.
            if !document.isTombstone {
                guard
                    try connection.access.maySend(
                        document, before: nil, key, address, snapshot.names)
                else {
                    return nil
                }
            }
            return snapshot.complete(document, key, address)
        }
        guard sender.matcher.selects(for: address.collection) else { return nil }
        try recordUnsendable(document, key, address, since: since, in: snapshot, on: connection)
        let ranked = outgoing.rankings?.contains(key, in: address.collection)
        let matches =
            try sender.matcher.matches(
                document, key: key, in: address.collection, snapshot.names) || ranked?.now == true
        let past = try past(of: key, address, outgoing, since: since, sender, connection)
        guard matches || past.hasMatched,
            try connection.access.maySend(
                document, before: past.state, key, address, snapshot.names)
        else { return nil }
        return try snapshot.changes(
            of: key, address, since: since,
            isComplete: !past.isBase || isRefused(address, on: connection))
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
        _ sender: Sender, _ connection: Connection
    ) throws(EngineError) -> Past {
        let (snapshot, matcher) = (outgoing.snapshot, sender.matcher)
        let wasRanked = outgoing.rankings?.contains(key, in: address.collection).before == true
        // Without the history, a match is assumed.
        let unknown = Past(
            hasMatched: matcher.selectsWithoutLimit(for: address.collection) || wasRanked)
        guard let base = try snapshot.document(key, asOf: since) else { return unknown }
        let matched = try matcher.matches(
            base, key: key, in: address.collection, snapshot.names)
        let hadBase = matched || wasRanked
        if hadBase, try maySee(base, key, address, snapshot, connection) {
            return Past(state: base, hasMatched: true, isBase: true)
        }
        // The document may have matched only after the cursor: the peer may have written it, or
        // received it from another peer.
        guard since >= snapshot.log.compactedThrough,
            let commits = try snapshot.commits(
                of: key, since: since,
                most: connection.access.isRestricted ? .max : Self.maximumExaminedStates)
        else { return unknown }
        for commit in commits {
            guard let found = try snapshot.document(key, asOf: commit) else { return unknown }
            guard let state = found else { continue }
            let matched = try matcher.matches(
                state, key: key, in: address.collection, snapshot.names)
            guard matched || matcher.hasLimit(in: address.collection),
                try maySee(state, key, address, snapshot, connection)
            else { continue }
            return Past(state: state, hasMatched: true)
        }
        return Past(state: base, hasMatched: hadBase)
    }

    /// Whether the peer may be sent a former state of a document.
    private func maySee(
        _ document: StoredDocument?, _ key: [UInt8], _ address: DocumentAddress,
        _ snapshot: DocumentSnapshot, _ connection: Connection
    ) throws(EngineError) -> Bool {
        guard let document, connection.access.isRestricted else { return true }
        return try connection.access.maySend(document, before: nil, key, address, snapshot.names)
    }

    /// Maximum number of former states examined for a peer without restrictions.
    private static let maximumExaminedStates = 32
}
