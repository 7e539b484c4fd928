import SheafBytes
import SheafDocument
import SheafStorage

/// The hashes that stand for documents in their versions (`format-spec/sync.md`, *Reconciliation*).
///
/// The tree of a store has them as weights, so that the sum over a range of documents, which peers
/// compare, costs a path in the tree.
package struct VersionHasher {
    private let catalog: Catalog
    /// The last used collection, and the hash of its name.
    private var last: (number: UInt16, hash: UInt64)?

    package init(_ catalog: Catalog) {
        self.catalog = catalog
    }

    /// Returns the hash of a document in its version; zero for a tombstone or a remnant.
    package mutating func hash(
        ofState bytes: UnsafeRawBufferPointer, _ key: [UInt8]
    ) throws(EngineError) -> UInt64 {
        let vector = try onDocument(key) { () throws(Malformed) in
            let document = try EncodedDocument(bytes)
            return try document.exists() ? try document.vectorHash() : nil
        }
        guard let vector,
            let number = key.span.withUnsafeBytes({ StoreKey.collection(ofDocument: $0) })
        else { return 0 }
        if last?.number != number {
            last = (number, Self.hash(ofCollection: catalog.collectionName(number) ?? ""))
        }
        return key.span.withUnsafeBytes { (key) -> UInt64 in
            let id = UnsafeRawBufferPointer(rebasing: key[StoreKey.documentPrefixLength...])
            return Self.hash(id: id, collection: last?.hash ?? 0, vector: vector)
        }
    }

    /// Gives the last operation of a batch the hash of the document that it wrote, if any.
    mutating func weigh(
        _ document: StoredDocument?, _ key: [UInt8], in batch: inout WriteBatch
    ) throws(EngineError) {
        guard let document else { return }
        let version = try document.read { (bytes) throws(EngineError) in
            try hash(ofState: bytes, key)
        }
        batch.weigh(version)
    }

    /// Returns the hash of a document in a version, which is never zero.
    package static func hash(
        id: UnsafeRawBufferPointer, collection: UInt64, vector: UInt64
    ) -> UInt64 {
        max(XXH3.hash64(id, seed: collection ^ vector), 1)
    }

    /// Returns the hash of the name of a collection.
    package static func hash(ofCollection name: String) -> UInt64 {
        var name = name
        return name.withUTF8 { XXH3.hash64(UnsafeRawBufferPointer($0)) }
    }
}
