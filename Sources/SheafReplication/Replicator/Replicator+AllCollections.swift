import SheafBytes
import SheafDocument
import SheafEngine
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
        let queries = knownCollections(to: connection)
        return (queries, Self.hash(queries))
    }

    /// Subscribes again at an older peer if this peer has learned of collections since.
    ///
    /// A connection that is receiving documents is renewed once these are written.
    func renewIfCollectionsChanged(_ connection: Connection) {
        guard subscriptions.selectsAllCollections, connection.session.isOpen,
            !connection.session.hasAllCollections, connection.receiver.generation > 0,
            connection.receiver.delayedSubscription == nil,
            requestedQueries(of: connection).named != connection.receiver.named
        else { return }
        if connection.receiver.isSettled {
            renewSubscription(connection)
        } else {
            connection.receiver.awaitsRenewal = true
        }
    }

    /// Requests new collections from older peers, after a commit.
    func requestNewCollections() {
        let count = news.snapshot.catalog.collections.count
        guard subscriptions.checkedCollections != count else { return }
        subscriptions.checkedCollections = count
        for connection in orderedConnections { renewIfCollectionsChanged(connection) }
    }

    /// Returns queries of the complete collections that this peer knows, in order.
    ///
    /// To a peer with limited rights, only collections in these rights are named: others may be
    /// hidden from it.
    private func knownCollections(to connection: Connection) -> [SubscribedQuery] {
        var names: Set<[UInt8]> = []
        func add(_ name: String) {
            guard scopes.isShared(name), !name.isReservedCollection else { return }
            names.insert(Array(name.utf8))
        }
        if let rights = connection.access.rights {
            rights.read.keys.forEach(add)
            rights.write.keys.forEach(add)
        } else {
            news.snapshot.catalog.collections.forEach(add)
            subscriptions.requested.compactMap(\.collection).forEach(add)
            // The peer probably writes to the collections that it subscribes to.
            connection.sender?.matcher.subscribed.compactMap(\.collection).forEach(add)
            connection.access.ownRights?.read.keys.forEach(add)
        }
        var (queries, length): ([SubscribedQuery], Int) = ([], 0)
        for name in names.sorted(by: { $0.lexicographicallyPrecedes($1) }) {
            let query = SubscribedQuery(completeCollection: String(decoding: name, as: UTF8.self))
            length += query.length
            guard queries.count < SyncLimits.queries, length <= SyncLimits.subscriptionLength
            else { break }
            queries.append(query)
        }
        return queries
    }

    private static func hash(_ queries: [SubscribedQuery]) -> UInt64 {
        var writer = ByteWriter()
        for query in queries { writer.writeText(query.text) }
        return writer.bytes.span.withUnsafeBytes { XXH3.hash64($0) }
    }
}
