import SheafDocument

/// The memory in which transactions encode documents, one after the other.
package final class EncodingMemory: Sendable {
    /// Length of a document whose memory is released before the next one is encoded.
    private static let maximumKeptLength = 1 << 20

    // Writers take turns, so there is one user at a time.
    nonisolated(unsafe) private var encoder = NewDocumentEncoder(listsNames: false)
    nonisolated(unsafe) private var replacement = PlainReplacement()

    package init() {}

    /// Encodes a new document without the field `omitted`.
    func encode(
        _ object: Object, without omitted: String, at stamp: Stamp, _ names: NameTable
    ) throws(DocumentError) {
        if encoder.length > Self.maximumKeptLength {
            encoder = NewDocumentEncoder(listsNames: false)
        }
        try encoder.encode(object, without: omitted, at: stamp, names)
    }

    /// Whether the last encoded document spells out a field name.
    var spellsNames: Bool { encoder.spellsNames }

    /// Calls `body` with the state of the last encoded document.
    func withEncoded<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try body(encoder.bytes)
    }

    /// Returns the state of a new document without the field `omitted`.
    func document(
        _ object: Object, without omitted: String, at stamp: Stamp, _ names: NameTable
    ) throws(DocumentError) -> ChangedBytes {
        try encode(object, without: omitted, at: stamp, names)
        return ChangedBytes(
            bytes: Array(encoder.bytes), isDerivable: false, spellsNames: spellsNames)
    }

    /// Returns the state after edits that replace plain values; nil if a delta must be joined.
    func state(
        after edits: [Edit], in bytes: UnsafeRawBufferPointer, at stamp: Stamp, _ names: NameTable
    ) throws(DocumentError) -> [UInt8]? {
        try replacement.state(after: edits, in: bytes, at: stamp, names)
    }
}
