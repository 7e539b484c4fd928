public import Dispatch
import Sheaf

/// The operations on the list of all collections.
public final class DittoCollectionsOperation: Sendable {
    static let statement = DittoStatement("SELECT name FROM system:collections")

    private let store: DittoStore

    init(_ store: DittoStore) {
        self.store = store
    }

    /// Returns the collections, sorted by name; blocks the thread.
    public func exec() -> [DittoCollection] {
        store.collectionNames().map { store.collection($0) }
    }

    /// Calls `eventHandler` on `queue` with the collections, and again after each change.
    ///
    /// The list is queried every `live_query_system_collection_refresh_interval` (500 ms).
    public func observeLocal(
        deliverOn queue: DispatchQueue = .main,
        eventHandler: @escaping (_ event: DittoCollectionsEvent) -> Void
    ) -> DittoLiveQuery {
        let store = store
        var known: [String]?
        let delivery = store.errorHandler.returning(nil) {
            try Delivery(of: Self.statement, from: store, on: queue) { result, next in
                if let names = store.errorHandler.returning(nil, { try result.collectionNames }),
                    names != known
                {
                    let before = known
                    known = names
                    eventHandler(DittoCollectionsEvent(from: before, to: names, of: store))
                }
                next()
            }
        }
        return DittoLiveQuery(delivery)
    }

    /// Unavailable: a subscription has one collection.
    @available(
        *, unavailable,
        message: "use `sync.registerSubscription(query:arguments:)` for each collection"
    )
    public func subscribe() {}
}

/// A change of the list of collections.
public struct DittoCollectionsEvent: Sendable {
    /// Whether this is the first event.
    public let isInitial: Bool
    /// The collections, sorted by name.
    public let collections: [DittoCollection]
    /// The collections of the previous event.
    public let oldCollections: [DittoCollection]
    /// Indexes of new collections in `collections`.
    public let insertions: [Int]
    /// Indexes of deleted collections in `oldCollections`.
    public let deletions: [Int]

    fileprivate init(from before: [String]?, to names: [String], of store: DittoStore) {
        let old = before ?? []
        isInitial = before == nil
        collections = names.map { store.collection($0) }
        oldCollections = old.map { store.collection($0) }
        insertions = isInitial ? [] : names.indices.filter { !old.contains(names[$0]) }
        deletions = old.indices.filter { !names.contains(old[$0]) }
    }
}

extension QueryResult {
    /// The sorted collection names in the rows.
    var collectionNames: [String] {
        get throws {
            try items.compactMap { item in
                guard case .string(let name)? = try item["name"] else { return nil }
                return name
            }.sorted()
        }
    }
}
