import SheafBytes
package import SheafDocument
import SheafStorage

extension DocumentSnapshot {
    /// Returns the attachments among `wanted` that documents of this snapshot reference.
    ///
    /// Tokens count, including hidden ones, and so do objects that look like tokens. Throws if a
    /// document cannot be read, because its references are unknown then.
    package func referencedAttachments(
        among wanted: Set<AttachmentID>
    ) throws(EngineError) -> Set<AttachmentID> {
        var found = Set<AttachmentID>()
        try forEachReferencing(wanted, inPlainObjects: true) { _, _, named in
            found.formUnion(named)
            // The scan ends when all have been found.
            return found.count < wanted.count
        }
        return found
    }

    /// Calls `body` with each document that references any of `wanted`, until it returns false.
    ///
    /// Without `wanted`, it calls `body` with each document that references attachments.
    /// With `inPlainObjects`, objects that look like tokens count too: older versions wrote such
    /// objects.
    package func forEachReferencing(
        _ wanted: Set<AttachmentID>?, inPlainObjects: Bool = false,
        _ body: (_ key: [UInt8], StoredDocument, Set<AttachmentID>) throws(EngineError) -> Bool
    ) throws(EngineError) {
        try log.tree.forEach(in: StoreKey.documents) { (key, value) throws(EngineError) in
            guard let found = try references(wanted, key, value, inPlainObjects) else {
                return true
            }
            return try body(Array(key), found.document, found.named)
        }
    }

    /// Calls `body` with each readable document that references any of `wanted`, until it returns
    /// false; returns whether documents were not readable.
    package func forEachReadable(
        referencing wanted: Set<AttachmentID>,
        _ body: (_ key: [UInt8], StoredDocument, Set<AttachmentID>) -> Bool
    ) -> Bool {
        var isIncomplete = false
        log.tree.forEach(in: StoreKey.documents) { key, value in
            do throws(EngineError) {
                guard let found = try references(wanted, key, value, false) else { return true }
                return body(Array(key), found.document, found.named)
            } catch {
                isIncomplete = true
                return true
            }
        }
        return isIncomplete
    }

    private func references(
        _ wanted: Set<AttachmentID>?, _ key: UnsafeRawBufferPointer,
        _ value: BTreeValue, _ inPlainObjects: Bool
    ) throws(EngineError) -> (document: StoredDocument, named: Set<AttachmentID>)? {
        guard let pointer = RecordPointer(value),
            try mayReferenceAttachments(at: pointer, key, inPlainObjects)
        else { return nil }
        let key = Array(key)
        guard let document = try document(key) else { return nil }
        let all = try attachments(referencedBy: document, key, inPlainObjects)
        let named = wanted.map { all.intersection($0) } ?? all
        return named.isEmpty ? nil : (document, named)
    }

    /// Returns a document and the attachments among `wanted` that it references.
    ///
    /// Returns nil if it references none of them.
    package func references(
        in key: [UInt8], among wanted: Set<AttachmentID>
    ) throws(EngineError) -> (StoredDocument, Set<AttachmentID>)? {
        guard let document = try document(key) else { return nil }
        let named = try attachments(referencedBy: document, key, false).intersection(wanted)
        return named.isEmpty ? nil : (document, named)
    }

    /// Whether any operation of a document has tokens; the operations are not joined for that.
    private func mayReferenceAttachments(
        at pointer: RecordPointer, _ key: UnsafeRawBufferPointer, _ inPlainObjects: Bool
    ) throws(EngineError) -> Bool {
        // Most documents are one operation, so the operations are not collected in an array.
        var outcome = Result<Bool, EngineError>.success(false)
        try onStorage { () throws(StorageError) in
            try log.forEachOperation(of: key, at: pointer) { logged in
                guard case .success(false) = outcome else { return }
                outcome = Result { () throws(EngineError) in
                    try mayReferenceAttachments(logged.operation.payload, key, inPlainObjects)
                }
            }
        }
        return try outcome.get()
    }

    /// Whether the payload of an operation on a document has tokens.
    package func mayReferenceAttachments(
        _ bytes: UnsafeRawBufferPointer, _ key: UnsafeRawBufferPointer,
        _ inPlainObjects: Bool = false
    ) throws(EngineError) -> Bool {
        if inPlainObjects, AttachmentTexts.isAny(in: bytes) { return true }
        do throws(Malformed) {
            let payload = try DocumentPayload(bytes)
            if let state = payload.state { return try state.hasTokens() }
            return try payload.delta?.hasTokens() ?? false
        } catch {
            throw .damaged(key: Array(key), error)
        }
    }

    private func attachments(
        referencedBy document: StoredDocument, _ key: [UInt8], _ inPlainObjects: Bool
    ) throws(EngineError) -> Set<AttachmentID> {
        try onDocument(key) { () throws(Malformed) in
            try document.read { bytes throws(Malformed) in
                let document = try EncodedDocument(bytes)
                var found = try document.attachments(names)
                guard inPlainObjects else { return found }
                try document.forEachPlainID(names) { text in
                    if let id = AttachmentID(text) { found.insert(id) }
                }
                return found
            }
        }
    }
}

extension AttachmentToken {
    /// Returns the attachment id in a value, even if the value is not a valid token.
    package static func id(of value: Value) -> AttachmentID? {
        guard case .object(let object) = value, case .string(let text)? = object["id"] else {
            return nil
        }
        return AttachmentID(text)
    }
}
