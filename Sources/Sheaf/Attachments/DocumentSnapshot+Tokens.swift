import SheafBytes
import SheafDocument
import SheafStorage

extension DocumentSnapshot {
    /// Which of some attachments any document of this state names, be it in a token that nobody sees.
    ///
    /// It throws where a document cannot be read: nobody knows what that one names.
    package func named(
        of wanted: Set<AttachmentID>
    ) throws(EngineError) -> Set<AttachmentID> {
        var found = Set<AttachmentID>()
        try forEachNaming(wanted) { _, _, named in
            found.formUnion(named)
            // More than all cannot be found.
            return found.count < wanted.count
        }
        return found
    }

    /// Calls `body` with each document that names some attachments, and which of them it names, until
    /// that returns false.
    func forEachNaming(
        _ wanted: Set<AttachmentID>,
        _ body: (_ key: [UInt8], StoredDocument, Set<AttachmentID>) throws(EngineError) -> Bool
    ) throws(EngineError) {
        let keys = StoreKey.documents
        try log.tree.forEach(in: keys) { (key, value) throws(EngineError) in
            guard let place = Place(value), try mayNameAttachments(at: place, key) else {
                return true
            }
            let key = Array(key)
            guard let document = try document(key) else { return true }
            let named = try tokens(of: document, key, wanted)
            return named.isEmpty ? true : try body(key, document, named)
        }
    }

    /// Whether the operations of a document have tokens: they are looked at one by one, and not joined.
    private func mayNameAttachments(
        at place: Place, _ key: UnsafeRawBufferPointer
    ) throws(EngineError) -> Bool {
        if !place.isExtension {
            let operation = try onStorage { () throws(StorageError) in
                try log.operation(of: key, at: place)
            }
            return try hasTokens(operation.payload, key)
        }
        let operations = try onStorage { () throws(StorageError) in
            try log.operations(of: key, at: place)
        }
        for logged in operations {
            if try hasTokens(logged.operation.payload, key) { return true }
        }
        return false
    }

    private func hasTokens(
        _ bytes: UnsafeRawBufferPointer, _ key: UnsafeRawBufferPointer
    ) throws(EngineError) -> Bool {
        do throws(Malformed) {
            let payload = try DocumentPayload(bytes)
            if let state = payload.state { return try state.hasTokens() }
            return try payload.delta?.hasTokens() ?? false
        } catch {
            throw .damaged(key: Array(key), error)
        }
    }

    private func tokens(
        of document: StoredDocument, _ key: [UInt8], _ wanted: Set<AttachmentID>
    ) throws(EngineError) -> Set<AttachmentID> {
        let tokens = try onDocument(key) { () throws(Malformed) in
            try document.read { bytes throws(Malformed) in
                var tokens: [Value] = []
                try EncodedDocument(bytes).forEachToken(names) { tokens.append($0) }
                return tokens
            }
        }
        return wanted.intersection(tokens.compactMap { AttachmentToken.id(of: $0) })
    }
}

extension AttachmentToken {
    /// The attachment that a value names, be the rest of it right or wrong.
    static func id(of value: Value) -> AttachmentID? {
        guard case .object(let object) = value, case .string(let text)? = object["id"] else {
            return nil
        }
        return AttachmentID(text)
    }
}
