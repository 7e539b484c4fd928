import SheafBytes
import SheafDocument
package import SheafEngine
package import SheafReplication

/// Checksums of the documents of a store, which do not depend on its history.
///
/// Two stores with the same documents have the same checksum of contents. If the documents also
/// have the same writes and types, so that they merge alike, the checksums of states are equal.
package struct StoreChecksum {
    /// The checksums of a collection, or of all collections.
    package struct Part: Equatable, Sendable {
        /// Number of documents, and of tombstones.
        package private(set) var documentCount = 0
        package private(set) var tombstoneCount = 0
        /// The visible fields of all documents, with the types of numbers and bytes.
        package private(set) var contents = ChecksumSum()
        /// The states of all documents and tombstones; zero unless requested.
        package private(set) var states = ChecksumSum()

        mutating func add(document: ChecksumSum) {
            documentCount += 1
            contents.add(document)
        }

        mutating func addTombstone() { tombstoneCount += 1 }

        mutating func add(state: ChecksumSum) { states.add(state) }

        mutating func add(_ other: Part) {
            documentCount += other.documentCount
            tombstoneCount += other.tombstoneCount
            contents.add(other.contents)
            states.add(other.states)
        }
    }

    /// The collections that have documents or tombstones, sorted by name.
    package private(set) var collections: [(name: String, part: Part)] = []
    /// All collections together.
    package private(set) var total = Part()

    /// Computes the checksums of a snapshot.
    package init(
        of snapshot: DocumentSnapshot, withStates: Bool
    ) throws(EngineError) {
        for name in RowSource.collections(of: snapshot) {
            var part = Part()
            try snapshot.forEachDocument(of: name) { (key, document) throws(EngineError) in
                try onDocument(key) { () throws(Malformed) in
                    try document.read { (bytes) throws(Malformed) in
                        let id = key[StoreKey.documentPrefixLength...]
                        try part.add(
                            try EncodedDocument(bytes), name, id, snapshot.names, withStates)
                    }
                }
                return true
            }
            guard part != Part() else { continue }
            collections.append((name, part))
            total.add(part)
        }
    }
}

extension StoreChecksum.Part {
    fileprivate mutating func add(
        _ document: EncodedDocument, _ collection: String, _ id: ArraySlice<UInt8>,
        _ names: NameTable, _ withStates: Bool
    ) throws(Malformed) {
        guard !document.isRemnant else { return }
        if let value = try document.value(names) {
            add(
                document: ChecksumSum(
                    collection, id, EntryWriter.bytes(of: .object(value))))
        } else {
            addTombstone()
        }
        guard withStates else { return }
        add(state: ChecksumSum(collection, id, try document.spelled(names)))
    }
}
