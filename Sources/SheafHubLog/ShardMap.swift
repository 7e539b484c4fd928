package import SheafBytes
package import SheafDocument

/// The rule that assigns documents to shards (`format-spec/hub.md`, *Shards*).
package struct ShardMap: Equatable, Sendable {
    /// Collections that are written together, and so share a shard.
    package struct CollectionGroup: Equatable, Sendable {
        package let name: String
        /// Names of its collections, in ascending order.
        package let collections: [String]

        package init(name: String, collections: [String]) {
            self.name = name
            self.collections = collections
        }
    }

    /// Number of shards, a power of two.
    package let shardCount: Int
    /// Names of the collections whose documents are in all shards, in ascending order.
    package let splitCollections: [String]
    /// Groups of collections, in ascending order of their names.
    package let groups: [CollectionGroup]
    private let split: Set<[UInt8]>
    /// The name of the group of each collection in one.
    private let routes: [[UInt8]: String]

    /// The map of a log with one shard.
    package static let single = ShardMap()

    private init() {
        (shardCount, splitCollections, groups, split, routes) = (1, [], [], [], [:])
    }

    /// Creates a map; throws for names that are out of order, or a collection that occurs twice.
    package init(
        shardCount: Int, splitCollections: [String] = [], groups: [CollectionGroup] = []
    ) throws(Malformed) {
        guard 1...HubLimits.shards ~= shardCount, shardCount & (shardCount - 1) == 0 else {
            throw .invalid(
                "\(shardCount) shards; the number is a power of two up to \(HubLimits.shards),",
                at: 0)
        }
        for names in [splitCollections, groups.map(\.name)] + groups.map(\.collections) {
            for (name, next) in zip(names, names.dropFirst())
            where UTF8Order.compare(name, next) >= 0 {
                throw .invalid("the name `\(next.shortened)` out of order", at: 0)
            }
        }
        var routes: [[UInt8]: String] = [:]
        let split = Set(splitCollections.map { Array($0.utf8) })
        for group in groups {
            for collection in group.collections {
                let name = Array(collection.utf8)
                guard routes.updateValue(group.name, forKey: name) == nil, !split.contains(name)
                else {
                    throw .invalid(
                        "the collection `\(collection.shortened)` in two groups, or split,", at: 0)
                }
            }
        }
        self.shardCount = shardCount
        self.splitCollections = splitCollections
        self.groups = groups
        self.split = split
        self.routes = routes
    }

    /// Returns the shard of a document.
    package func shard(of address: DocumentAddress) -> UInt16 {
        guard shardCount > 1 else { return 0 }
        let name = Array(address.collection.utf8)
        var text = routes[name].map { Array($0.utf8) } ?? name
        if split.contains(name) { text += [0] + address.id }
        let hash = text.span.withUnsafeBytes { XXH3.hash64($0) }
        return UInt16(truncatingIfNeeded: hash & UInt64(shardCount - 1))
    }

    /// Whether the documents of a collection are in several shards.
    package func isSplit(_ collection: String) -> Bool {
        shardCount > 1 && split.contains(Array(collection.utf8))
    }
}
