/// An endless list of keys and payloads that its seed fixes.
struct Entries: Sendable {
    /// How long every payload is.
    static let payloadSize = 250

    /// How keys follow one another.
    enum Order {
        case random, rising
    }

    private let order: Order
    private let seed: UInt64
    /// Keys come from this many, in random turns; none means that no key comes twice.
    private let distinct: UInt64?
    private let draw: UInt64

    /// Entries without end, no key of which comes twice.
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

    /// The first `count` keys of these entries, again and again in random turns.
    func drawn(from count: Int, draw: UInt64) -> Entries {
        Entries(self, distinct: UInt64(count), draw: draw)
    }

    /// The key at `index`.
    @inline(__always)
    func key(_ index: UInt64) -> Key {
        var number = index
        if let distinct { number = Self.mix(index ^ (draw << 40)) % distinct }
        let random = Self.mix(number &+ seed &* 0x9E37_79B9_7F4A_7C15)
        let second = Self.mix(random)
        let third = Self.mix(second)
        let first = order == .random ? random : number
        // The first byte is neither 0 nor 255: the engine has such keys for itself.
        return Key(first & ~(1 << 57) | 1 << 56, second, third)
    }

    /// The payload at `index`: random bytes, which no system can compress.
    @inline(__always)
    func payload(_ index: UInt64) -> UnsafeRawBufferPointer {
        let start = Int((index ^ draw) &* 31 % UInt64(Self.poolSize))
        return UnsafeRawBufferPointer(rebasing: Self.pool[start..<start + Self.payloadSize])
    }

    private static let poolSize = 1 << 16

    /// Payloads overlap in it: making fresh bytes would cost more than storing them.
    nonisolated(unsafe) private static let pool: UnsafeRawBufferPointer = {
        let count = poolSize + payloadSize
        let pool = UnsafeMutableRawBufferPointer.allocate(byteCount: count, alignment: 16)
        for offset in 0..<count {
            pool[offset] = UInt8(truncatingIfNeeded: mix(UInt64(offset)))
        }
        return UnsafeRawBufferPointer(pool)
    }()

    /// Spreads 64 bits; no two inputs have one output.
    @inline(__always)
    static func mix(_ value: UInt64) -> UInt64 {
        var mixed = value &+ 0x9E37_79B9_7F4A_7C15
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
