import SheafBytes
package import SheafDocument
package import SheafStorage

/// The catalog of a store: collections, indexes, and the numbers of field names.
///
/// Names and collections are never removed. New ones are written with the first commit that may use
/// them.
package struct Catalog: Sendable {
    private struct Contents: Sendable {
        var names = NameTable()
        var collections: [String] = []
        var collectionNumbers: [[UInt8]: UInt16] = [:]
        var descriptions: [CollectionDescription] = []
        var indexes: [UInt16: [IndexDefinition]] = [:]
    }

    /// One element always, so that copying the catalog retains one reference instead of five.
    private var contents = [Contents()]

    package var names: NameTable { contents[0].names }
    package var collections: [String] { contents[0].collections }
    /// The collections as the query planner sees them, without properties that vary by snapshot.
    package var descriptions: [CollectionDescription] { contents[0].descriptions }
    /// The indexes of each collection that has any, sorted by number.
    package internal(set) var indexes: [UInt16: [IndexDefinition]] {
        get { contents[0].indexes }
        _modify { yield &contents[0].indexes }
    }

    package static let maximumCollections = 1 << 16
    package static let maximumCollectionNameLength =
        DocumentAddress.maximumCollectionLength
    private static let comparedCount = 8

    package init() {}

    /// Reads the catalog of a snapshot.
    package init(_ snapshot: LogSnapshot) throws(EngineError) {
        try Self.read(StoreKey.names, of: snapshot) { (number, name) throws(EngineError) in
            guard let added = contents[0].names.add(name), Int(added) == number else {
                throw .damaged(
                    key: StoreKey.name(UInt16(number)).bytes, .invalid("a duplicate name", at: 0))
            }
        }
        try Self.read(StoreKey.collections, of: snapshot) { (number, name) throws(EngineError) in
            guard collections.count == number, contents[0].collectionNumbers[name] == nil else {
                throw .damaged(
                    key: StoreKey.collection(UInt16(number)).bytes,
                    .invalid("a duplicate collection", at: 0))
            }
            append(collection: name)
        }
        try readIndexes(of: snapshot)
    }

    private static func read(
        _ range: KeyRange, of snapshot: LogSnapshot,
        _ body: (_ number: Int, _ name: [UInt8]) throws(EngineError) -> Void
    ) throws(EngineError) {
        try snapshot.tree.forEach(in: range) { (key, value) throws(EngineError) in
            guard let stored = StoreKey(key) else { return true }
            let number: Int
            switch stored {
            case .name(let found), .collection(let found): number = Int(found)
            default: return true
            }
            let payload = try onStorage { () throws(StorageError) in
                try snapshot.payload(of: key)
            }
            guard let payload else { return true }
            // Repairing invalid UTF-8 would produce a different name.
            guard String(validating: payload, as: UTF8.self) != nil else {
                throw .damaged(key: Array(key), .notText(at: 0))
            }
            try body(number, Array(payload))
            return true
        }
    }

    /// Returns the number of a collection; nil if the collection does not exist.
    package func number(ofCollection name: String) -> UInt16? {
        // For a few collections, comparing is faster than hashing.
        guard collections.count > Self.comparedCount else {
            return collections.firstIndex { UTF8Order.compare($0, name) == 0 }.map(UInt16.init)
        }
        return contents[0].collectionNumbers[Array(name.utf8)]
    }

    /// Returns the name of a collection; nil if the number is not in use.
    package func collectionName(_ number: UInt16) -> String? {
        collections.indices.contains(Int(number)) ? collections[Int(number)] : nil
    }

    /// Adds a collection with the next number.
    package mutating func add(collection name: String) throws(EngineError) -> UInt16 {
        let bytes = Array(name.utf8)
        guard !bytes.isEmpty, bytes.count <= Self.maximumCollectionNameLength else {
            throw .invalidCollection(name)
        }
        guard collections.count < Self.maximumCollections else {
            throw .limit(
                name: "maximumCollections", value: collections.count + 1,
                limit: Self.maximumCollections)
        }
        append(collection: bytes)
        return UInt16(collections.count - 1)
    }

    private mutating func append(collection name: [UInt8]) {
        contents[0].collectionNumbers[name] = UInt16(collections.count)
        let (number, text) = (UInt16(collections.count), String(decoding: name, as: UTF8.self))
        contents[0].collections.append(text)
        contents[0].descriptions.append(
            CollectionDescription(
                name: text, keyPrefix: StoreKey.document(collection: number, id: []).bytes,
                indexes: [], tombstones: TombstoneEntry.range(of: number),
                hasPendingChanges: false))
    }

    /// Assigns the next number to a field name, unless `NameTable.add` refuses it.
    package mutating func add(name: [UInt8]) {
        _ = contents[0].names.add(name)
    }

    /// Adopts the name numbers of another catalog if it has more of them.
    package mutating func adoptNames(of other: Catalog) {
        guard other.names.count > names.count else { return }
        contents[0].names = other.names
    }
}
