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
    mutating func hash(
        ofState bytes: UnsafeRawBufferPointer, _ key: UnsafeRawBufferPointer
    ) throws(EngineError) -> UInt64 {
        let vector: UInt64?
        do throws(Malformed) {
            let document = try EncodedDocument(bytes)
            vector = try document.exists() ? try document.vectorHash() : nil
        } catch {
            throw .damaged(key: Array(key), error)
        }
        guard let vector, let number = StoreKey.collection(ofDocument: key) else { return 0 }
        if last?.number != number {
            last = (number, Self.hash(ofCollection: catalog.collectionName(number) ?? ""))
        }
        let id = UnsafeRawBufferPointer(rebasing: key[StoreKey.documentPrefixLength...])
        return Self.hash(id: id, collection: last?.hash ?? 0, vector: vector)
    }

    /// Returns the hash of a document in its version; zero for a tombstone or a remnant.
    package mutating func hash(
        of document: borrowing StoredDocument, _ key: [UInt8]
    ) throws(EngineError) -> UInt64 {
        try document.read { (bytes) throws(EngineError) in
            try key.span.withUnsafeBytes { (key) throws(EngineError) in
                try hash(ofState: bytes, key)
            }
        }
    }

    /// Gives the last operation of a batch the hash of the document that it wrote, if any.
    mutating func weigh(
        _ document: StoredDocument?, _ key: [UInt8], in batch: inout WriteBatch
    ) throws(EngineError) {
        guard let document else { return }
        batch.weigh(try hash(of: document, key))
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
