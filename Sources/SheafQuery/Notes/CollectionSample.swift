import SheafBytes
import SheafDocument

/// The first documents of a collection, and the fields that they have.
package struct CollectionSample {
    /// Maximum number of documents read.
    package static let maximumCount = 1_000

    /// The number of documents read, without tombstones.
    private(set) var count = 0
    /// Whether all documents of the collection were read.
    let isComplete: Bool
    private let keys: KeyBatch
    private let store: any QueryStore

    /// The values of a field in the documents read.
    struct Values {
        /// The types of the values that the statement sees.
        var kinds: Set<Value.Kind> = []
        /// Whether a document has the field, but not with the type that the statement reads.
        var isHidden = false
    }

    /// Reads the keys of the first documents.
    init(_ collection: CollectionDescription, in store: any QueryStore) throws(StoreError) {
        self.store = store
        let keys = KeyBatch()
        try store.scanKeys(collection.keys, isReversed: false, skipping: 0) {
            (key, _) throws(StoreError) in
            keys.append(key: key)
            return keys.count < Self.maximumCount
        }
        self.keys = keys
        isComplete = store.count(in: collection.keys) <= keys.count
        var count = 0
        try store.read(keys) { (_, _) throws(StoreError) in
            count += 1
            return true
        }
        self.count = count
    }

    /// Returns the values at `paths`, in their order, as a statement with `types` sees them.
    func values(of paths: [[String]], _ types: FieldTypes) throws(StoreError) -> [Values] {
        let names = store.names
        let typed = paths.map { types.path($0, in: names) }
        let shown = paths.map { FieldPath($0, in: names) }
        var found = Array(repeating: Values(), count: paths.count)
        try store.read(keys) { (_, document) throws(StoreError) in
            for number in paths.indices {
                if paths[number] == [Row.idName] {
                    if let id = try Row(document).idValue() { found[number].kinds.insert(id.kind) }
                    continue
                }
                let (value, isHidden) = try onDocument(at: document.position) {
                    () throws(Malformed) in
                    if let value = try typed[number].value(in: document.fields, names) {
                        return (Optional(value), false)
                    }
                    return (nil, try shown[number].value(in: document.fields, names) != nil)
                }
                if let value { found[number].kinds.insert(value.kind) }
                if isHidden { found[number].isHidden = true }
            }
            return true
        }
        return found
    }

    /// Returns the first names of `path` that some document has, and the names that follow them.
    func names(along path: [String]) throws(StoreError) -> (known: [String], next: [String]) {
        var (depth, next): (Int, Set<String>) = (0, [])
        let names = store.names
        try store.read(keys) { (_, document) throws(StoreError) in
            var value = try Row(document).object(FieldTypes(isStrict: false), names)
                .map(Value.object)
            for level in 0..<path.count {
                guard let found = value else { break }
                if level > depth { (depth, next) = (level, []) }
                guard case .object(let object) = found else { break }
                if level == depth { next.formUnion(object.map(\.name)) }
                value = object[path[level]]
            }
            return true
        }
        return (Array(path.prefix(depth)), next.sorted())
    }
}
