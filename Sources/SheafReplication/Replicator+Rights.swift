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
    func recordAuthorization(_ connection: Connection, _ hello: Hello) {
        var authorization = Authorization(
            rights: connection.rights, ownRights: connection.ownRights, isServer: hello.isServer)
        if let old = authorizations[hello.peerKey] {
            authorization.changedThrough = old.changedThrough
            if old.rights != authorization.rights || old.ownRights != authorization.ownRights
                || old.isServer != authorization.isServer
            {
                authorization.changedThrough = news.snapshot.log.commit
                subscriptions.cursors[hello.peerKey] = nil
                limitedPeers[hello.peerKey]?.shadows = ShadowTable()
            }
        }
        authorizations[hello.peerKey] = authorization
    }

    /// Maximum number of remembered peers; beyond it disconnected peers are forgotten.
    static let maximumRememberedPeers = 4_096

    /// Number of remembered peers.
    package var rememberedPeerCount: Int { max(statuses.count, authorizations.count) }

    /// Forgets all disconnected peers, which reconcile when they connect again.
    ///
    /// Otherwise a store that accepts any peer would remember all that ever connected.
    private func discardAbsentPeers() {
        let connected = Set(connections.values.compactMap { $0.session.remote?.peerKey })
        discardQuarantines(but: connected)
        refusals.discard(but: connected)
        statuses = statuses.filter { connected.contains($0.key) }
        authorizations = authorizations.filter { connected.contains($0.key) }
        subscriptions.cursors = subscriptions.cursors.filter { connected.contains($0.key) }
        limitedPeers = limitedPeers.filter { connected.contains($0.key) }
        widenedThrough = news.snapshot.log.commit
        emit(.statusChanged)
    }

    func makeRoom(forPeer key: [UInt8]) {
        guard authorizations[key] == nil, rememberedPeerCount >= Self.maximumRememberedPeers else {
            return
        }
        discardAbsentPeers()
    }

    /// Whether a cursor is newer than the last change of the scopes and of the peer's rights.
    func isCurrent(upTo cursor: Cursor, _ connection: Connection) -> Bool {
        let key = connection.session.remote?.peerKey ?? []
        return [widenedThrough, authorizations[key]?.changedThrough].allSatisfy { last in
            last.map { cursor.commit > $0 } ?? true
        }
    }

    /// Parses the rules of a peer; returns false if they are invalid and the connection was ended.
    func prepareRights(of connection: Connection) -> Bool {
        do throws(QueryError) {
            if let rights = connection.rights {
                let readRule = try queries(rights.read)
                connection.readRule = readRule
                connection.readable = SubscriptionMatcher(
                    rule: readRule, queries, meter: connection.readMeter, stop: evaluationStop)
                connection.readableByID = SubscriptionMatcher(
                    rule: readRule.filter(\.isDecidedByID), queries, stop: evaluationStop)
                connection.writable = try queries(rights.write)
            }
            if let rights = connection.ownRights {
                connection.sendable = SubscriptionMatcher(
                    rule: try queries(rights.write), queries, stop: evaluationStop)
            }
            return true
        } catch {
            fail(connection, .refused, "the rules for this peer are invalid: \(error.message)")
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
        _ connection: Connection, _ document: StoredDocument, before: StoredDocument?,
        _ key: [UInt8],
        _ address: DocumentAddress, _ snapshot: DocumentSnapshot
    ) throws(EngineError) -> Bool {
        guard isShared(address.collection, on: connection) else { return false }
        // A tombstone has no content: a peer that could read the former state may receive it.
        let shown = document.isTombstone ? before : document
        for matcher in [connection.readable, connection.sendable] {
            guard let matcher else { continue }
            guard try matcher.matches(shown, key: key, in: address.collection, snapshot.names)
            else { return false }
        }
        return true
    }

    /// Returns the filter that precedes the queries of the peer; nil if it may read everything.
    func readFilter(_ connection: Connection) -> SubscriptionRankings.Filter? {
        guard isRestricted(connection) else { return nil }
        return { [unowned self, unowned connection] (document, key, address) throws(EngineError) in
            guard isShared(address.collection, on: connection) else { return false }
            for matcher in [connection.readable, connection.sendable] {
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
        in snapshot: DocumentSnapshot, isOwn: Bool, on connection: Connection
    ) throws(EngineError) -> VersionList {
        guard isRestricted(connection) else {
            return try snapshot.versions(matching: matcher, rankings)
        }
        return try snapshot.versions(matching: matcher, rankings) {
            (document, key, address) throws(EngineError) in
            try isShown(connection, document, key, address, snapshot, isOwn: isOwn)
        }
    }

    /// Whether a document may be revealed to the peer; with `isOwn`, this peer is the subscriber.
    func isShown(
        _ connection: Connection, _ document: StoredDocument, _ key: [UInt8],
        _ address: DocumentAddress,
        _ snapshot: DocumentSnapshot, isOwn: Bool
    ) throws(EngineError) -> Bool {
        guard isOwn else {
            return try maySend(connection, document, before: nil, key, address, snapshot)
        }
        guard isShared(address.collection, on: connection) else { return false }
        guard let readable = connection.readable else { return true }
        return try readable.matches(document, key: key, in: address.collection, snapshot.names)
    }

    /// Whether some documents may have to be withheld from the peer.
    func isRestricted(_ connection: Connection) -> Bool {
        connection.readable != nil || connection.sendable != nil || !scopes.isEmpty
    }

    /// Whether a collection is shared with the peer.
    package func isShared(_ collection: String, on connection: Connection) -> Bool {
        scopes.allows(collection, toServer: connection.session.remote?.isServer ?? false)
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
        let asksWider = subscriptions.queries.contains {
            new.isWider(than: old, for: $0.collection)
        }
        if asksWider { subscriptions.epoch += 1 }
        for connection in orderedConnections where connection.session.isOpen {
            let isServer = connection.session.remote?.isServer ?? false
            let sentCollections = connection.sender?.matcher.collections ?? []
            if sentCollections.contains(where: {
                new.allows($0, toServer: isServer) && !old.allows($0, toServer: isServer)
            }) {
                if connection.sender?.isStreaming == true {
                    restart(connection)
                } else if connection.sender?.compared != nil
                    || connection.sender?.preparation != nil
                {
                    connection.sender?.isListOutdated = true
                }
            }
            if asksWider
                || subscriptions.queries.contains(where: {
                    new.isShared($0.collection) != old.isShared($0.collection)
                })
            {
                renewSubscription(connection)
            }
            handle(connection)
        }
    }

    /// Makes the peer reconcile its subscription again.
    func restart(_ connection: Connection) {
        connection.sender?.isStreaming = false
        connection.sender?.outgoing = nil
        connection.sender?.limited.discardChanges()
        _ = connection.sender?.limited.removePart()
        connection.sender?.catchingUp = nil
        connection.sender?.judging = Judging()
        connection.session.restart()
    }
}

extension String {
    /// The text with each backtick doubled, for use in a name between backticks.
    fileprivate var replacingBackticks: String {
        String(flatMap { $0 == "`" ? [$0, $0] : [$0] })
    }
}
