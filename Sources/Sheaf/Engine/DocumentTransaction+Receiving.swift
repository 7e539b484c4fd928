import SheafBytes
import SheafDocument
import SheafSync

extension DocumentTransaction {
    /// What became of a document that a peer has sent.
    enum Reception {
        /// It is here now.
        case taken
        /// The same, and there is something in it that the peer has not seen; how it was before.
        case known(before: StoredDocument?)
        /// It stands on what is not here: the whole document is needed.
        case gap
    }

    /// Joins what a peer has sent of a document.
    mutating func receive(_ shipped: ShippedDocument) throws(EngineError) -> Reception {
        let id: Value
        let seen: VersionVector
        do throws(Malformed) {
            id = try DocumentID.id(of: shipped.id)
            seen = try shipped.bytes.span.withUnsafeBytes { (bytes) throws(Malformed) in
                let document = try EncodedDocument(bytes)
                guard document.isPartial == (shipped.form == .delta) else {
                    throw .invalid("a document of another form than it was said to have", at: 0)
                }
                return try document.vector()
            }
        } catch {
            throw .received(error)
        }
        let key = try Self.keyBytes(of: id)
        // An id that is spelled in two ways would be two documents on one side, and one on another.
        guard key == shipped.id else {
            throw .received(.invalid("an id that is not spelled as keys are", at: 0))
        }
        let change = DocumentChange(shipped.collection, id, .join(shipped.bytes))
        do throws(EngineError) {
            _ = try apply(change)
        } catch {
            if case .gap = error { return .gap }
            throw error
        }
        guard let (own, before) = try state(of: key, in: shipped.collection), !seen.covers(own) else {
            return .taken
        }
        return .known(before: before)
    }

    private static func keyBytes(of id: Value) throws(EngineError) -> [UInt8] {
        do throws(DocumentID.Refusal) { return try DocumentID.key(of: id) } catch {
            throw .id(error)
        }
    }

    /// What a document has seen that this transaction has in hand, and how it was.
    private func state(
        of id: [UInt8], in collection: String
    ) throws(EngineError) -> (VersionVector, before: StoredDocument?)? {
        guard let number = directory.number(ofCollection: collection) else { return nil }
        let key = StoreKey.document(collection: number, id: id).bytes
        guard let position = positions[DocumentKey(key)], let state = working[position].state else {
            return nil
        }
        let vector = try onDocument(key) { () throws(Malformed) in
            try state.span.withUnsafeBytes { (bytes) throws(Malformed) in
                try EncodedDocument(bytes).vector()
            }
        }
        return (vector, working[position].original)
    }

    /// Refuses changes of documents that match no query, as they were or as they are now.
    func check(_ rule: SubscriptionMatcher) throws(EngineError) {
        let names = directory.names
        for document in working where document.isChanged {
            let key = document.key.bytes
            guard
                let number = key.span.withUnsafeBytes({ StoreKey.collection(ofDocument: $0) }),
                let collection = directory.collectionName(number)
            else { continue }
            let after = document.state.map {
                StoredDocument($0, stateLength: $0.count, deltaLength: 0, deltaCount: 0)
            }
            for image in [document.original, after] {
                guard let image, !image.isTombstone else { continue }
                guard try rule.matches(image, key: key, in: collection, names, of: self) else {
                    let id = try onDocument(key) { () throws(Malformed) in
                        try DocumentID.id(of: Array(key[StoreKey.documentPrefixLength...]))
                    }
                    throw .forbidden(collection: collection, id: id)
                }
            }
        }
    }
}
