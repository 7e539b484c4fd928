import SheafBytes
package import SheafDocument
package import SheafEngine
import SheafQuery
import SheafStatements
import SheafStorage
package import SheafSync
import SheafTransport

/// Authorization of remote peers, and the sharing scopes of collections.
extension Replicator {
    /// The rights of a remote peer at this one, and the rights of this peer at the remote one.
    struct Authorization {
        let rights: PeerRights?
        let ownRights: PeerRights?
        package let isServer: Bool
        /// The newest local commit when the rights last changed; nil if they never did.
        var changedThrough: CommitID?
    }

    /// Records the rights of a peer; cursors from before a change of rights are invalid.
    func recordAuthorization(_ link: Connection, _ hello: Hello) {
        var standing = Authorization(
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

    /// Maximum number of remembered peers; beyond it disconnected peers are forgotten.
    static let maximumRememberedPeers = 4_096

    /// Number of remembered peers.
    package var rememberedPeerCount: Int { max(statuses.count, standings.count) }

    /// Forgets all disconnected peers, which reconcile when they connect again.
    ///
    /// Otherwise a store that accepts any peer would remember all that ever connected.
    private func discardAbsentPeers() {
        let connected = Set(connections.values.compactMap { $0.session.remote?.peerKey })
        discardQuarantines(but: connected)
        refusals.discard(but: connected)
        statuses = statuses.filter { connected.contains($0.key) }
        standings = standings.filter { connected.contains($0.key) }
        wishes.cursors = wishes.cursors.filter { connected.contains($0.key) }
        limitedPeers = limitedPeers.filter { connected.contains($0.key) }
        widenedThrough = news.snapshot.log.commit
        emit(.statusChanged)
    }

    func makeRoom(forPeer key: [UInt8]) {
        guard standings[key] == nil, rememberedPeerCount >= Self.maximumRememberedPeers else {
            return
        }
        discardAbsentPeers()
    }

    /// Whether a cursor is newer than the last change of the scopes and of the peer's rights.
    func isCurrent(upTo cursor: Cursor, _ link: Connection) -> Bool {
        let key = link.session.remote?.peerKey ?? []
        return [widenedThrough, standings[key]?.changedThrough].allSatisfy { last in
            last.map { cursor.commit > $0 } ?? true
        }
    }

    /// Parses the rules of a peer; returns false if they are invalid and the connection was ended.
    func prepareRights(of link: Connection) -> Bool {
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
            fail(link, .refused, "the rules for this peer are invalid: \(error.message)")
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

    /// Whether the peer may read a document and this peer may send it.
    package func maySend(
        _ link: Connection, _ document: StoredDocument, before: StoredDocument?, _ key: [UInt8],
        _ address: DocumentAddress, _ snapshot: DocumentSnapshot
    ) throws(EngineError) -> Bool {
        guard isShared(address.collection, on: link) else { return false }
        // A tombstone has no content: a peer that could read the former state may receive it.
        let shown = document.isTombstone ? before : document
        for matcher in [link.readable, link.sendable] {
            guard let matcher else { continue }
            guard try matcher.matches(shown, key: key, in: address.collection, snapshot.names)
            else { return false }
        }
        return true
    }

    /// Returns the filter that precedes the queries of the peer; nil if it may read everything.
    func readFilter(_ link: Connection) -> SubscriptionRankings.Filter? {
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

    /// Returns the versions of matching documents that may be revealed to the peer.
    ///
    /// With `isOwn`, this peer is the subscriber, which also sends the IDs of its documents.
    package func versions(
        matching matcher: SubscriptionMatcher, _ rankings: SubscriptionRankings?,
        in snapshot: DocumentSnapshot, isOwn: Bool, on link: Connection
    ) throws(EngineError) -> VersionList {
        guard isRestricted(link) else {
            return try snapshot.versions(matching: matcher, rankings)
        }
        return try snapshot.versions(matching: matcher, rankings) {
            (document, key, address) throws(EngineError) in
            try isShown(link, document, key, address, snapshot, isOwn: isOwn)
        }
    }

    /// Whether a document may be revealed to the peer; with `isOwn`, this peer is the subscriber.
    func isShown(
        _ link: Connection, _ document: StoredDocument, _ key: [UInt8], _ address: DocumentAddress,
        _ snapshot: DocumentSnapshot, isOwn: Bool
    ) throws(EngineError) -> Bool {
        guard isOwn else {
            return try maySend(link, document, before: nil, key, address, snapshot)
        }
        guard isShared(address.collection, on: link) else { return false }
        guard let readable = link.readable else { return true }
        return try readable.matches(document, key: key, in: address.collection, snapshot.names)
    }

    /// Whether some documents may have to be withheld from the peer.
    func isRestricted(_ link: Connection) -> Bool {
        link.readable != nil || link.sendable != nil || !scopes.isEmpty
    }

    /// Whether a collection is shared with the peer.
    package func isShared(_ collection: String, on link: Connection) -> Bool {
        scopes.allows(collection, toServer: link.session.remote?.isServer ?? false)
    }

    /// Applies changed sharing scopes; peers reconcile collections that became visible to them.
    func applyScopes() {
        let new = queries.parameters.values.syncScopes
        guard new != scopes else { return }
        let old = scopes
        scopes = new
        recheckReaders()
        if new.isWider(than: old) { widenedThrough = news.snapshot.log.commit }
        // No cursor covers collections that were not requested or not shared.
        let asksWider = wishes.queries.contains { new.isWider(than: old, for: $0.collection) }
        if asksWider { wishes.epoch += 1 }
        for link in allLinks where link.session.isOpen {
            let isServer = link.session.remote?.isServer ?? false
            let told = link.sender?.matcher.collections ?? []
            if told.contains(where: {
                new.allows($0, toServer: isServer) && !old.allows($0, toServer: isServer)
            }) {
                if link.sender?.isStreaming == true {
                    restart(link)
                } else if link.sender?.compared != nil || link.sender?.preparation != nil {
                    link.sender?.isListOutdated = true
                }
            }
            if asksWider
                || wishes.queries.contains(where: {
                    new.isShared($0.collection) != old.isShared($0.collection)
                })
            {
                renewSubscription(link)
            }
            handle(link)
        }
    }

    /// Makes the peer reconcile its subscription again.
    func restart(_ link: Connection) {
        link.sender?.isStreaming = false
        link.sender?.outgoing = nil
        link.sender?.limited.discardChanges()
        _ = link.sender?.limited.removePart()
        link.sender?.catchingUp = nil
        link.sender?.judging = Judging()
        link.session.restart()
    }
}

extension String {
    /// The text with each backtick doubled, for use in a name between backticks.
    fileprivate var replacingBackticks: String {
        String(flatMap { $0 == "`" ? [$0, $0] : [$0] })
    }
}
