/// An endless list of keys and payloads, determined by a seed.
package struct Entries: Sendable {
    /// The length of every payload.
    static let payloadSize = 250

    /// The order of keys.
    enum Order {
        case random, rising
    }

    private let order: Order
    private let seed: UInt64
    /// The number of distinct keys, repeated in random order; nil if all keys are distinct.
    private let distinct: UInt64?
    private let draw: UInt64

    /// Creates endless entries with distinct keys.
    init(_ order: Order, seed: UInt64 = 1) {
        self.order = order
        self.seed = seed
        distinct = nil
        draw = 0
    }

    private init(_ all: Entries, distinct: UInt64, draw: UInt64) {
        order = all.order
        seed = all.seed
        self.distinct = distinct
        self.draw = draw
    }

    /// Returns endless entries with the first `count` keys, repeated in random order.
    func drawn(from count: Int, draw: UInt64) -> Entries {
        Entries(self, distinct: UInt64(count), draw: draw)
    }

    /// Returns the key at `index`.
    @inline(__always)
    func key(_ index: UInt64) -> Key {
        var number = index
        if let distinct { number = Self.mix(index ^ (draw << 40)) % distinct }
        let random = Self.mix(number &+ seed &* 0x9E37_79B9_7F4A_7C15)
        let second = Self.mix(random)
        let third = Self.mix(second)
        let first = order == .random ? random : number
        // The first byte is neither 0 nor 255, which the engine reserves.
        return Key(first & ~(1 << 57) | 1 << 56, second, third)
    }

    /// Returns the payload at `index`: incompressible random bytes.
    @inline(__always)
    func payload(_ index: UInt64) -> UnsafeRawBufferPointer {
        let start = Int((index ^ draw) &* 31 % UInt64(Self.poolSize))
        return UnsafeRawBufferPointer(rebasing: Self.pool[start..<start + Self.payloadSize])
    }

    private static let poolSize = 1 << 16

    /// A pool in which payloads overlap; generating fresh bytes would cost more than storing them.
    nonisolated(unsafe) private static let pool: UnsafeRawBufferPointer = {
        let count = poolSize + payloadSize
        let pool = UnsafeMutableRawBufferPointer.allocate(byteCount: count, alignment: 16)
        for offset in 0..<count {
            pool[offset] = UInt8(truncatingIfNeeded: mix(UInt64(offset)))
        }
        return UnsafeRawBufferPointer(pool)
    }()

    /// Mixes 64 bits; the function is a bijection.
    @inline(__always)
    package static func mix(_ value: UInt64) -> UInt64 {
        var mixed = value &+ 0x9E37_79B9_7F4A_7C15
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
