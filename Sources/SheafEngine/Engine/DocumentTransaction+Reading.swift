import SheafBytes
import SheafDocument
import SheafStorage

extension DocumentTransaction {
    /// Returns a document or its tombstone from the snapshot; nil if there is neither.
    func storedDocument(_ key: DocumentKey) throws(EngineError) -> StoredDocument? {
        let pointer = key.bytes.span.withUnsafeBytes { snapshot.recordPointer(of: $0) }
        guard let pointer else { return nil }
        if !pointer.isDelta {
            let put = try? key.bytes.span.withUnsafeBytes { key throws(StorageError) in
                try snapshot.operation(of: key, at: pointer)
            }
            if let put, let document = try? StoredDocument(put, in: snapshot) { return document }
        }
        // This also reports damage.
        return try DocumentSnapshot(snapshot, catalog).document(key.bytes)
    }
}
