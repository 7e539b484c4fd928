import SheafBytes
import SheafDocument
import SheafSync

extension DocumentTransaction {
    /// What became of a document that a peer has sent.
    enum Reception {
        /// It is here now; whether it said something new.
        case taken(isNew: Bool)
        /// The same, and there is something in it that the peer has not seen; how it was before.
        case known(before: StoredDocument?)
        /// It stands on what is not here: the whole document is needed.
        case gap
    }

    /// Joins what a peer has sent of a document, who may write what a rule says.
    ///
    /// A step has each document once: so what was done before comes from other documents.
    mutating func receive(
        _ document: PreparedDocument, _ rule: SubscriptionMatcher?
    ) throws(EngineError) -> Reception {
        let key: DocumentKey
        if let known = document.key { key = known } else { key = try self.key(of: document) }
        // Where there is a rule, what comes of it is looked at behind the last of them.
        if rule == nil, try receiveFresh(document, key) { return .taken(isNew: true) }
        guard positions[key] == nil, fresh[key] == nil else {
            throw .received(.invalid("a document that comes twice in a step", at: 0))
        }
        let position = try open(key)
        let before = working[position].state == nil ? nil : try vector(at: position)
        guard before != nil || !document.isPartial else { return .gap }
        if let rule, try isForbiddenDeletion(document, of: position, rule) {
            return .taken(isNew: false)
        }
        let (latest, own, isAll) = try onDocument(key.bytes) { () throws(Malformed) in
            try document.bytes.span.withUnsafeBytes { (bytes) throws(Malformed) in
                let document = try EncodedDocument(bytes)
                let seen = try document.header()
                let isAll = try before.map { (before) throws(Malformed) in
                    try document.vector().covers(before)
                }
                return (seen.latest, seen.time(of: clock.site), isAll ?? true)
            }
        }
        noteOwnWrites(own, of: position)
        try observe(latest)
        tokens += document.tokens
        let length = working[position].changedLength
        let isNew: Bool
        do throws(EngineError) {
            isNew = try working[position].takeIfNew(
                ChangedBytes(bytes: document.bytes, spellsNames: document.maySpellNames),
                isPartial: document.isPartial, directory.names)
        } catch {
            switch error {
            case .gap: return .gap
            case .edit(.malformed(let reason)): throw .received(reason)
            default: throw error
            }
        }
        try countLength(working[position].changedLength - length)
        return isAll ? .taken(isNew: isNew) : .known(before: working[position].original)
    }

    /// Joins what somebody has sent who spells all names.
    mutating func join(_ bytes: [UInt8], at position: Int) throws(EngineError) -> Bool {
        var named: [Value] = []
        let (seen, isPartial, own) = try translating { () throws(EditError) in
            try bytes.span.withUnsafeBytes { bytes throws(EditError) in
                let document = try Self.document(bytes)
                do throws(Malformed) {
                    try document.validate(NameTable())
                    if try document.hasTokens() {
                        try document.forEachToken(NameTable()) { named.append($0) }
                    }
                    return (
                        try document.header().latest, document.isPartial,
                        (
                            try document.renamed(from: NameTable(), to: directory.names),
                            try document.header().time(of: clock.site)
                        )
                    )
                } catch {
                    throw .malformed(error)
                }
            }
        } orRefusing: {
            .received($0)
        }
        tokens += named
        noteOwnWrites(own.1, of: position)
        try observe(seen)
        return try working[position].takeIfNew(
            ChangedBytes(bytes: own.0), isPartial: isPartial, directory.names)
    }

    /// Takes in a time that somebody has written with.
    mutating func observe(_ time: HybridTime) throws(EngineError) {
        do throws(HybridClock.Refusal) { try clock.observe(time, at: now) } catch {
            throw .clock(error)
        }
    }

    /// The key of what came; a collection begins with its first document.
    private mutating func key(of document: PreparedDocument) throws(EngineError) -> DocumentKey {
        let number: UInt16
        if let known = directory.number(ofCollection: document.collection) {
            number = known
        } else {
            number = try directory.add(collection: document.collection)
        }
        return DocumentKey(StoreKey.document(collection: number, id: document.id).bytes)
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
        _ document: PreparedDocument, of position: Int, _ rule: SubscriptionMatcher
    ) throws(EngineError) -> Bool {
        guard !document.isPartial, let original = working[position].original,
            !original.isTombstone, !original.isRemnant
        else { return false }
        let state = StoredDocument(
            document.bytes, stateLength: document.bytes.count, deltaLength: 0, deltaCount: 0)
        guard state.isTombstone else { return false }
        return try !rule.matches(
            original, key: working[position].key.bytes, in: document.collection, directory.names,
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
