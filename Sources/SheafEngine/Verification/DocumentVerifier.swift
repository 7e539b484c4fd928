import SheafBytes
import SheafDocument
package import SheafStorage

/// Verification of every document of a store against the format, beyond its checksums.
package struct DocumentVerifier {
    /// A violation of the format, or an incorrect index entry.
    package struct Finding: Equatable, Sendable {
        /// The position of the operation concerned.
        package let position: LogPosition
        package let reason: String
    }

    package private(set) var findings: [Finding] = []
    /// Number of existing documents.
    package private(set) var documentCount = 0
    package private(set) var tombstoneCount = 0

    private let snapshot: LogSnapshot

    /// Verifies all documents and index entries; returns nil if the log has no site record.
    package static func verify(
        _ snapshot: LogSnapshot
    ) throws(EngineError) -> DocumentVerifier? {
        let site = StoreKey.site.bytes.span.withUnsafeBytes { snapshot.recordPointer(of: $0) }
        guard site != nil else { return nil }
        var verifier = DocumentVerifier(snapshot: snapshot)
        let catalog: Catalog
        do throws(EngineError) { catalog = try Catalog(snapshot) } catch {
            guard case .damaged(let key, let reason) = error else { throw error }
            let pointer = key.span.withUnsafeBytes { snapshot.recordPointer(of: $0) }
            verifier.findings.append(
                Finding(position: pointer?.position ?? .none, reason: "\(reason)"))
            return verifier
        }
        var hasher = VersionHasher(catalog)
        try snapshot.tree.forEach(in: snapshot.keys) { (key, value) throws(EngineError) in
            try verifier.check(key, catalog)
            if verifier.findings.isEmpty, let weight = value.weight {
                try verifier.check(weight, of: Array(key), &hasher, catalog)
            }
            return true
        }
        // Index findings mean nothing if documents are damaged.
        guard verifier.findings.isEmpty else { return verifier }
        let indexes = try IndexVerifier.verify(DocumentSnapshot(snapshot, catalog))
        verifier.findings = indexes.findings
        return verifier
    }

    private init(snapshot: LogSnapshot) {
        self.snapshot = snapshot
    }

    private mutating func check(
        _ key: UnsafeRawBufferPointer, _ catalog: Catalog
    ) throws(EngineError) {
        let snapshot = snapshot
        let newest = snapshot.recordPointer(of: key)?.position ?? .none
        var rules: ChainRules?
        let isKnown = runCheck(at: newest) { () throws(Malformed) in
            rules = try ChainRules(of: key, catalog, compactedThrough: snapshot.compactedThrough)
        }
        guard isKnown, var rules else { return }
        var history = snapshot.history(of: key)
        var oldest = newest
        while let logged = try onStorage({ () throws(StorageError) in try history.next() }) {
            oldest = logged.position
            let isRight = runCheck(at: oldest) { () throws(Malformed) in try rules.check(logged) }
            guard isRight else { return }
        }
        guard runCheck(at: oldest, { () throws(Malformed) in try rules.finish() }) else { return }
        guard case .document = StoreKey(key) else { return }
        try count(key, at: newest, catalog.names)
    }

    /// Checks the version of a document in the tree.
    private mutating func check(
        _ weight: UInt64, of key: [UInt8], _ hasher: inout VersionHasher, _ catalog: Catalog
    ) throws(EngineError) {
        let document = try DocumentSnapshot(snapshot, catalog).document(key)
        let version = try document.map { (document) throws(EngineError) in
            try hasher.hash(of: document, key)
        }
        guard version != weight else { return }
        let position =
            key.span.withUnsafeBytes { snapshot.recordPointer(of: $0) }?.position ?? .none
        findings.append(
            Finding(
                position: position,
                reason: "the tree has another version of the document at \(position)"))
    }

    /// Joins the operations of a document and counts it.
    private mutating func count(
        _ key: UnsafeRawBufferPointer, at position: LogPosition, _ names: NameTable
    ) throws(EngineError) {
        let snapshot = snapshot
        let operations = try onStorage { () throws(StorageError) in
            try snapshot.operations(of: key)
        }
        var exists = false
        let isRight = runCheck(at: position) { () throws(Malformed) in
            let document = try StoredDocument(operations, in: snapshot, names)
            exists =
                try document?.read { bytes throws(Malformed) in
                    try EncodedDocument(bytes).exists()
                } ?? false
        }
        guard isRight else { return }
        if exists { documentCount += 1 } else { tombstoneCount += 1 }
    }

    /// Runs a check and records its error as a finding; returns whether it passed.
    private mutating func runCheck(
        at position: LogPosition, _ check: () throws(Malformed) -> Void
    ) -> Bool {
        do throws(Malformed) {
            try check()
            return true
        } catch {
            findings.append(
                Finding(
                    position: position,
                    reason: "the operation at \(position) violates the format: \(error)"))
            return false
        }
    }
}
