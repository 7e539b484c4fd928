import SheafBytes
import SheafDocument
package import SheafStorage

/// Checks every document of a store against the format, as checksums cannot.
package struct DocumentVerifier {
    /// A payload that is not what the format says.
    package struct Finding: Equatable, Sendable {
        /// The operation that has it.
        package let position: LogPosition
        package let reason: String
    }

    package private(set) var findings: [Finding] = []
    /// Documents, and what is left of those that were deleted.
    package private(set) var documentCount = 0
    package private(set) var tombstoneCount = 0

    private let snapshot: LogSnapshot

    /// Checks all documents; nothing where the store holds none, but something else.
    package static func verify(
        _ snapshot: LogSnapshot
    ) throws(EngineError) -> DocumentVerifier? {
        let site = StoreKey.site.bytes.span.withUnsafeBytes { snapshot.place(of: $0) }
        guard site != nil else { return nil }
        var verifier = DocumentVerifier(snapshot: snapshot)
        let directory: Directory
        do throws(EngineError) { directory = try Directory(snapshot) } catch {
            guard case .damaged(let key, let reason) = error else { throw error }
            let place = key.span.withUnsafeBytes { snapshot.place(of: $0) }
            verifier.findings.append(
                Finding(position: place?.position ?? .none, reason: "\(reason)"))
            return verifier
        }
        try snapshot.tree.forEach(in: snapshot.keys) { (key, _) throws(EngineError) in
            try verifier.check(key, directory)
            return true
        }
        return verifier
    }

    private init(snapshot: LogSnapshot) {
        self.snapshot = snapshot
    }

    private mutating func check(
        _ key: UnsafeRawBufferPointer, _ directory: Directory
    ) throws(EngineError) {
        let operations = try onStorage { () throws(StorageError) in
            try snapshot.operations(of: key)
        }
        guard let newest = operations.first else { return }
        do throws(Malformed) {
            guard let stored = StoreKey(key) else {
                throw .invalid("a key that means nothing", at: 0)
            }
            guard case .document(let collection, let id) = stored else { return }
            guard directory.collections.indices.contains(Int(collection)) else {
                throw .invalid("a collection without a name", at: 1)
            }
            _ = try DocumentID.id(of: id)
            for logged in operations {
                let payload = try DocumentPayload(logged.operation.payload)
                try payload.state?.validate(directory.names)
                try payload.delta?.validate(directory.names)
            }
            let document = try StoredDocument(operations, in: snapshot, directory.names)
            let exists = try document?.read { bytes throws(Malformed) in
                try EncodedDocument(bytes).exists()
            }
            if exists == true { documentCount += 1 } else { tombstoneCount += 1 }
        } catch {
            findings.append(
                Finding(
                    position: newest.position,
                    reason: "the operation at \(newest.position) holds no document: \(error)"))
        }
    }
}
