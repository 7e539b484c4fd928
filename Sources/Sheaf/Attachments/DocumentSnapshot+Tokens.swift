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
        let keys = StoreKey.documents
        try log.tree.forEach(in: keys) { (key, value) throws(EngineError) in
            guard let place = Place(value) else { return true }
            if try mayNameAttachments(at: place, key) {
                try noteTokens(of: Array(key), wanted, &found)
            }
            // More than all cannot be found.
            return found.count < wanted.count
        }
        return found
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

    private func noteTokens(
        of key: [UInt8], _ wanted: Set<AttachmentID>, _ found: inout Set<AttachmentID>
    ) throws(EngineError) {
        guard let document = try document(key) else { return }
        let tokens = try onDocument(key) { () throws(Malformed) in
            try document.read { bytes throws(Malformed) in
                var tokens: [Value] = []
                try EncodedDocument(bytes).forEachToken(names) { tokens.append($0) }
                return tokens
            }
        }
        for token in tokens {
            if let id = AttachmentToken.id(of: token), wanted.contains(id) { found.insert(id) }
        }
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
