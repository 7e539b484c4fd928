import SheafBytes
package import SheafDocument

/// A document in a transaction: its original, its current state, and the changes in between.
package struct WorkingDocument: Sendable {
    package let key: DocumentKey
    package let original: StoredDocument?
    /// Whether the original is a document or a tombstone, and no remnant.
    ///
    /// Its version vector is the base of the changes.
    let hasStoredState: Bool
    /// The current state.
    private var contents: Contents
    /// Whether there is a document or a tombstone.
    // Stored, because a computed property of an element of an array may copy the element.
    package private(set) var hasState: Bool
    /// The changes: a delta, or a state if everything was changed; nil if there are none, or if
    /// they are `plainEdits`.
    private(set) var accumulatedChange: [UInt8]?
    /// The only change so far, if its delta has not been needed yet.
    private var plainEdits: PlainEdits?
    private(set) var isEvicted = false
    /// The remnant that an eviction leaves: the time of the last write of this store.
    private(set) var remnant: [UInt8]?
    /// The version vector of a remnant: the writes that this store made and evicted.
    private var evictedVector: VersionVector?
    /// Whether the state already has the base with which it is written.
    private(set) var hasBase = false
    /// Whether the changes are known to follow from the state and its base.
    private(set) var isKnownDerivable = false
    /// Whether the changes may spell out names that have no number.
    private var maySpellNames = false
    /// The origin of the written tokens; nil if it need not be recorded.
    private(set) var tokens: TokenChange?

    /// Maximum length of documents that are always written completely, as one operation.
    static let smallLength = 1_024
    /// Maximum number of deltas on top of a state.
    static let maximumDeltas = 64

    private enum Contents: Sendable {
        /// The state of the original, which is read in place.
        case original
        /// Another state; nil if there is neither a document nor a tombstone.
        case changed([UInt8]?)
    }

    /// Edits at one stamp.
    private struct PlainEdits: Sendable {
        let edits: [Edit]
        let stamp: Stamp
    }

    /// Opens a stored document; nil if there is none.
    package static func open(
        _ key: DocumentKey, _ document: StoredDocument?
    ) throws(EngineError) -> WorkingDocument {
        guard let document else { return WorkingDocument(key, nil, evicted: nil) }
        let evicted: VersionVector?
        do throws(Malformed) {
            evicted = try document.read { bytes throws(Malformed) in
                let document = try EncodedDocument(bytes)
                return document.isRemnant ? try document.vector() : nil
            }
        } catch {
            throw .damaged(key: key.bytes, error)
        }
        return WorkingDocument(key, document, evicted: evicted)
    }

    @inline(__always)
    private init(_ key: DocumentKey, _ document: StoredDocument?, evicted: VersionVector?) {
        self.key = key
        hasStoredState = document != nil && evicted == nil
        contents = hasStoredState ? .original : .changed(nil)
        hasState = hasStoredState
        evictedVector = evicted
        original = document
    }

    /// The current state; nil if there is neither a document nor a tombstone.
    ///
    /// Copies the bytes of an unchanged document; `withState` reads them in place.
    package private(set) var state: [UInt8]? {
        get {
            switch contents {
            case .original: original?.bytes
            case .changed(let state): state
            }
        }
        set {
            contents = .changed(newValue)
            hasState = newValue != nil
        }
    }

    /// Calls `body` with the current state, which is valid only during the call; returns nil if
    /// there is none.
    package mutating func withState<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result? {
        switch contents {
        case .original: try original?.read(body)
        case .changed(let state): try state?.span.withUnsafeBytes(body)
        }
    }

    /// Returns the version vector of the original; nil if there is none, or only a remnant.
    mutating func base() throws(EngineError) -> VersionVector? {
        guard hasStoredState, let original else { return nil }
        return try onDocument(key.bytes) { () throws(Malformed) in
            try original.read { bytes throws(Malformed) in try EncodedDocument(bytes).vector() }
        }
    }

    /// Length of the document if it was changed, otherwise 0.
    package var changedLength: Int {
        mutating get {
            guard hasChange, case .changed(let state?) = contents else { return 0 }
            return state.count
        }
    }

    var hasChange: Bool { accumulatedChange != nil || plainEdits != nil }

    /// Whether the changes spell out a name without a number; otherwise the state has no new name.
    mutating func spellsNames() throws(EngineError) -> Bool {
        guard maySpellNames, let accumulatedChange else { return false }
        return try onDocument(key.bytes) { () throws(Malformed) in
            try accumulatedChange.span.withUnsafeBytes { bytes throws(Malformed) in
                var isSpelled = false
                try EncodedDocument(bytes).forEachSpelledName { _ in isSpelled = true }
                return isSpelled
            }
        }
    }

    /// The state; nil if it is large and was only partly changed.
    var smallState: [UInt8]? {
        mutating get {
            state.flatMap { $0.count <= 4 * Self.smallLength || accumulatedChange == $0 ? $0 : nil }
        }
    }

    /// Updates the origin of the written tokens.
    mutating func updateTokens(_ note: (inout TokenChange) -> Void) {
        var change = tokens ?? TokenChange()
        note(&change)
        tokens = change
    }

    package var isChanged: Bool { hasChange || isEvicted && original != nil }

    // Some calls are mutations, although they change nothing, because those run in place: for other
    // calls an element of an array is copied, with all its references.

    package mutating func exists() throws(EngineError) -> Bool {
        try onDocument(key.bytes) { () throws(Malformed) in
            try withState { bytes throws(Malformed) in try EncodedDocument(bytes).exists() }
                ?? false
        }
    }

    /// Returns the delta of some edits; nil if they change nothing.
    package mutating func delta(
        _ edits: [Edit], at stamp: Stamp, _ names: NameTable, keepsCounters: Bool
    ) throws(DocumentError) -> ChangedBytes? {
        let delta = try withState { bytes throws(DocumentError) in
            try DocumentEditor.delta(
                of: edits, in: bytes, at: stamp, names, keepsCounters: keepsCounters)
        }
        return delta ?? nil
    }

    /// Makes the first change of a short document, if the edits replace or add plain values.
    ///
    /// Returns false if a delta must be joined.
    mutating func applyPlainly(
        _ edits: [Edit], at stamp: Stamp, _ names: NameTable, in memory: EncodingMemory
    ) throws(DocumentError) -> Bool {
        guard case .original = contents,
            let next = try withState({ bytes throws(DocumentError) -> [UInt8]? in
                guard bytes.count <= Self.smallLength else { return nil }
                return try memory.state(after: edits, in: bytes, at: stamp, names)
            }) ?? nil, next.count <= Self.smallLength
        else { return false }
        (self.state, hasBase, isKnownDerivable) = (next, true, true)
        plainEdits = PlainEdits(edits: edits, stamp: stamp)
        return true
    }

    /// Makes the delta of `plainEdits`, with which later changes are joined.
    private mutating func makeDelta(_ names: NameTable) throws(EngineError) {
        guard let plain = plainEdits, let original else { return }
        let delta = try onDocument { () throws(DocumentError) in
            try original.read { bytes throws(DocumentError) in
                try DocumentEditor.delta(of: plain.edits, in: bytes, at: plain.stamp, names)
            }
        }
        accumulatedChange = delta?.bytes
        plainEdits = nil
    }

    /// Joins a change into the document.
    package mutating func apply(_ change: ChangedBytes, _ names: NameTable) throws(EngineError) {
        try makeDelta(names)
        let isFirst = accumulatedChange == nil
        maySpellNames = maySpellNames || change.spellsNames
        guard let older = state else {
            (state, hasBase) = (change.bytes, false)
            return try accumulate(change.bytes, isKnownDerivable: false, names)
        }
        // Most documents are changed once, and written with their original base.
        state = try joined(older, change.bytes, names, base: isFirst ? try base() : nil)
        hasBase = isFirst && hasStoredState
        try accumulate(change.bytes, isKnownDerivable: isFirst && change.isDerivable, names)
    }

    /// Deletes the document; returns false if it does not exist.
    ///
    /// The deletion covers everything in the document, so nothing needs to be joined.
    package mutating func delete(at stamp: Stamp) throws(EngineError) -> Bool {
        var tombstone: [UInt8]?
        if case .original = contents {
            tombstone = try onDocument(key.bytes) { () throws(Malformed) in
                try withState { bytes throws(Malformed) in
                    try Insertion.deletionFromHeader(of: bytes, at: stamp)
                } ?? nil
            }
        }
        if tombstone == nil {
            let base = try base()
            tombstone = try onDocument { () throws(DocumentError) in
                try withState { bytes throws(DocumentError) in
                    try Insertion.deletion(of: bytes, at: stamp, base: base)
                } ?? nil
            }
        }
        guard let deletion = tombstone else { return false }
        plainEdits = nil
        (state, accumulatedChange, hasBase, isKnownDerivable) = (
            deletion, deletion, hasStoredState, false
        )
        return true
    }

    private mutating func accumulate(
        _ change: [UInt8], isKnownDerivable: Bool, _ names: NameTable
    ) throws(EngineError) {
        self.isKnownDerivable = isKnownDerivable
        accumulatedChange =
            try accumulatedChange.map { (touched) throws(EngineError) in
                try joined(touched, change, names)
            } ?? change
    }

    /// Joins a received change that uses this store's name numbers; returns whether it was new.
    package mutating func applyIfNew(
        _ change: ChangedBytes, isPartial: Bool, _ names: NameTable
    ) throws(EngineError) -> Bool {
        try makeDelta(names)
        let other = change.bytes
        guard let state else {
            guard !isPartial else { throw .gap(collection: "", id: .null) }
            try apply(change, names)
            return true
        }
        let next = try joined(state, other, names)
        guard try !isSame(next, state, names) else { return false }
        // Each delta of a chain builds on the previous one, which a received delta does not.
        let change = try onDocument(key.bytes) { () throws(Malformed) in
            let seen = try state.span.withUnsafeBytes { bytes throws(Malformed) in
                try EncodedDocument(bytes).vector()
            }
            return try next.span.withUnsafeBytes { next throws(Malformed) in
                try other.span.withUnsafeBytes { other throws(Malformed) in
                    try Changes.extract(
                        from: try EncodedDocument(next), since: seen,
                        touched: [try EncodedDocument(other)], names)
                }
            }
        }
        (self.state, hasBase, maySpellNames) = (next, false, true)
        try accumulate(change, isKnownDerivable: false, names)
        return true
    }

    /// Whether two states are equal once both are normalized.
    ///
    /// Names may have been assigned numbers since they were spelled out, and a join copies names as
    /// they are. So both states are joined with themselves before they are compared.
    private func isSame(
        _ left: [UInt8], _ right: [UInt8], _ names: NameTable
    ) throws(EngineError) -> Bool {
        if left == right { return true }
        return try joined(left, left, names) == joined(right, right, names)
    }

    /// Returns whether the document is changed, and the result of `evictedTime`.
    mutating func stampState(of site: Site) -> (isChanged: Bool, evicted: HybridTime) {
        (isChanged, evictedTime(of: site))
    }

    /// Returns the time of a site's last write if it was evicted and has not returned.
    func evictedTime(of site: Site) -> HybridTime {
        hasState ? .initial : evictedVector?.time(of: site) ?? .initial
    }

    /// Evicts the document or its tombstone; returns false if there is neither.
    ///
    /// The last write of `site` is recorded. Otherwise, if an older state of the document returns,
    /// the site would count as having seen all that it wrote.
    package mutating func evict(by site: Site, at now: HybridTime) throws(EngineError) -> Bool {
        let written = try onDocument(key.bytes) { () throws(Malformed) in
            try withState { bytes throws(Malformed) in
                try EncodedDocument(bytes).header().time(of: site)
            }
        }
        guard let written else { return false }
        if written > .initial {
            let bytes = try onDocument(key.bytes) { () throws(Malformed) in
                try Insertion.remnant(of: site, writtenUntil: written, evictedAt: now)
            }
            remnant = bytes
            evictedVector = VersionVector()
            evictedVector?.record(Stamp(written, site))
        }
        return purge()
    }

    /// Removes the document, its tombstone or its remnant; returns false if there is none.
    package mutating func purge() -> Bool {
        if !hasState, evictedVector != nil, remnant == nil {
            isEvicted = true
            return true
        }
        guard hasState else { return false }
        (state, hasBase) = (nil, false)
        (accumulatedChange, plainEdits) = (nil, nil)
        isEvicted = true
        return true
    }

    private func joined(
        _ left: [UInt8], _ right: [UInt8], _ names: NameTable, base: VersionVector? = nil
    ) throws(EngineError) -> [UInt8] {
        try onDocument { () throws(DocumentError) in
            try left.span.withUnsafeBytes { left throws(DocumentError) in
                try right.span.withUnsafeBytes { right throws(DocumentError) in
                    try Join.join(left, right, names, base: base)
                }
            }
        }
    }
}
