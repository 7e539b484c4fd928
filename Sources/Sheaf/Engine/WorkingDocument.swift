import SheafBytes
import SheafDocument
import SheafStorage

/// A document in a transaction: how it was, how it is, and what was touched between.
struct WorkingDocument: Sendable {
    let key: [UInt8]
    let original: StoredDocument?
    /// What the document had seen before; none where there was none.
    private let base: VersionVector?
    /// How it is now; none where there is not even what is left of a document.
    private(set) var state: [UInt8]?
    /// What was touched: a delta, or a state where that is all of it.
    private(set) var touched: [UInt8]?
    private var isEvicted = false

    /// Smaller documents are written whole each time: to read them is one step then.
    private static let smallLength = 1_024
    /// How many deltas may stand on a state.
    private static let maximumDeltas = 64

    init(_ key: [UInt8], _ document: StoredDocument?) throws(EngineError) {
        self.key = key
        original = document
        state = document?.bytes
        base = try onDocument(key) { () throws(Malformed) in
            try document?.read { bytes throws(Malformed) in try EncodedDocument(bytes).vector() }
        }
    }

    /// How long the document is, if it was changed.
    var changedLength: Int { touched == nil ? 0 : state?.count ?? 0 }

    /// The state, unless it is large.
    var smallState: [UInt8]? {
        state.flatMap { $0.count <= 4 * Self.smallLength || touched == $0 ? $0 : nil }
    }

    var isChanged: Bool { touched != nil || isEvicted && original != nil }

    func exists() throws(EngineError) -> Bool {
        guard let state else { return false }
        return try onDocument(key) { () throws(Malformed) in
            try state.span.withUnsafeBytes { bytes throws(Malformed) in
                try EncodedDocument(bytes).exists()
            }
        }
    }

    /// What edits change; none where that is nothing.
    func delta(
        _ edits: [Edit], at stamp: Stamp, _ names: NameTable
    ) throws(EditError) -> [UInt8]? {
        guard let state else { return nil }
        return try state.span.withUnsafeBytes { bytes throws(EditError) in
            let document: EncodedDocument
            do throws(Malformed) { document = try EncodedDocument(bytes) } catch {
                throw .malformed(error)
            }
            let editor = try DocumentEditor(document, at: stamp, names)
            for edit in edits { try editor.apply(edit) }
            return try editor.finish()
        }
    }

    /// Joins what was changed.
    mutating func take(_ change: [UInt8], _ names: NameTable) throws(EngineError) {
        state =
            try state.map { (state) throws(EngineError) in
                try joined(state, change, names)
            } ?? change
        touched =
            try touched.map { (touched) throws(EngineError) in
                try joined(touched, change, names)
            } ?? change
    }

    /// Joins what came from somebody else; false where all of it was here.
    mutating func takeIfNew(_ other: [UInt8], _ names: NameTable) throws(EngineError) -> Bool {
        let other = try onDocument(key) { () throws(Malformed) in
            try other.span.withUnsafeBytes { bytes throws(Malformed) in
                try EncodedDocument(bytes).renamed(from: NameTable(), to: names)
            }
        }
        guard let state else {
            let isPartial = try onDocument(key) { () throws(Malformed) in
                try other.span.withUnsafeBytes { bytes throws(Malformed) in
                    try EncodedDocument(bytes).isPartial
                }
            }
            guard !isPartial else { throw .gap(collection: "", id: .null) }
            try take(other, names)
            return true
        }
        let next = try joined(state, other, names)
        guard try !isSame(next, state, names) else { return false }
        // The deltas of a chain each build on the one before, which that of somebody else does not.
        let change = try onDocument(key) { () throws(Malformed) in
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
        self.state = next
        touched =
            try touched.map { (touched) throws(EngineError) in
                try joined(touched, change, names)
            } ?? change
        return true
    }

    /// Whether two states say the same.
    ///
    /// Names may have got numbers since they were spelled, and a join spells what it copies as it
    /// was: so both are joined with themselves before they are compared.
    private func isSame(
        _ left: [UInt8], _ right: [UInt8], _ names: NameTable
    ) throws(EngineError) -> Bool {
        if left == right { return true }
        return try joined(left, left, names) == joined(right, right, names)
    }

    /// Forgets the document; false where there is none.
    mutating func evict() -> Bool {
        guard state != nil else { return false }
        state = nil
        touched = nil
        isEvicted = true
        return true
    }

    private func joined(
        _ left: [UInt8], _ right: [UInt8], _ names: NameTable
    ) throws(EngineError) -> [UInt8] {
        let result: Result<[UInt8], JoinError> = left.span.withUnsafeBytes { left in
            right.span.withUnsafeBytes { right in
                do throws(Malformed) {
                    let (left, right) = (try EncodedDocument(left), try EncodedDocument(right))
                    do throws(JoinError) {
                        return .success(try Join.join(left, right, names))
                    } catch {
                        return .failure(error)
                    }
                } catch {
                    return .failure(.malformed(error))
                }
            }
        }
        switch result {
        case .success(let bytes): return bytes
        case .failure(.gap): throw .gap(collection: "", id: .null)
        case .failure(.malformed(let reason)): throw .edit(.malformed(reason))
        }
    }

    // MARK: Writing

    /// Adds the operation to a batch; returns what the log has of the document afterwards.
    func write(into batch: inout WriteBatch) throws(EngineError) -> StoredDocument? {
        if isEvicted, original != nil {
            try onStorage { () throws(StorageError) in try batch.remove(key) }
        }
        guard let state, let touched else { return nil }
        guard let original, let base, !isEvicted else {
            return try put(DocumentPayload.encode(state: state), state, into: &batch)
        }
        let (isPartial, isTold) = try onDocument(key) { () throws(Malformed) in
            try touched.span.withUnsafeBytes { bytes throws(Malformed) in
                let touched = try EncodedDocument(bytes)
                return (touched.isPartial, try Changes.isTold(touched, since: base))
            }
        }
        if isPartial, state.count > Self.smallLength, original.deltaCount < Self.maximumDeltas,
            original.deltaLength + touched.count <= state.count / 2
        {
            let payload = DocumentPayload.encode(delta: touched)
            try onStorage { () throws(StorageError) in try batch.extend(key, payload) }
            return StoredDocument(
                state, stateLength: original.stateLength,
                deltaLength: original.deltaLength + payload.count,
                deltaCount: original.deltaCount + 1)
        }
        let based = try onDocument(key) { () throws(Malformed) in
            try state.span.withUnsafeBytes { bytes throws(Malformed) in
                try EncodedDocument(bytes).settingBase(base)
            }
        }
        guard based.count <= EncodedDocument.maximumLength else {
            throw .limit(
                name: "maximumDocumentLength", value: based.count,
                limit: EncodedDocument.maximumLength)
        }
        let payload =
            !isPartial
            ? DocumentPayload.encode(whole: based)
            : isTold
                ? DocumentPayload.encode(state: based)
                : DocumentPayload.encode(state: based, delta: touched)
        return try put(payload, based, into: &batch)
    }

    private func put(
        _ payload: [UInt8], _ state: [UInt8], into batch: inout WriteBatch
    ) throws(EngineError) -> StoredDocument {
        try onStorage { () throws(StorageError) in try batch.put(key, payload) }
        return StoredDocument(state, stateLength: payload.count, deltaLength: 0, deltaCount: 0)
    }
}
