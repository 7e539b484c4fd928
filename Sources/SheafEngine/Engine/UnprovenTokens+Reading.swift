import SheafBytes
package import SheafDocument
package import SheafStorage

/// An unproven token: the key of its entry, and the peer that sent it.
package struct UnprovenToken: Sendable {
    package let key: [UInt8]
    /// The key of the peer; empty if a trusted peer marked the token as unproven.
    package let senderKey: [UInt8]
}

extension DocumentSnapshot {
    /// Number of entries for unproven tokens.
    package var unprovenTokenCount: Int { log.tree.count(in: StoreKey.unprovenTokens) }

    package var hasUnprovenTokens: Bool { !log.tree.isEmpty(in: StoreKey.unprovenTokens) }

    /// Returns `ids` except the attachments whose tokens in a document are unproven.
    package func proven(_ ids: Set<AttachmentID>, inDocument key: [UInt8]) -> Set<AttachmentID> {
        guard hasUnprovenTokens else { return ids }
        let hash = UnprovenTokens.hash(ofDocument: key)
        guard !isUnproven(UnprovenTokens.allAttachments, inDocument: hash) else { return [] }
        return ids.filter { !isUnproven($0.bytes, inDocument: hash) }
    }

    /// Returns the attachments that the tokens of a document reference, including hidden tokens.
    package func attachments(referencedBy key: [UInt8]) throws(EngineError) -> Set<AttachmentID> {
        guard let document = try document(key) else { return [] }
        return try onDocument(key) { () throws(Malformed) in
            try document.read { bytes throws(Malformed) in
                try EncodedDocument(bytes).attachments(names)
            }
        }
    }

    private func isUnproven(_ attachment: [UInt8], inDocument hash: [UInt8]) -> Bool {
        let key = UnprovenTokens.key(attachment, inDocument: hash)
        return key.span.withUnsafeBytes { log.recordPointer(of: $0) } != nil
    }

    /// Returns the entry for an attachment in a document; nil if its token is proven.
    package func unprovenToken(
        of attachment: [UInt8], inDocument document: [UInt8]
    ) throws(EngineError) -> UnprovenToken? {
        let key = UnprovenTokens.key(
            attachment, inDocument: UnprovenTokens.hash(ofDocument: document))
        return try onStorage { () throws(StorageError) in
            try key.span.withUnsafeBytes { bytes throws(StorageError) in
                try log.payload(of: bytes).map { UnprovenToken(key: key, senderKey: Array($0)) }
            }
        }
    }

    /// Returns the unproven tokens of an attachment.
    package func unprovenTokens(of id: AttachmentID) throws(EngineError) -> [UnprovenToken] {
        var found: [UnprovenToken] = []
        try log.tree.forEach(in: StoreKey.unprovenTokens(of: id.bytes)) {
            (key, _) throws(EngineError) in
            let payload = try onStorage { () throws(StorageError) in try log.payload(of: key) }
            found.append(
                UnprovenToken(key: Array(key), senderKey: payload.map { Array($0) } ?? []))
            return true
        }
        return found
    }
}

extension DocumentEngine {
    /// Removes the entries of proven tokens, except entries that have changed since.
    package func markProven(
        _ tokens: [UnprovenToken], append: (WriteBatch) throws(StorageError) -> CommitID
    ) throws(EngineError) -> CommitID {
        try write(from: nil, append: append) { (transaction) throws(EngineError) in
            try transaction.removeUnproven(tokens)
        }.0
    }
}

extension DocumentTransaction {
    fileprivate mutating func removeUnproven(_ tokens: [UnprovenToken]) throws(EngineError) {
        for token in tokens
        where try unproven.payload(of: token.key, in: snapshot) == token.senderKey {
            try unproven.remove(token.key, in: snapshot)
        }
    }
}
