import SheafBytes
import SheafDocument
import SheafQuery
import SheafStorage
import SheafSync

/// What other peers may see.
extension SyncHost {
    /// What a peer may, and what this one may there.
    struct Standing {
        let rights: PeerRights?
        let ownRights: PeerRights?
        let isServer: Bool
        /// The newest commit when that was something else.
        var changedThrough: CommitID?
    }

    /// Takes in what a peer may now: where that is something else than before, no cursor says what the two have
    /// of each other.
    func noteStanding(_ link: Link, _ hello: Hello) {
        var standing = Standing(
            rights: link.rights, ownRights: link.ownRights, isServer: hello.isServer)
        if let old = standings[hello.peerKey] {
            standing.changedThrough = old.changedThrough
            if old.rights != standing.rights || old.ownRights != standing.ownRights
                || old.isServer != standing.isServer
            {
                standing.changedThrough = news.snapshot.log.commit
                wishes.cursors[hello.peerKey] = nil
                limitedPeers[hello.peerKey]?.shadows = ShadowTable()
            }
        }
        standings[hello.peerKey] = standing
    }

    /// More peers are not remembered, but those who are connected.
    static let mostKnown = 4_096

    /// How many peers are remembered.
    package var knownPeerCount: Int { max(statuses.count, standings.count) }

    /// Forgets all who are not connected; they compare when they come again.
    ///
    /// Who lets anybody in would remember for ever each who ever came.
    private func forgetAbsentPeers() {
        let connected = Set(links.values.compactMap { $0.session.remote?.peerKey })
        forgetSetAside(but: connected)
        refusals.forget(but: connected)
        statuses = statuses.filter { connected.contains($0.key) }
        standings = standings.filter { connected.contains($0.key) }
        wishes.cursors = wishes.cursors.filter { connected.contains($0.key) }
        limitedPeers = limitedPeers.filter { connected.contains($0.key) }
        widenedThrough = news.snapshot.log.commit
        emit(.statusChanged)
    }

    func makeRoom(forPeer key: [UInt8]) {
        guard standings[key] == nil, knownPeerCount >= Self.mostKnown else { return }
        forgetAbsentPeers()
    }

    /// Whether what another side could be told up to a cursor of its own is all that it may be told of that.
    func isTold(upTo cursor: Cursor, _ link: Link) -> Bool {
        let key = link.session.remote?.peerKey ?? []
        return [widenedThrough, standings[key]?.changedThrough].allSatisfy { last in
            last.map { cursor.commit > $0 } ?? true
        }
    }

    /// Reads the rules for one side; false where the connection was ended, since they cannot be read.
    func prepareRights(of link: Link) -> Bool {
        do throws(QueryError) {
            if let rights = link.rights {
                let readRule = try queries(rights.read)
                link.readRule = readRule
                link.readable = SubscriptionMatcher(
                    rule: readRule, queries, meter: link.readMeter, stop: evaluationStop)
                link.readableByID = SubscriptionMatcher(
                    rule: readRule.filter(\.isDecidedByID), queries, stop: evaluationStop)
                link.writable = try queries(rights.write)
            }
            if let rights = link.ownRights {
                link.sendable = SubscriptionMatcher(
                    rule: try queries(rights.write), queries, stop: evaluationStop)
            }
            return true
        } catch {
            fail(link, .refused, "the rules of this peer cannot be read: \(error.message)")
            return false
        }
    }

    private func queries(_ rules: [String: String]) throws(QueryError) -> [SubscriptionQuery] {
        var found: [SubscriptionQuery] = []
        for (collection, condition) in rules.sorted(by: { $0.key < $1.key }) {
            let name = collection.replacingBackticks
            let query = Query(verbatim: "SELECT * FROM `\(name)` WHERE \(condition)")
            found.append(
                try SubscriptionQuery(
                    try queries.statement(query), ArgumentValues(), queries))
        }
        return found
    }

    /// Whether the other side may see a document, and this one may send it.
    func maySend(
        _ link: Link, _ document: StoredDocument, before: StoredDocument?, _ key: [UInt8],
        _ address: DocumentAddress, _ snapshot: DocumentSnapshot
    ) throws(EngineError) -> Bool {
        guard isShared(address.collection, on: link) else { return false }
        // What is left of a deleted document has nothing in it: who saw the document may see that.
        let shown = document.isTombstone ? before : document
        for matcher in [link.readable, link.sendable] {
            guard let matcher else { continue }
            guard try matcher.matches(shown, key: key, in: address.collection, snapshot.names)
            else { return false }
        }
        return true
    }

