package import SheafBytes

/// What an operation on a document holds (`format-spec/commits.md`, table 3).
///
/// Nothing of it is looked at before it is asked for.
package struct DocumentPayload {
    private enum Kind {
        static let state: UInt8 = 1
        static let delta: UInt8 = 2
        static let both: UInt8 = 3
        static let whole: UInt8 = 4
    }

    /// What a payload begins with that has a state, and nothing else.
    package static let stateKind = Kind.state

    /// The whole document; only a delta has none.
    package let state: EncodedDocument?
    /// What was touched, where the base of the state does not tell.
    package let delta: EncodedDocument?
    /// Whether all of the document was touched, also what is not in it any more.
    package let isWhole: Bool

    package init(_ bytes: UnsafeRawBufferPointer) throws(Malformed) {
        guard let kind = bytes.first else { throw .truncated(at: 0) }
        let rest = UnsafeRawBufferPointer(rebasing: bytes.dropFirst())
        switch kind {
        case Kind.state, Kind.whole:
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
        isWhole = kind == Kind.whole
        if let state, state.isPartial { throw .invalid("a state that is partial", at: 1) }
        if let delta, !delta.isPartial { throw .invalid("a delta that is whole", at: 1) }
    }

    /// The document in a payload that has nothing else; nil where there is more to be known.
    @inline(__always)
    package static func plainState(_ bytes: UnsafeRawBufferPointer) throws(Malformed)
        -> EncodedDocument?
    {
        guard let kind = bytes.first, kind == Kind.state || kind == Kind.whole else { return nil }
        let state = try EncodedDocument(UnsafeRawBufferPointer(rebasing: bytes.dropFirst()))
        return state.isPartial ? nil : state
    }

    /// What the document had seen when the operation was written.
    package func vector() throws(Malformed) -> VersionVector {
        guard let document = state ?? delta else { return VersionVector() }
        return try document.vector()
    }

    /// What it had seen before.
    package func baseVector() throws(Malformed) -> VersionVector {
        guard let document = state ?? delta else { return VersionVector() }
        return try document.baseVector()
    }

    /// An operation with a whole document, whose base tells what was touched.
    package static func encode(state: [UInt8]) -> [UInt8] { [Kind.state] + state }

    /// An operation with a whole document, all of which was touched.
    package static func encode(whole state: [UInt8]) -> [UInt8] { [Kind.whole] + state }

    /// An operation with what was touched alone.
    package static func encode(delta: [UInt8]) -> [UInt8] { [Kind.delta] + delta }

    /// An operation with a whole document, and what was touched beside it.
    package static func encode(state: [UInt8], delta: [UInt8]) -> [UInt8] {
        var writer = ByteWriter(capacity: state.count + delta.count + 6)
        writer.write(Kind.both)
        state.withUnsafeBytes { writer.writeLengthPrefixed($0) }
        writer.write(delta)
        return writer.bytes
    }
}
