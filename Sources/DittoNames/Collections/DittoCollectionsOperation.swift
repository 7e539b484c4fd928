public import Dispatch
import Sheaf

/// All collections of a store, to be read or observed.
public final class DittoCollectionsOperation: Sendable {
    static let statement = Statement("SELECT name FROM system:collections")

    private let store: DittoStore

    init(_ store: DittoStore) {
        self.store = store
    }

    /// Returns the collections by name; blocks the thread meanwhile.
    public func exec() -> [DittoCollection] {
        store.collectionNames().map { store.collection($0) }
    }

    /// Calls `eventHandler` on `queue` with the collections, and again after their names have changed.
    ///
    /// The store is asked every `live_query_system_collection_refresh_interval` (500 ms).
    public func observeLocal(
        deliverOn queue: DispatchQueue = .main,
        eventHandler: @escaping (_ event: DittoCollectionsEvent) -> Void
    ) -> DittoLiveQuery {
        let store = store
        var known: [String]?
        let delivery = store.complaints.returning(nil) {
            try Delivery(of: Self.statement, from: store, on: queue) { result, next in
                if let names = store.complaints.returning(nil, { try result.collectionNames }),
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

    /// A subscription is of one collection.
    @available(
        *, unavailable,
        message: "use `sync.registerSubscription(query:arguments:)` for each collection"
    )
    public func subscribe() {}
}

/// A change of the collections of a store.
public struct DittoCollectionsEvent: Sendable {
    /// Whether the collections are the first ones.
    public let isInitial: Bool
    /// The collections by name.
    public let collections: [DittoCollection]
    /// The collections of the event before.
    public let oldCollections: [DittoCollection]
    /// Indexes of new collections.
    public let insertions: [Int]
    /// Indexes of collections that are gone, in `oldCollections`.
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
    /// The names of collections that are the rows, sorted.
    var collectionNames: [String] {
        get throws {
            try items.compactMap { item in
                guard case .string(let name)? = try item["name"] else { return nil }
                return name
            }.sorted()
        }
    }
}
