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

    /// Joins what a peer has sent of a document, who may write what a rule says.
    mutating func receive(
        _ shipped: ShippedDocument, _ rule: SubscriptionMatcher?
    ) throws(EngineError) -> Reception {
        let seen = try check(shipped)
        let position = try open(try key(of: shipped))
        let before = working[position].state == nil ? nil : try vector(at: position)
        guard before != nil || shipped.form == .state else { return .gap }
        if let rule, try isForbiddenDeletion(shipped, of: position, rule) { return .taken }
        noteOwnWrites(seen, of: position)
        do throws(HybridClock.Refusal) { try clock.observe(seen.latest, at: now) } catch {
            throw .clock(error)
        }
        let length = working[position].changedLength
        do throws(EngineError) {
            _ = try working[position].takeIfNew(shipped.bytes, directory.names)
        } catch {
            switch error {
            case .gap: return .gap
            case .edit(.malformed(let reason)): throw .received(reason)
            default: throw error
            }
        }
        try countLength(working[position].changedLength - length)
        guard let before, !seen.covers(before) else { return .taken }
        return .known(before: working[position].original)
    }

    /// Checks that what came is a document; returns what it has seen.
    private mutating func check(
        _ shipped: ShippedDocument
    ) throws(EngineError) -> VersionVector {
        var named: [Value] = []
        defer { tokens += named }
        do throws(Malformed) {
            return try shipped.bytes.span.withUnsafeBytes { (bytes) throws(Malformed) in
                let document = try EncodedDocument(bytes)
                guard document.isPartial == (shipped.form == .delta) else {
                    throw .invalid("a document of another form than it was said to have", at: 0)
                }
                try document.validate(NameTable())
                guard !document.isRemnant else {
                    throw .invalid("a document that neither is nor was deleted", at: 0)
                }
                if try document.hasTokens() {
                    try document.forEachToken(NameTable()) { named.append($0) }
                }
                return try document.vector()
            }
        } catch {
            throw .received(error)
        }
    }

    /// The key of what came; a collection begins with its first document.
    private mutating func key(of shipped: ShippedDocument) throws(EngineError) -> DocumentKey {
        // An id that is spelled in two ways would be two documents on one side, and one on another.
        let isSpelledRight: Bool
        do throws(Malformed) { isSpelledRight = try DocumentID.isKey(shipped.id) } catch {
            throw .received(error)
        }
        guard isSpelledRight else {
            throw .received(.invalid("an id that is not spelled as keys are", at: 0))
        }
        let number: UInt16
        if let known = directory.number(ofCollection: shipped.collection) {
            number = known
        } else {
            number = try directory.add(collection: shipped.collection)
        }
        return DocumentKey(StoreKey.document(collection: number, id: shipped.id).bytes)
    }

    private func vector(at position: Int) throws(EngineError) -> VersionVector {
        guard let state = working[position].state else { return VersionVector() }
        return try onDocument(working[position].key.bytes) { () throws(Malformed) in
            try state.span.withUnsafeBytes { (bytes) throws(Malformed) in
                try EncodedDocument(bytes).vector()
            }
        }
    }

    /// Whether a peer says that a document was deleted which it may not write.
    ///
    /// It says so where the document is named by this side, and cannot know what it is here. So that is passed
    /// over, and not refused.
    private func isForbiddenDeletion(
        _ shipped: ShippedDocument, of position: Int, _ rule: SubscriptionMatcher
    ) throws(EngineError) -> Bool {
        guard shipped.form == .state, let original = working[position].original,
            !original.isTombstone, !original.isRemnant
        else { return false }
        let state = StoredDocument(
            shipped.bytes, stateLength: shipped.bytes.count, deltaLength: 0, deltaCount: 0)
        guard state.isTombstone else { return false }
        return try !rule.matches(
            original, key: working[position].key.bytes, in: shipped.collection, directory.names,
            of: self)
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
                guard let image, !image.isTombstone, !image.isRemnant else { continue }
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
