import SheafDocument
import SheafEngine
import SheafQuery
import SheafStatements
import SheafSync
import SheafTransport

/// A subscription to all collections, as it is sent to each peer.
///
/// A peer of an older version has no such query. It is sent the names of the collections that this
/// peer knows, and more of them as this peer learns of them.
extension Replicator {
    /// Returns the queries to send to a peer, and the hash of the collections that they name in
    /// place of all.
    func requestedQueries(of connection: Connection) -> ([SubscribedQuery], named: UInt64?) {
        guard subscriptions.selectsAllCollections, !connection.session.hasAllCollections else {
            // Collections that are not shared are not requested.
            let shared = subscriptions.queries.filter { query in
                query.collection.map { scopes.isShared($0) } ?? true
            }
            return (shared.map(\.wire), nil)
        }
        let named = namedCollections(to: connection)
        return (named.queries, named.hash)
    }

    /// Subscribes again at an older peer if this peer has learned of collections since.
    ///
    /// A connection that is receiving documents is renewed once these are written.
    func renewIfCollectionsChanged(_ connection: Connection) {
        guard subscriptions.selectsAllCollections, connection.session.isOpen,
            !connection.session.hasAllCollections, connection.receiver.generation > 0,
            connection.receiver.delayedSubscription == nil, !connection.receiver.awaitsRenewal,
            namedCollections(to: connection).hash != connection.receiver.named
        else { return }
        if connection.receiver.isSettled {
            renewSubscription(connection)
        } else {
            connection.receiver.awaitsRenewal = true
        }
    }

    /// Requests new collections from older peers, after a commit.
    func requestNewCollections() {
        let count = recent.snapshot.catalog.collections.count
        guard subscriptions.checkedCollections != count else { return }
        subscriptions.checkedCollections = count
        for connection in orderedConnections { renewIfCollectionsChanged(connection) }
    }

    /// Returns the complete collections that this peer requests from an older one.
    ///
    /// To a peer with limited rights, only collections in these rights are named, and those of the
    /// other subscriptions of this peer: others may be hidden from it.
    private func namedCollections(to connection: Connection) -> NamedCollections {
        if let rights = connection.access.rights {
            let others = subscriptions.requested.compactMap(\.collection)
            return NamedCollections(
                requestable(others + Array(rights.read.keys) + rights.write.keys))
        }
        let known = knownCollections()
        // The peer probably writes to the collections that it subscribes to.
        connection.receiver.learn(connection.sender?.matcher.named ?? [])
        var others = requestable(Array(connection.receiver.learned))
        others.formUnion(requestable(connection.access.ownRights.map { Array($0.read.keys) } ?? []))
        guard !others.isSubset(of: known.names) else { return known }
        return NamedCollections(known.names.union(others))
    }

    /// Returns the collections of the store, and those of the other subscriptions of this peer.
    ///
    /// They are the same for most connections, so they are listed once after each change.
    private func knownCollections() -> NamedCollections {
        let collections = recent.snapshot.catalog.collections
        if let known = subscriptions.known, known.count == collections.count {
            return known.collections
        }
        let names = collections + subscriptions.requested.compactMap(\.collection)
        let known = NamedCollections(requestable(names))
        subscriptions.known = (collections.count, known)
        return known
    }

    /// Returns the names of collections that are shared and not reserved, as UTF-8 bytes.
    private func requestable(_ names: [String]) -> Set<[UInt8]> {
        Set(
            names.lazy.filter { self.scopes.isShared($0) && !$0.isReservedCollection }
                .map { Array($0.utf8) })
    }
}
