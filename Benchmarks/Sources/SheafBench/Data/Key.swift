/// A key of 24 bytes, held in place.
struct Key {
    static let size = 24

    /// In memory order.
    private var words: (UInt64, UInt64, UInt64)

    /// A key whose bytes are those of three words, the most significant first.
    init(_ first: UInt64, _ second: UInt64, _ third: UInt64) {
        words = (first.bigEndian, second.bigEndian, third.bigEndian)
    }

    /// Lends the bytes.
    @inline(__always)
    func withBytes<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        var copy = words
        return try withUnsafeBytes(of: &copy, body)
    }
}
