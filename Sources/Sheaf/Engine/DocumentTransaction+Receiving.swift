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
        /// The peer may not write it as it is here, which the peer could not know; how it was before.
        case refused(before: StoredDocument?)
        /// A dot of it has this time, which is too far ahead of the clock; nothing of it was written.
        case ahead(HybridTime)
    }

    /// Joins what a peer has sent of a document, who may write what a rule says.
    ///
    /// A step has each document once: so what was done before comes from other documents.
    mutating func receive(
        _ document: PiledDocument, _ key: DocumentKey, _ rule: SubscriptionMatcher?
    ) throws(EngineError) -> Reception {
        // Where there is a rule, what comes of it has to be looked at.
        if rule == nil, try receiveFresh(document, key) { return .taken(isNew: true) }
        guard positions[key] == nil, fresh[key] == nil else {
            throw .received(.invalid("a document that comes twice in a step", at: 0))
        }
        let seen = try timeSeen(in: document, key)
        if case .ahead(let time) = seen { return .ahead(time) }
        let position = try open(key)
        let before = working[position].state == nil ? nil : try vector(at: position)
        let isPartial = document.marks.contains(.isPartial)
        guard before != nil || !isPartial else { return .gap }
        if let rule, try isForbiddenDeletion(document, of: position, rule) {
            return .taken(isNew: false)
        }
        let (own, isAll) = try onDocument(key.bytes) { () throws(Malformed) in
            let document = try EncodedDocument(document.bytes)
            let isAll = try before.map { (before) throws(Malformed) in
                try document.vector().covers(before)
            }
            return (try document.header().time(of: clock.site), isAll ?? true)
        }
        noteOwnWrites(own, of: position, seen: before?.time(of: clock.site))
        if case .upTo(let latest) = seen { try observe(latest) }
        let length = working[position].changedLength
        let untouched = rule == nil ? nil : working[position]
        let isNew: Bool
        do throws(EngineError) {
            isNew = try working[position].takeIfNew(
                ChangedBytes(
                    bytes: Array(document.bytes),
                    spellsNames: document.marks.contains(.maySpellNames)),
                isPartial: isPartial, directory.names)
        } catch {
            switch error {
            case .gap:
                // Whatever the whole document is, it would be refused.
                let original = working[position].original
                guard let rule, try !isPermitted(original, at: key, rule) else { return .gap }
                return .refused(before: original)
            case .edit(.malformed(let reason)): throw .received(reason)
            default: throw error
            }
        }
        if let rule, let untouched, working[position].isChanged,
            try isRefused(position, rule, isAll: isAll)
        {
            working[position] = untouched
            return .refused(before: untouched.original)
        }
        try noteTokens(of: document, key)
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
                        try document.latestDot(), document.isPartial,
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

    /// The number of a collection, which begins with its first document.
    mutating func number(ofCollection name: String) throws(EngineError) -> UInt16 {
        if let known = directory.number(ofCollection: name) { return known }
        return try directory.add(collection: name)
    }

    /// Takes in the tokens of attachments in a document that came.
    mutating func noteTokens(
        of document: PiledDocument, _ key: DocumentKey
    ) throws(EngineError) {
        guard document.marks.contains(.hasTokens) else { return }
        try onDocument(key.bytes) { () throws(Malformed) in
            try EncodedDocument(document.bytes).forEachToken(directory.names) { tokens.append($0) }
        }
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
        _ document: PiledDocument, of position: Int, _ rule: SubscriptionMatcher
    ) throws(EngineError) -> Bool {
        guard !document.marks.contains(.isPartial), let original = working[position].original,
            !original.isTombstone, !original.isRemnant
        else { return false }
        let state = StoredDocument(
            Array(document.bytes), stateLength: document.bytes.count, deltaLength: 0, deltaCount: 0)
        guard state.isTombstone else { return false }
        return try !rule.matches(
            original, key: working[position].key.bytes, in: document.collection, directory.names,
            of: self)
    }

    /// Whether what a peer has sent of a document changes one here that the peer may not write, as it was or
    /// as it is now.
    ///
    /// Who has seen all that is here, and sends what its own state does not permit, has broken the rule, and is
    /// not talked to any more. All others have seen it in a state in which they may write it.
    private func isRefused(
        _ position: Int, _ rule: SubscriptionMatcher, isAll: Bool
    ) throws(EngineError) -> Bool {
        let (key, original) = (working[position].key, working[position].original)
        let after = working[position].state.map {
            StoredDocument($0, stateLength: $0.count, deltaLength: 0, deltaCount: 0)
        }
        guard try isPermitted(after, at: key, rule) else {
            guard isAll else { return true }
            let (collection, id) = try name(of: key)
            throw .forbidden(collection: collection, id: id)
        }
        return try !isPermitted(original, at: key, rule)
    }

    /// Whether somebody may write a document in this state; what is left of it says nothing of that.
    private func isPermitted(
        _ image: StoredDocument?, at key: DocumentKey, _ rule: SubscriptionMatcher
    ) throws(EngineError) -> Bool {
        guard let image, !image.isTombstone, !image.isRemnant else { return true }
        let number = key.bytes.span.withUnsafeBytes { StoreKey.collection(ofDocument: $0) }
        guard let number, let collection = directory.collectionName(number) else { return true }
        return try rule.matches(image, key: key.bytes, in: collection, directory.names, of: self)
    }

    private func name(of key: DocumentKey) throws(EngineError) -> (collection: String, id: Value) {
        let number = key.bytes.span.withUnsafeBytes { StoreKey.collection(ofDocument: $0) }
        let id = try onDocument(key.bytes) { () throws(Malformed) in
            try DocumentID.id(of: Array(key.bytes[StoreKey.documentPrefixLength...]))
        }
        return (number.flatMap { directory.collectionName($0) } ?? "", id)
    }
}
