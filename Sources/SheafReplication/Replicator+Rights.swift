import SheafBytes
import SheafDocument
import SheafEngine
import SheafQuery
import SheafStatements
import SheafStorage
import SheafSync
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
            rights: connection.access.rights, ownRights: connection.access.ownRights,
            isServer: hello.isServer)
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
        guard connection.isLimited else { return }
        let limited = limitedPeers[hello.peerKey] ?? LimitedPeer()
        limitedPeers[hello.peerKey] = limited
        connection.exchange.limitedPeer = limited
    }

    /// Returns the store and the peer of a connection as the current event finds them.
    func context(of connection: Connection) -> PeerContext {
        let key = connection.session.remote?.peerKey ?? []
        return PeerContext(
            queries: queries, news: news, lengths: lengths, now: now, nonce: connection.nonce,
            access: connection.access, limitedPeer: connection.exchange.limitedPeer, slice: slice,
            subscriptions: subscriptions, refusals: refusals, key: key,
            syncedUpTo: statuses[key]?.syncedUpTo ?? 0, listed: connection.receiver.listed)
    }

    /// Maximum number of remembered peers; beyond it disconnected peers are discarded.
    static let maximumRememberedPeers = 4_096

    /// Number of peers whose status or rights are remembered.
    package var rememberedPeerCount: Int { max(statuses.count, authorizations.count) }

    /// Discards all disconnected peers, which reconcile when they connect again.
    ///
    /// Otherwise a store that accepts any peer would remember every peer that ever connected.
    private func discardAbsentPeers() {
        let connected = Set(connections.values.compactMap { $0.session.remote?.peerKey })
        discardQuarantines(but: connected)
        refusals.discard(but: connected)
        statuses = statuses.filter { connected.contains($0.key) }
        authorizations = authorizations.filter { connected.contains($0.key) }
        subscriptions.cursors = subscriptions.cursors.filter { connected.contains($0.key) }
        limitedPeers = limitedPeers.filter { connected.contains($0.key) }
        transfer.discard(but: connected)
        widenedThrough = news.snapshot.log.commit
        emit(.statusChanged)
    }

    func makeRoom(forPeer key: [UInt8]) {
        guard authorizations[key] == nil, rememberedPeerCount >= Self.maximumRememberedPeers else {
            return
        }
        discardAbsentPeers()
    }

    /// Whether a cursor follows the last widening of the scopes, and the last change of rights.
    func isCurrent(upTo cursor: Cursor, _ connection: Connection) -> Bool {
        let key = connection.session.remote?.peerKey ?? []
        return [widenedThrough, authorizations[key]?.changedThrough].allSatisfy { last in
            last.map { cursor.commit > $0 } ?? true
        }
    }

    /// Parses the rules of a peer; returns false if they are invalid and the connection was ended.
    func prepareRights(of connection: Connection, _ hello: Hello) -> Bool {
        do throws(StoreError) {
            try connection.access.open(queries, isServer: hello.isServer, until: evaluationStop)
            return true
        } catch {
            fail(connection, .refused, "the rules for this peer are invalid: \(error.message)")
            return false
        }
    }

    /// Returns the filter that precedes the queries of the peer; nil if no document is withheld.
    func readFilter(_ connection: Connection) -> SubscriptionRankings.Filter? {
        guard connection.access.isRestricted else { return nil }
        return { [unowned self, unowned connection] (document, key, address) throws(EngineError) in
            try connection.access.maySelect(document, key, address, news.snapshot.names)
        }
    }

    /// Applies changed sharing scopes; peers reconcile collections that became visible to them.
    func applyScopes() {
        let new = queries.parameters.values.syncScopes
        guard new != scopes else { return }
        let old = scopes
        scopes = new
        for connection in orderedConnections { connection.access.scopes = new }
        transfer.change(new)
        checkTransfers()
        transfer.reviewAll()
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
                connection.sender?.reconcileIfBegun(on: &connection.exchange)
            }
            if asksWider
                || subscriptions.queries.contains(where: {
                    new.isShared($0.collection) != old.isShared($0.collection)
                })
            {
                renewSubscription(connection)
            }
        }
        pump()
    }
}
