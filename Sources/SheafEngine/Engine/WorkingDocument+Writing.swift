import SheafBytes
import SheafDocument
package import SheafStorage

/// The operation with which a changed document is written.
extension WorkingDocument {
    /// Adds the operation to a batch; returns the document as the log has it afterwards.
    package mutating func write(into batch: inout WriteBatch) throws(EngineError) -> StoredDocument?
    {
        // A document on top of a remnant starts a new chain.
        if original != nil, isEvicted || !hasStoredState {
            try onStorage { () throws(StorageError) in try batch.remove(key.bytes) }
        }
        guard hasChange, let state else {
            guard isEvicted, let remnant else { return nil }
            return try put(DocumentPayload.stateKind, remnant, into: &batch)
        }
        guard let original, hasStoredState, !isEvicted, let accumulatedChange else {
            return try put(DocumentPayload.stateKind, state, into: &batch)
        }
        let isPartial = try onDocument(key.bytes) { () throws(Malformed) in
            try accumulatedChange.span.withUnsafeBytes { bytes throws(Malformed) in
                try EncodedDocument(bytes).isPartial
            }
        }
        if isPartial, state.count > Self.smallLength, original.deltaCount < Self.maximumDeltas,
            original.deltaLength + accumulatedChange.count <= state.count / 2
        {
            let payload = DocumentPayload.encode(delta: accumulatedChange)
            try onStorage { () throws(StorageError) in try batch.extend(key.bytes, payload) }
            return StoredDocument(
                state, deltaLength: original.deltaLength + payload.count,
                deltaCount: original.deltaCount + 1)
        }
        let based = try hasBase ? state : settingBase(state)
        guard based.count <= EncodedDocument.maximumLength else {
            throw .limit(
                name: "maximumDocumentLength", value: based.count,
                limit: EncodedDocument.maximumLength)
        }
        if !isPartial { return try put(DocumentPayload.completeKind, based, into: &batch) }
        if try isDerivable(accumulatedChange) {
            return try put(DocumentPayload.stateKind, based, into: &batch)
        }
        let payload = DocumentPayload.encode(state: based, delta: accumulatedChange)
        try onStorage { () throws(StorageError) in try batch.put(key.bytes, payload) }
        return StoredDocument(based)
    }

    /// Whether a change follows from the state and its base.
    private mutating func isDerivable(_ change: [UInt8]) throws(EngineError) -> Bool {
        if isKnownDerivable { return true }
        let base = try base() ?? VersionVector()
        return try onDocument(key.bytes) { () throws(Malformed) in
            try change.span.withUnsafeBytes { bytes throws(Malformed) in
                try Changes.isDerivable(try EncodedDocument(bytes), since: base)
            }
        }
    }

    /// Whether the document exceeds the maximum length once its base is added.
    package mutating func isTooLong() throws(EngineError) -> Bool {
        // The base is no longer than the version vector, which the state already contains.
        guard let state, state.count > EncodedDocument.maximumLength / 2, !hasBase else {
            return false
        }
        return try settingBase(state).count > EncodedDocument.maximumLength
    }

    private mutating func settingBase(_ state: [UInt8]) throws(EngineError) -> [UInt8] {
        let base = try base()
        return try onDocument(key.bytes) { () throws(Malformed) in
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
        return StoredDocument(state)
    }
}
