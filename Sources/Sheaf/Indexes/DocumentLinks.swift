import SheafBytes
import SheafDocument
import SheafStorage

/// The keys that lead to documents: one in each index of their collection.
struct DocumentLinks {
    private let names: NameTable
    private let indexes: [UInt16: [IndexDefinition]]
    /// Made with the first document of a collection.
    private var makers: [UInt16: [IndexKeyMaker]] = [:]

    init(_ indexes: [UInt16: [IndexDefinition]], _ names: NameTable) {
        self.indexes = indexes
        self.names = names
    }

    /// The keys that lead to a document, index by index; none where it does not exist.
    mutating func keys(
        of document: StoredDocument?, _ key: [UInt8]
    ) throws(EngineError) -> [[UInt8]] {
        guard !indexes.isEmpty, let document,
            case .document(let collection, let id)? = key.withUnsafeBytes({ StoreKey($0) })
        else { return [] }
        let makers = makers(of: collection)
        guard !makers.isEmpty else { return [] }
        let names = names
        return try onDocument(key) { () throws(Malformed) in
            try document.read { bytes throws(Malformed) in
                let document = try EncodedDocument(bytes)
                guard try document.exists() else { return [] }
                return try makers.map { (maker) throws(Malformed) in
                    try maker.key(of: document, id: id, names)
                }
            }
        }
    }

    private mutating func makers(of collection: UInt16) -> [IndexKeyMaker] {
        if let known = makers[collection] { return known }
        let made = (indexes[collection] ?? []).map { IndexKeyMaker($0, names) }
        makers[collection] = made
        return made
    }

    /// Links all documents of the collections as they stand in a snapshot.
    mutating func linkAll(
        in snapshot: DocumentSnapshot, _ changes: inout LinkChanges
    ) throws(EngineError) {
        for collection in indexes.keys.sorted() {
            try snapshot.log.tree.forEach(in: StoreKey.documents(of: collection)) {
                (key, value) throws(EngineError) in
                guard let place = Place(value) else { return true }
                try link(Array(key), at: place, in: snapshot, &changes)
                return true
            }
        }
    }

    /// Links a document as it stands in a snapshot.
    mutating func link(
        _ key: [UInt8], at place: Place, in snapshot: DocumentSnapshot,
        _ changes: inout LinkChanges
    ) throws(EngineError) {
        let links = try keys(of: try snapshot.document(key), key)
        try onStorage { () throws(StorageError) in
            for link in links { try changes.link(link, to: place) }
        }
    }
}
