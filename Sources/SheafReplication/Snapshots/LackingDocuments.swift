import SheafBytes
import SheafDocument
package import SheafEngine
package import SheafHubLog
package import SheafStatements
import SheafStorage

/// The documents of a shard in a store that a snapshot of the shard lacks.
///
/// Both are visited in the order of their addresses, so the snapshot need not fit in memory.
package struct LackingDocuments {
    private let shard: UInt16
    private let map: ShardMap
    private let cursor: BTreeCursor
    /// The collections that were not visited completely, the next one last.
    private var collections: [(name: String, number: UInt16)] = []
    /// The keys of the current collection.
    private var range: KeyRange?
    /// The keys of the store that the snapshot lacks, so far.
    package private(set) var keys: [[UInt8]] = []

    package init(
        _ snapshot: DocumentSnapshot, shard: UInt16, in map: ShardMap, _ scopes: SyncScopes
    ) {
        self.shard = shard
        self.map = map
        cursor = snapshot.log.tree.cursor()
        let names = snapshot.collections(of: shard, in: map, scopes)
        collections = names.reversed().compactMap { name in
            snapshot.catalog.number(ofCollection: name).map { (name: name, number: $0) }
        }
        enter()
    }

    /// Passes a document of the snapshot, which follows those before it.
    package mutating func pass(_ collection: String, id: [UInt8]) {
        while let current = collections.last {
            let order = UTF8Order.compare(current.name, collection)
            guard order <= 0 else { return }
            if order == 0 {
                pass(id)
                return
            }
            leave()
        }
    }

    /// Passes all documents of the store that follow those of the snapshot.
    package mutating func finish() {
        while !collections.isEmpty { leave() }
    }

    private mutating func pass(_ id: [UInt8]) {
        while let key = currentKey {
            let own = key[StoreKey.documentPrefixLength...]
            if id.lexicographicallyPrecedes(own) { return }
            if !own.elementsEqual(id) { add(key) }
            _ = cursor.next()
            if own.elementsEqual(id) { return }
        }
    }

    private mutating func leave() {
        while let key = currentKey {
            add(key)
            _ = cursor.next()
        }
        collections.removeLast()
        enter()
    }

    private mutating func enter() {
        range = collections.last.map { StoreKey.documents(of: $0.number) }
        if let lower = range?.lower { lower.span.withUnsafeBytes { _ = cursor.seek($0) } }
    }

    private var currentKey: [UInt8]? {
        guard let range, cursor.isValid else { return nil }
        let key = Array(cursor.key)
        return range.contains(key) ? key : nil
    }

    private mutating func add(_ key: [UInt8]) {
        guard let name = collections.last?.name else { return }
        if map.isSplit(name) {
            let id = Array(key[StoreKey.documentPrefixLength...])
            let address = DocumentAddress(collection: name, id: id)
            guard map.shard(of: address) == shard else { return }
        }
        keys.append(key)
    }
}
