package import SheafDocument
package import SheafEngine
package import SheafStorage

/// A document whose tokens reference attachments.
package struct FileReference: Sendable {
    /// The key of the document.
    package let key: [UInt8]
    package let ids: Set<AttachmentID>
    /// Attachments whose tokens a peer with limited rights has sent here, and had not proven then.
    package let unproven: Set<AttachmentID>
    /// Whether all its commits came from the hub log, as far as known.
    package let isReceived: Bool
}

/// The attachments that documents reference, for a hub that keeps their files.
extension DocumentSnapshot {
    /// Returns the documents with tokens that commits after one have changed.
    ///
    /// Without a commit, or if later ones were compacted and are not known one by one, it returns
    /// all documents with tokens.
    package func fileReferences(
        after commit: CommitID?
    ) throws(EngineError) -> [FileReference] {
        var found: [FileReference] = []
        guard let commit, commit >= log.compactedThrough else {
            try forEachReferencing(nil) { (key, _, ids) throws(EngineError) in
                found.append(try reference(key, ids, [], isReceived: true))
                return true
            }
            return found
        }
        guard commit < log.commit else { return [] }
        var areReceived: [[UInt8]: Bool] = [:]
        // Tokens may be proven meanwhile, after the documents were appended to the log.
        var written: Set<[UInt8]> = []
        try forEachCommit(in: (commit + 1)...log.commit) { (operations, _) throws(EngineError) in
            let isReceived = operations.contains { logged in
                if case .storedShard? = StoreKey(logged.operation.key) { true } else { false }
            }
            for logged in operations {
                let operation = logged.operation
                guard operation.kind != .remove else { continue }
                switch StoreKey(operation.key) {
                case .document?:
                    guard try mayReferenceAttachments(operation.payload, operation.key) else {
                        continue
                    }
                    let key = Array(operation.key)
                    areReceived[key] = isReceived && areReceived[key] ?? true
                case .unprovenToken?:
                    if !operation.payload.isEmpty { written.insert(Array(operation.key)) }
                default: break
                }
            }
        }
        for (key, isReceived) in areReceived {
            let ids = try attachments(referencedBy: key)
            guard !ids.isEmpty else { continue }
            found.append(try reference(key, ids, written, isReceived: isReceived))
        }
        return found
    }

    private func reference(
        _ key: [UInt8], _ ids: Set<AttachmentID>, _ written: Set<[UInt8]>, isReceived: Bool
    ) throws(EngineError) -> FileReference {
        var unproven: Set<AttachmentID> = []
        if hasUnprovenTokens || !written.isEmpty {
            for id in ids {
                let token = try unprovenToken(of: id.bytes, inDocument: key)
                let entry = UnprovenTokens.key(
                    id.bytes, inDocument: UnprovenTokens.hash(ofDocument: key))
                if token?.senderKey.isEmpty == false || written.contains(entry) {
                    unproven.insert(id)
                }
            }
        }
        return FileReference(key: key, ids: ids, unproven: unproven, isReceived: isReceived)
    }
}