    /// Returns what decides whether the other side may read a document, before its queries are evaluated on it;
    /// nil where it may read everything.
    func readFilter(_ link: Link) -> SubscriptionRankings.Filter? {
        guard isRestricted(link) else { return nil }
        return { [unowned self, unowned link] (document, key, address) throws(EngineError) in
            guard isShared(address.collection, on: link) else { return false }
            for matcher in [link.readable, link.sendable] {
                guard let matcher else { continue }
                guard
                    try matcher.matches(
                        document, key: key, in: address.collection, news.snapshot.names)
                else { return false }
            }
            return true
        }
    }

    /// What the other side may know of the documents that match, and `isOwn` where this side asks about
    /// those that it has: their ids are told, too.
    func versions(
        matching matcher: SubscriptionMatcher, _ rankings: SubscriptionRankings?,
        in snapshot: DocumentSnapshot, isOwn: Bool, on link: Link
    ) throws(EngineError) -> VersionList {
        guard isRestricted(link) else {
            return try snapshot.versions(matching: matcher, rankings)
        }
        return try snapshot.versions(matching: matcher, rankings) {
            (document, key, address) throws(EngineError) in
            try isShown(link, document, key, address, snapshot, isOwn: isOwn)
        }
    }

    /// Whether the other side may know of a document; with `isOwn`, where this side asks for others.
    func isShown(
        _ link: Link, _ document: StoredDocument, _ key: [UInt8], _ address: DocumentAddress,
        _ snapshot: DocumentSnapshot, isOwn: Bool
    ) throws(EngineError) -> Bool {
        guard isOwn else {
            return try maySend(link, document, before: nil, key, address, snapshot)
        }
        guard isShared(address.collection, on: link) else { return false }
        guard let readable = link.readable else { return true }
        return try readable.matches(document, key: key, in: address.collection, snapshot.names)
    }

    /// Whether there may be something here that the other side must not have.
    func isRestricted(_ link: Link) -> Bool {
        link.readable != nil || link.sendable != nil || !scopes.isEmpty
    }

    /// Whether a collection is shared with the other side.
    func isShared(_ collection: String, on link: Link) -> Bool {
        scopes.allows(collection, toServer: link.session.remote?.isServer ?? false)
    }

    /// Takes in with whom collections are shared now: who may see more than before is to compare anew.
    func noteScopes() {
        let new = queries.parameters.values.syncScopes
        guard new != scopes else { return }
        let old = scopes
        scopes = new
        recheckReaders()
        if new.isWider(than: old) { widenedThrough = news.snapshot.log.commit }
        // What was not asked for, or not named, is not behind any cursor.
        let asksWider = wishes.queries.contains { new.isWider(than: old, for: $0.collection) }
        if asksWider { wishes.epoch += 1 }
        for link in allLinks where link.session.isOpen {
            let isServer = link.session.remote?.isServer ?? false
            let told = link.telling?.matcher.collections ?? []
            if told.contains(where: {
                new.allows($0, toServer: isServer) && !old.allows($0, toServer: isServer)
            }) {
                if link.telling?.isStreaming == true {
                    restart(link)
                } else if link.telling?.compared != nil || link.telling?.preparation != nil {
                    link.telling?.isListOutdated = true
                }
            }
            if asksWider
                || wishes.queries.contains(where: {
                    new.isShared($0.collection) != old.isShared($0.collection)
                })
            {
                ask(link)
            }
            handle(link)
        }
    }

    /// Has the other side compare what it has with what there is.
    func restart(_ link: Link) {
        link.telling?.isStreaming = false
        link.telling?.outgoing = nil
        link.telling?.limited.forgetChanges()
        _ = link.telling?.limited.takePart()
        link.telling?.catchingUp = nil
        link.telling?.judging = Judging()
        link.session.restart()
    }
}

extension String {
    /// With each backtick twice, as a name in backticks has it.
    fileprivate var replacingBackticks: String {
        String(flatMap { $0 == "`" ? [$0, $0] : [$0] })
    }
}
