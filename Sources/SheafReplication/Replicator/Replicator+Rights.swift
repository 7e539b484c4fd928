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
    /// Records the rights of a peer; cursors from before a change of rights are invalid.
    func recordAuthorization(_ connection: Connection, _ hello: Hello) {
        let authorization = RememberedPeers.Authorization(
            connection.access, isServer: hello.isServer)
        let newest = recent.snapshot.log.commit
        if peers.record(authorization, of: hello.peerKey, through: newest) {
            subscriptions.cursors[hello.peerKey] = nil
        }
        guard connection.isLimited else { return }
        connection.exchange.limitedPeer = peers.openLimitedPeer(
            hello.peerKey, most: limits.limitedRepairs)
    }

    /// Returns the store and the peer of a connection as the current event finds them.
    func context(of connection: Connection) -> PeerContext {
        let key = connection.session.remote?.peerKey ?? []
        return PeerContext(
            queries: queries, recent: recent, limits: limits, now: now,
            connection: connection.number, nonce: connection.nonce,
            access: connection.access, limitedPeer: connection.exchange.limitedPeer, slice: slice,
            evaluationStop: evaluationStop,
            subscriptions: connection.receiver.former ?? subscriptions, refusals: refusals,
            hubDurable: hubDurable, key: key,
            syncedUpTo: peers[key]?.syncedUpTo ?? 0, listed: connection.receiver.listed)
    }

    /// Number of peers whose status or rights are remembered.
    package var rememberedPeerCount: Int { peers.count }

    /// Makes room for the status and the rights of a peer.
    ///
    /// Otherwise a store that accepts any peer would remember every peer that ever connected.
    func makeRoom(forPeer key: [UInt8]) {
        guard peers.isFull(for: key, connected: table.peerCount) else { return }
        let connected = table.keys
        discardQuarantines(but: connected)
        refusals.discard(but: connected)
        peers.discard(but: connected, through: recent.snapshot.log.commit)
        subscriptions.cursors = subscriptions.cursors.filter { connected.contains($0.key) }
        transfer.discard(but: connected)
        emit(.statusChanged)
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
            try connection.access.maySelect(document, key, address, recent.snapshot.names)
        }
    }

    /// Applies changed sharing scopes; peers reconcile collections that became visible to them.
    func applyScopes() {
        let new = queries.parameters.values.syncScopes
        guard new != scopes else { return }
        let old = scopes
        (scopes, subscriptions.known) = (new, nil)
        for connection in orderedConnections { connection.access.scopes = new }
        feed?.apply(new)
        transfer.change(new)
        checkTransfers(areRightsChanged: true)
        transfer.reviewAll()
        if new.isWider(than: old) { peers.recordWidening(through: recent.snapshot.log.commit) }
        // No cursor covers collections that were not requested or not shared.
        let asksWider = subscriptions.queries.contains { query in
            query.collection.map { new.isWider(than: old, for: $0) } ?? new.isWider(than: old)
        }
        if asksWider { subscriptions.epoch += 1 }
        for connection in orderedConnections where connection.session.isOpen {
            let isServer = connection.session.remote?.isServer ?? false
            let sentCollections =
                connection.sender?.matcher.collections(in: recent.snapshot) ?? []
            if sentCollections.contains(where: {
                new.allows($0, toServer: isServer) && !old.allows($0, toServer: isServer)
            }) {
                connection.sender?.reconcileIfBegun(on: &connection.exchange)
            }
            if asksWider
                || subscriptions.queries.contains(where: { query in
                    query.collection.map { new.isShared($0) != old.isShared($0) } ?? false
                })
            {
                renewSubscription(connection)
            } else {
                renewIfCollectionsChanged(connection)
            }
        }
        pump()
    }
}
