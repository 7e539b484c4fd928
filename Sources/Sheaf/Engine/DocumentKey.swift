import SheafBytes

/// The key of a document, with a hash of its own: dictionaries would hash it byte by byte, and each of
/// them again.
struct DocumentKey: Hashable, Sendable {
    let bytes: [UInt8]
    private let hash: UInt64

    /// Nobody can know which ids collide.
    private static let seed = UInt64.random(in: 0 ... .max)

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
        hash = bytes.span.withUnsafeBytes { XXH3.hash64($0, seed: Self.seed) }
    }

    func hash(into hasher: inout Hasher) {
        hasher.combine(hash)
    }

    /// What a dictionary asks for: to hash a good hash again takes longer than all else that it does.
    ///
    /// It depends on the dictionary, or to copy one into another would take quadratic time.
    func _rawHashValue(seed: Int) -> Int {
        var mixed = (hash ^ UInt64(truncatingIfNeeded: seed)) &* 0x9E37_79B9_7F4A_7C15
        mixed ^= mixed >> 32
        return Int(truncatingIfNeeded: mixed)
    }

    static func == (left: Self, right: Self) -> Bool {
        left.hash == right.hash && left.bytes == right.bytes
    }
}
