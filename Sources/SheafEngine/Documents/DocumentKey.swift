import SheafBytes

/// The key of a document with its hash, which is computed once.
package struct DocumentKey: Hashable, Sendable {
    package let bytes: [UInt8]
    let hash: UInt64

    /// A random seed, so that an attacker cannot construct ids that collide.
    private static let seed = UInt64.random(in: 0 ... .max)

    package init(_ bytes: [UInt8]) {
        self.bytes = bytes
        hash = bytes.span.withUnsafeBytes { XXH3.hash64($0, seed: Self.seed) }
    }

    /// Creates a key whose hash is known.
    package init(_ bytes: [UInt8], hash: UInt64) {
        self.bytes = bytes
        self.hash = hash
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(hash)
    }

    /// Mixes the stored hash with the seed of a dictionary, which is faster than hashing again.
    ///
    /// Without the seed, copying one dictionary into another would take quadratic time.
    package func _rawHashValue(seed: Int) -> Int {
        var mixed = (hash ^ UInt64(truncatingIfNeeded: seed)) &* 0x9E37_79B9_7F4A_7C15
        mixed ^= mixed >> 32
        return Int(truncatingIfNeeded: mixed)
    }

    package static func == (left: Self, right: Self) -> Bool {
        left.hash == right.hash && left.bytes == right.bytes
    }
}
