package import SheafBytes

/// The payload of an operation on a document (`format-spec/commits.md`, table 3).
///
/// Its documents are decoded lazily.
package struct DocumentPayload {
    private enum Kind {
        static let state: UInt8 = 1
        static let delta: UInt8 = 2
        static let both: UInt8 = 3
        static let complete: UInt8 = 4
    }

    /// The first byte of a payload with only a state.
    package static let stateKind = Kind.state
    /// The first byte of a payload with only a state of which all parts were written.
    package static let completeKind = Kind.complete

    /// The complete document; nil for a delta record.
    package let state: EncodedDocument?
    /// The changed parts; nil if the state and its base identify them, or if `isComplete`.
    package let delta: EncodedDocument?
    /// Whether all parts were written, including deleted ones.
    package let isComplete: Bool

    package init(_ bytes: UnsafeRawBufferPointer) throws(Malformed) {
        guard let kind = bytes.first else { throw .truncated(at: 0) }
        let rest = UnsafeRawBufferPointer(rebasing: bytes.dropFirst())
        switch kind {
        case Kind.state, Kind.complete:
            state = try EncodedDocument(rest)
            delta = nil
        case Kind.delta:
            state = nil
            delta = try EncodedDocument(rest)
        case Kind.both:
            var reader = ByteReader(rest)
            state = try EncodedDocument(
                try reader.readLengthPrefixed(limit: EncodedDocument.maximumLength))
            delta = try EncodedDocument(try reader.readBytes(reader.remaining))
        default: throw .unexpected(kind, at: 0)
        }
        isComplete = kind == Kind.complete
        if let state, state.isPartial { throw .invalid("a partial state", at: 1) }
        if let delta, !delta.isPartial { throw .invalid("a complete delta", at: 1) }
    }

    /// Returns the document of a payload with only a state; nil for other payloads.
    @inline(__always)
    package static func plainState(_ bytes: UnsafeRawBufferPointer) throws(Malformed)
        -> EncodedDocument?
    {
        guard let kind = bytes.first, kind == Kind.state || kind == Kind.complete else {
            return nil
        }
        let state = try EncodedDocument(UnsafeRawBufferPointer(rebasing: bytes.dropFirst()))
        return state.isPartial ? nil : state
    }

    /// Returns the version vector of the document after the operation.
    package func vector() throws(Malformed) -> VersionVector {
        guard let document = state ?? delta else { return VersionVector() }
        return try document.vector()
    }

    /// Returns the version vector of the document before the operation.
    package func baseVector() throws(Malformed) -> VersionVector {
        guard let document = state ?? delta else { return VersionVector() }
        return try document.baseVector()
    }

    /// Encodes a complete document whose base identifies the changed parts.
    package static func encode(state: [UInt8]) -> [UInt8] { [Kind.state] + state }

    /// Encodes a delta alone.
    package static func encode(delta: [UInt8]) -> [UInt8] { [Kind.delta] + delta }

    /// Encodes a complete document, followed by its delta.
    package static func encode(state: [UInt8], delta: [UInt8]) -> [UInt8] {
        var writer = ByteWriter(capacity: state.count + delta.count + 6)
        writer.write(Kind.both)
        state.withUnsafeBytes { writer.writeLengthPrefixed($0) }
        writer.write(delta)
        return writer.bytes
    }
}
