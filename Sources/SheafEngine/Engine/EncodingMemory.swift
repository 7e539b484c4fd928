import SheafDocument

/// The memory in which transactions encode documents, one after the other.
package final class EncodingMemory: Sendable {
    /// Length of a document after which the memory is released.
    private static let maximumKeptLength = 1 << 20

    // Writers take turns, so there is one user at a time.
    nonisolated(unsafe) private var encoder = NewDocumentEncoder(listsNames: false)
    nonisolated(unsafe) private var replacement = PlainReplacement()

    package init() {}

    /// Returns the state of a new document without the field `omitted`.
    func document(
        _ object: Object, without omitted: String, at stamp: Stamp, _ names: NameTable
    ) throws(DocumentError) -> ChangedBytes {
        defer {
            if encoder.length > Self.maximumKeptLength {
                encoder = NewDocumentEncoder(listsNames: false)
            }
        }
        return try encoder.document(object, without: omitted, at: stamp, names)
    }

    /// Returns the state after edits that replace plain values; nil if a delta must be joined.
    func state(
        after edits: [Edit], in bytes: UnsafeRawBufferPointer, at stamp: Stamp, _ names: NameTable
    ) throws(DocumentError) -> [UInt8]? {
        try replacement.state(after: edits, in: bytes, at: stamp, names)
    }
}
