import SheafBytes
import SheafDocument
import SheafStorage

/// The indexes of all collections.
extension Catalog {
    /// Reads the index definitions of a snapshot.
    mutating func readIndexes(of snapshot: LogSnapshot) throws(EngineError) {
        try snapshot.tree.forEach(in: StoreKey.indexes) { (key, value) throws(EngineError) in
            guard case .index(let collection, let number)? = StoreKey(key) else { return true }
            let payload = try onStorage { () throws(StorageError) in
                try snapshot.payload(of: key)
            }
            guard let payload else { return true }
            let definition = try onDocument(Array(key)) { () throws(Malformed) in
                try IndexDefinition(collection: collection, number: number, decoding: payload)
            }
            guard indexes[collection]?.contains(where: { $0.isNamed(definition.name) }) != true
            else { throw .damaged(key: Array(key), .invalid("a duplicate index", at: 0)) }
            add(definition)
            return true
        }
    }

    /// Returns the catalog with the indexes of an earlier snapshot.
    ///
    /// Names and collections are only added, so later ones do no harm.
    func withIndexes(of snapshot: LogSnapshot) throws(EngineError) -> Catalog {
        var catalog = self
        catalog.indexes = [:]
        try catalog.readIndexes(of: snapshot)
        return catalog
    }

    /// Returns the index of a collection with this name; nil if there is none.
    package func index(_ name: String, onCollection collection: String) -> IndexDefinition? {
        number(ofCollection: collection).flatMap { indexes[$0] }?.first { $0.isNamed(name) }
    }

    /// Returns a new index with a free number; adds the collection if it does not exist.
    mutating func newIndex(
        _ name: String, on collection: String, _ fields: [IndexDefinition.Field]
    ) throws(EngineError) -> IndexDefinition {
        try Self.check(name, fields)
        let collection =
            if let known = self.number(ofCollection: collection) {
                known
            } else {
                try add(collection: collection)
            }
        let others = indexes[collection] ?? []
        guard others.count < IndexDefinition.maximumIndexes else {
            throw .limit(
                name: "maximumIndexes", value: others.count + 1,
                limit: IndexDefinition.maximumIndexes)
        }
        var number: UInt16 = 0
        while others.contains(where: { $0.number == number }) { number += 1 }
        let definition = IndexDefinition(
            collection: collection, number: number, name: name, fields: fields)
        let length = definition.payload.count
        guard length <= IndexDefinition.maximumLength else {
            throw .limit(
                name: "maximumIndexDefinitionLength", value: length,
                limit: IndexDefinition.maximumLength)
        }
        return definition
    }

    /// Adds an index; the indexes of a collection stay sorted by number.
    package mutating func add(_ definition: IndexDefinition) {
        indexes[definition.collection, default: []].append(definition)
        indexes[definition.collection]?.sort { $0.number < $1.number }
    }

    /// Removes the index with the number of `definition`.
    mutating func remove(_ definition: IndexDefinition) {
        let others = (indexes[definition.collection] ?? []).filter {
            $0.number != definition.number
        }
        indexes[definition.collection] = others.isEmpty ? nil : others
    }

    private static func check(
        _ name: String, _ fields: [IndexDefinition.Field]
    ) throws(EngineError) {
        func check(_ limited: String, _ value: Int, _ limit: Int) throws(EngineError) {
            guard value <= limit else { throw .limit(name: limited, value: value, limit: limit) }
        }
        guard !name.isEmpty else { throw .invalidIndex("an index name must not be empty") }
        try check("maximumIndexNameLength", name.utf8.count, IndexDefinition.maximumNameLength)
        guard !fields.isEmpty else {
            throw .invalidIndex("the index \(name.shortened) has no fields")
        }
        try check("maximumIndexFields", fields.count, IndexDefinition.maximumFields)
        for field in fields {
            guard !field.path.isEmpty else {
                throw .invalidIndex("the index \(name.shortened) has a field without a path")
            }
            try check(
                "maximumIndexPathLength", field.path.count, IndexDefinition.maximumPathLength)
        }
    }
}

extension IndexDefinition {
    /// Whether the name has the same bytes as another one; Unicode equivalence is not enough.
    fileprivate func isNamed(_ other: String) -> Bool { name.utf8.elementsEqual(other.utf8) }

    /// Returns the index as created by a commit.
    func created(by commit: CommitID) -> IndexDefinition {
        IndexDefinition(
            collection: collection, number: number, name: name, fields: fields, since: commit)
    }
}
