/// A key of 24 bytes, stored inline.
struct Key {
    static let size = 24

    /// The words in memory order.
    private var words: (UInt64, UInt64, UInt64)

    /// Creates a key from three words, most significant first.
    init(_ first: UInt64, _ second: UInt64, _ third: UInt64) {
        words = (first.bigEndian, second.bigEndian, third.bigEndian)
    }

    /// Calls `body` with the bytes of the key.
    @inline(__always)
    func withBytes<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        var copy = words
        return try withUnsafeBytes(of: &copy, body)
    }
}
