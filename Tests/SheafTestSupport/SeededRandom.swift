/// A random sequence determined by seed and stream name; streams are independent.
public struct SeededRandom: RandomNumberGenerator, Sendable {
    private var state: UInt64

    /// Starts the stream called `name` of `seed`.
    public init(seed: UInt64, _ name: StaticString = "") {
        state = seed
        name.withUTF8Buffer { bytes in
            for byte in bytes { state = (state ^ UInt64(byte)) &* 0x100_0000_01B3 }
        }
    }

    /// Returns the next 64 random bits.
    public mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    /// Returns a number in `0..<bound`.
    public mutating func below(_ bound: Int) -> Int {
        precondition(bound > 0, "The bound must be positive.")
        return Int(truncatingIfNeeded: next() % UInt64(bound))
    }

    /// Returns true with probability `numerator / denominator`.
    public mutating func chance(_ numerator: Int, in denominator: Int) -> Bool {
        below(denominator) < numerator
    }

    /// Returns `count` random bytes.
    public mutating func bytes(_ count: Int) -> [UInt8] {
        // A closure for each byte would take several times as long in a debug build.
        var bytes = [UInt8](repeating: 0, count: count)
        bytes.withUnsafeMutableBufferPointer { bytes in
            var index = 0
            while index < bytes.count {
                bytes[index] = UInt8(truncatingIfNeeded: next())
                index += 1
            }
        }
        return bytes
    }
}
