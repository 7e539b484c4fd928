import SheafBytes
package import SheafDocument
package import SheafStorage

/// A document in a transaction: its original, its current state, and the changes in between.
package struct WorkingDocument: Sendable {
    package let key: DocumentKey
    package let original: StoredDocument?
    /// The version vector of the original; nil if there was none.
    private let base: VersionVector?
    /// The current state; nil if there is neither a document nor a tombstone.
    package private(set) var state: [UInt8]?
    /// The changes: a delta, or a state if everything was changed; nil if there are none, or if
    /// they are `plainEdits`.
    private(set) var accumulatedChange: [UInt8]?
    /// The only change so far, if its delta has not been needed yet.
    private var plainEdits: PlainEdits?
    private(set) var isEvicted = false
    /// The remnant that an eviction leaves: the time of the last write of this store.
    private var remnant: [UInt8]?
    /// The version vector of a remnant: the writes that this store made and evicted.
    private var evictedVector: VersionVector?
    /// Whether the state already has the base with which it is written.
    private var hasBase = false
    /// Whether the changes are known to follow from the state and its base.
    private var isDerivable = false
    /// Whether the changes may spell out names that have no number.
    private var maySpellNames = false
    /// The origin of the written tokens; nil if it need not be recorded.
    private(set) var tokens: TokenChange?

    /// Maximum length of documents that are always written completely, as one operation.
    private static let smallLength = 1_024
    /// Maximum number of deltas on top of a state.
    private static let maximumDeltas = 64

    /// Edits at one stamp.
    private struct PlainEdits: Sendable {
        let edits: [Edit]
        let stamp: Stamp
    }

    /// Opens a stored document; nil if there is none.
    package static func open(
        _ key: DocumentKey, _ document: StoredDocument?
    ) throws(EngineError) -> WorkingDocument {
        guard let document else { return WorkingDocument(key, nil, nil, isRemnant: false) }
        let (vector, isRemnant): (VersionVector, Bool)
        do throws(Malformed) {
            (vector, isRemnant) = try document.read { bytes throws(Malformed) in
                let document = try EncodedDocument(bytes)
                return (try document.vector(), document.isRemnant)
            }
        } catch {
            throw .damaged(key: key.bytes, error)
        }
        return WorkingDocument(key, document, vector, isRemnant: isRemnant)
    }

    private init(
        _ key: DocumentKey, _ document: StoredDocument?, _ vector: VersionVector?,
        isRemnant: Bool
    ) {
        self.key = key
        state = isRemnant ? nil : document?.bytes
        base = isRemnant ? nil : vector
        evictedVector = isRemnant ? vector : nil
        original = document
    }

    /// Length of the document if it was changed, otherwise 0.
    package var changedLength: Int { hasChange ? state?.count ?? 0 : 0 }

    private var hasChange: Bool { accumulatedChange != nil || plainEdits != nil }

    /// Whether the changes spell out a name without a number; otherwise the state has no new name.
    func spellsNames() throws(EngineError) -> Bool {
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
        state.flatMap { $0.count <= 4 * Self.smallLength || accumulatedChange == $0 ? $0 : nil }
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
        guard let state else { return false }
        return try onDocument(key.bytes) { () throws(Malformed) in
            try state.span.withUnsafeBytes { bytes throws(Malformed) in
                try EncodedDocument(bytes).exists()
            }
        }
    }

    /// Returns the delta of some edits; nil if they change nothing.
    package func delta(
        _ edits: [Edit], at stamp: Stamp, _ names: NameTable, keepsCounters: Bool
    ) throws(DocumentError) -> ChangedBytes? {
        guard let state else { return nil }
        return try state.span.withUnsafeBytes { bytes throws(DocumentError) in
            try DocumentEditor.delta(
                of: edits, in: bytes, at: stamp, names, keepsCounters: keepsCounters)
        }
    }

    /// Makes the first change of a short document, if the edits replace or add plain values.
    ///
    /// Returns false if a delta must be joined.
    mutating func applyPlainly(
        _ edits: [Edit], at stamp: Stamp, _ names: NameTable, in memory: EncodingMemory
    ) throws(DocumentError) -> Bool {
        guard let state, base != nil, !hasChange, !isEvicted, state.count <= Self.smallLength,
            let next = try state.span.withUnsafeBytes({ bytes throws(DocumentError) in
                try memory.state(after: edits, in: bytes, at: stamp, names)
            }), next.count <= Self.smallLength
        else { return false }
        (self.state, hasBase, isDerivable) = (next, true, true)
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
            return try accumulate(change.bytes, isDerivable: false, names)
        }
        // Most documents are changed once, and written with their original base.
        state = try joined(older, change.bytes, names, base: isFirst ? base : nil)
        hasBase = isFirst && base != nil
        try accumulate(change.bytes, isDerivable: isFirst && change.isDerivable, names)
    }

    /// Deletes the document; returns false if it does not exist.
    ///
    /// The deletion covers everything in the document, so nothing needs to be joined.
    package mutating func delete(at stamp: Stamp) throws(DocumentError) -> Bool {
        guard let older = state else { return false }
        let deletion = try older.span.withUnsafeBytes { bytes throws(DocumentError) in
            try Insertion.deletion(of: bytes, at: stamp, base: base)
        }
        guard let deletion else { return false }
        plainEdits = nil
        (state, accumulatedChange, hasBase, isDerivable) = (deletion, deletion, base != nil, false)
        return true
    }

    private mutating func accumulate(
        _ change: [UInt8], isDerivable: Bool, _ names: NameTable
    ) throws(EngineError) {
        self.isDerivable = isDerivable
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
        try accumulate(change, isDerivable: false, names)
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
        state == nil ? evictedVector?.time(of: site) ?? .initial : .initial
    }

    /// Evicts the document or its tombstone; returns false if there is neither.
    ///
    /// The last write of `site` is recorded. Otherwise, if an older state of the document returns,
    /// the site would count as having seen all that it wrote.
    package mutating func evict(by site: Site, at now: HybridTime) throws(EngineError) -> Bool {
        guard let state else { return false }
        let written = try onDocument(key.bytes) { () throws(Malformed) in
            try state.span.withUnsafeBytes { bytes throws(Malformed) in
                try EncodedDocument(bytes).vector().time(of: site)
            }
        }
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
        if state == nil, evictedVector != nil, remnant == nil {
            isEvicted = true
            return true
        }
        guard state != nil else { return false }
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

    /// Adds the operation to a batch; returns the document as the log has it afterwards.
    package mutating func write(into batch: inout WriteBatch) throws(EngineError) -> StoredDocument?
    {
        // A document on top of a remnant starts a new chain.
        if original != nil, isEvicted || base == nil {
            try onStorage { () throws(StorageError) in try batch.remove(key.bytes) }
        }
        guard let state, hasChange else {
            guard isEvicted, let remnant else { return nil }
            return try put(DocumentPayload.stateKind, remnant, into: &batch)
        }
        guard let original, let base, !isEvicted, let accumulatedChange else {
            return try put(DocumentPayload.stateKind, state, into: &batch)
        }
        let (isPartial, isDerivable) = try onDocument(key.bytes) { () throws(Malformed) in
            try accumulatedChange.span.withUnsafeBytes { bytes throws(Malformed) in
                let touched = try EncodedDocument(bytes)
                let isDerivable =
                    self.isDerivable ? true : try Changes.isDerivable(touched, since: base)
                return (touched.isPartial, isDerivable)
            }
        }
        if isPartial, state.count > Self.smallLength, original.deltaCount < Self.maximumDeltas,
            original.deltaLength + accumulatedChange.count <= state.count / 2
        {
            let payload = DocumentPayload.encode(delta: accumulatedChange)
            try onStorage { () throws(StorageError) in try batch.extend(key.bytes, payload) }
            return StoredDocument(
                state, stateLength: original.stateLength,
                deltaLength: original.deltaLength + payload.count,
                deltaCount: original.deltaCount + 1)
        }
        let based = try hasBase ? state : settingBase(state)
        guard based.count <= EncodedDocument.maximumLength else {
            throw .limit(
                name: "maximumDocumentLength", value: based.count,
                limit: EncodedDocument.maximumLength)
        }
        if !isPartial { return try put(DocumentPayload.completeKind, based, into: &batch) }
        if isDerivable { return try put(DocumentPayload.stateKind, based, into: &batch) }
        let payload = DocumentPayload.encode(state: based, delta: accumulatedChange)
        try onStorage { () throws(StorageError) in try batch.put(key.bytes, payload) }
        return StoredDocument(
            based, stateLength: payload.count, deltaLength: 0, deltaCount: 0)
    }

    /// Whether the document exceeds the maximum length once its base is added.
    package func isTooLong() throws(EngineError) -> Bool {
        // The base is no longer than the version vector, which the state already contains.
        guard let state, state.count > EncodedDocument.maximumLength / 2, !hasBase else {
            return false
        }
        return try settingBase(state).count > EncodedDocument.maximumLength
    }

    private func settingBase(_ state: [UInt8]) throws(EngineError) -> [UInt8] {
        try onDocument(key.bytes) { () throws(Malformed) in
            try state.span.withUnsafeBytes { bytes throws(Malformed) in
                try EncodedDocument(bytes).settingBase(base)
            }
        }
    }

    /// Puts a payload of one kind that has only a state.
    private func put(
        _ kind: UInt8, _ state: [UInt8], into batch: inout WriteBatch
    ) throws(EngineError) -> StoredDocument {
        do throws(StorageError) { try batch.put(key.bytes, kind, state) } catch {
            throw .storage(error)
        }
        return StoredDocument(
            state, stateLength: state.count + 1, deltaLength: 0, deltaCount: 0)
    }
}
