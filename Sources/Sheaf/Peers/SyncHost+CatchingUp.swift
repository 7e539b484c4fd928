import SheafDocument
import SheafStorage
import SheafSync

/// Steps from what one side has to the newest state of the other one.
extension SyncHost {
    /// A step from a cursor to a newer state, before it is sent.
    struct CatchUp {
        let snapshot: DocumentSnapshot
        /// The documents that differ.
        var keys: [[UInt8]]
        /// The documents that differ and that the other side has not changed itself; nil where this is not known.
        var told: Set<[UInt8]>?
        /// The rankings on which the step is based, where there are any.
        var advance: RankingAdvance?
    }

    /// Sends all that has changed since the last step in one; false where the two have to compare first.
    func beginCatchingUp(_ link: Link, _ telling: Telling) throws(EngineError) -> Bool {
        var step = telling.catchingUp ?? catchUp(link, telling)
        link.telling?.catchingUp = nil
        let snapshot = step.snapshot
        // Who may not see everything hears of what was taken away where it is known that it could see it.
        if isRestricted(link), telling.sent < snapshot.log.foldedThrough {
            restart(link)
            return false
        }
        guard try advance(&step, on: link) else {
            restart(link)
            return false
        }
        var keys = step.keys
        let known = Set(keys)
        // In an order that does not depend on chance.
        keys += telling.whole.compactMap { snapshot.key(of: $0) }
            .filter { !known.contains($0) }.sorted { $0.lexicographicallyPrecedes($1) }
        link.telling?.outgoing = Outgoing(
            snapshot: snapshot, documents: .keys(keys, next: 0), since: telling.sent,
            whole: telling.whole,
            isRepeated: !telling.isBehind && telling.sent == snapshot.log.commit,
            rankings: step.advance?.rankings)
        link.telling?.whole = []
        link.telling?.isBehind = false
        link.telling?.judging = Judging()
        return true
    }

    private func catchUp(_ link: Link, _ telling: Telling) -> CatchUp {
        let snapshot = news.snapshot
        var step = CatchUp(snapshot: snapshot, keys: [])
        if let commits = news.commits(after: telling.sent) {
            var seen: Set<DocumentKey> = []
            var told: Set<[UInt8]> = []
            for commit in commits {
                let isTheirs = telling.matcher.isRanked && isTheirs(commit, link)
                for change in commit.changes {
                    if seen.insert(change.key).inserted { step.keys.append(change.key.bytes) }
                    if telling.matcher.isRanked, !isTheirs { told.insert(change.key.bytes) }
                }
            }
            step.told = told
        } else {
            let end = news.end(of: telling.sent)
            snapshot.log.tree.forEach(in: StoreKey.documents) { key, value in
                if let place = Place(value), place.position >= end { step.keys.append(Array(key)) }
                return true
            }
        }
        if telling.matcher.isRanked, let rankings = telling.rankings {
            step.advance = RankingAdvance(
                rankings, to: snapshot, changed: step.told == nil ? nil : step.keys)
        }
        return step
    }

    /// What is sent of one document of a long step; nothing where it does not concern the other side.
    func shipped(
        _ key: [UInt8], _ outgoing: Outgoing, _ telling: Telling, _ link: Link
    ) throws(EngineError) -> ShippedDocument? {
        let snapshot = outgoing.snapshot
        guard let address = snapshot.address(of: key), let document = try snapshot.document(key),
            !document.isRemnant
        else { return nil }
        guard !link.isLimited else {
            let isShown = try maySend(document, key, address, outgoing, toLimited: link)
            return isShown ? snapshot.whole(document, key, address) : nil
        }
        let isNamed = outgoing.whole.contains(address)
        guard let since = outgoing.since, !isNamed else {
            guard isShared(address.collection, on: link) else { return nil }
            // Who names a tombstone has the document, or had it.
            if !document.isTombstone {
                guard try maySend(link, document, before: nil, key, address, snapshot) else {
                    return nil
                }
            }
            return snapshot.whole(document, key, address)
        }
        guard telling.matcher.asks(for: address.collection) else { return nil }
        try noteUnsendable(document, key, address, since: since, in: snapshot, on: link)
        let ranked = outgoing.rankings?.contains(key, in: address.collection)
        let matches =
            try telling.matcher.matches(
                document, key: key, in: address.collection, snapshot.names) || ranked?.now == true
        let past = try past(of: key, address, outgoing, since: since, telling, link)
        guard matches || past.hasMatched,
            try maySend(link, document, before: past.state, key, address, snapshot)
        else { return nil }
        return try snapshot.changes(
            of: key, address, since: since,
            isWhole: !past.isBase || isRefused(address, on: link))
    }

    /// What the other side may have of a document.
    private struct Past {
        /// The last state that it may have.
        var state: StoredDocument?
        var hasMatched = false
        /// Whether that is the state from which on everything is told.
        var isBase = false
    }

    private func past(
        of key: [UInt8], _ address: DocumentAddress, _ outgoing: Outgoing, since: CommitID,
        _ telling: Telling, _ link: Link
    ) throws(EngineError) -> Past {
        let (snapshot, matcher) = (outgoing.snapshot, telling.matcher)
        let wasRanked = outgoing.rankings?.contains(key, in: address.collection).before == true
        // Where it is not known, it may have matched.
        let unknown = Past(
            hasMatched: matcher.asksPlainly(for: address.collection) || wasRanked)
        guard let base = try snapshot.document(key, asOf: since) else { return unknown }
        let matched = try matcher.matches(
            base, key: key, in: address.collection, snapshot.names)
        let hadBase = matched || wasRanked
        if hadBase, try maySee(base, key, address, snapshot, link) {
            return Past(state: base, hasMatched: true, isBase: true)
        }
        // It may have come since, and gone again, and be there all the same: the other side may have written
        // it, or have it from somebody else.
        guard since >= snapshot.log.foldedThrough,
            let commits = try snapshot.commits(
                of: key, since: since, most: isRestricted(link) ? .max : Self.mostLookedAt)
        else { return unknown }
        for commit in commits {
            guard let found = try snapshot.document(key, asOf: commit) else { return unknown }
            guard let state = found else { continue }
            let matched = try matcher.matches(
                state, key: key, in: address.collection, snapshot.names)
            guard matched || matcher.hasLimit(in: address.collection),
                try maySee(state, key, address, snapshot, link)
            else { continue }
            return Past(state: state, hasMatched: true)
        }
        return Past(state: base, hasMatched: hadBase)
    }

    /// Whether the other side could be sent a document as it was.
    private func maySee(
        _ document: StoredDocument?, _ key: [UInt8], _ address: DocumentAddress,
        _ snapshot: DocumentSnapshot, _ link: Link
    ) throws(EngineError) -> Bool {
        guard let document, isRestricted(link) else { return true }
        return try maySend(link, document, before: nil, key, address, snapshot)
    }

    /// With more states of a document in between nobody looks at each of them.
    private static let mostLookedAt = 32
}
