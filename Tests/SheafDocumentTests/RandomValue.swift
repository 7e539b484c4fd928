import SheafDocument
import SheafTestSupport

/// A generator of difficult values: equal numbers of two types, strings that look alike.
struct RandomValue {
    var random: SeededRandom

    init(seed: UInt64, _ name: StaticString = "values") {
        random = SeededRandom(seed: seed, name)
    }

    static let strings = [
        "", "a", "b", "ab", "a\0", "a\0b", "\0", "\0\0", "caf\u{E9}", "cafe\u{301}", "\u{FFFF}",
        "\u{10FFFF}", "\u{1F600}", "e\u{301}", "f", "\r\n", "\"", "\\", "\u{7F}", "\u{1}", "a.b",
        "longer than eight bytes", "longer than eight bytes too",
    ]

    static let integers: [Int64] = [
        0, 1, -1, 2, 255, 1 << 53, 1 << 53 + 1, 1 << 53 + 2, -(1 << 53) - 1, .max, .max - 1, .min,
        .min + 1, .max - 1_023, .max - 511, 1 << 62, 1 << 62 + 1,
    ]

    static let floats: [Double] = [
        0, -0.0, 1, -1, 0.1, 1.5, 0x1p53, 0x1p53 + 2, 0x1p63, -0x1p63, 0x1p64, 1e300, -1e300,
        .infinity, -.infinity, .nan, .leastNonzeroMagnitude, .greatestFiniteMagnitude, 9.2e18,
    ]

    mutating func value(depth: Int = 3) -> Value {
        switch random.below(depth > 0 ? 12 : 8) {
        case 0: return .null
        case 1: return .bool(random.chance(1, in: 2))
        case 2: return .integer(Self.integers[random.below(Self.integers.count)])
        case 3: return .integer(Int64(bitPattern: random.next()) >> Int64(random.below(64)))
        case 4: return .float(Self.floats[random.below(Self.floats.count)])
        case 5: return .float(Double(bitPattern: random.next()))
        case 6: return .string(string())
        case 7: return .bytes(random.bytes(random.below(4)).map { $0 & 3 &* 0x55 })
        case 8, 9: return .array((0..<random.below(4)).map { _ in value(depth: depth - 1) })
        default: return .object(object(depth: depth - 1))
        }
    }

    mutating func string() -> String {
        Self.strings[random.below(Self.strings.count)]
    }

    mutating func object(depth: Int) -> Object {
        Object((0..<random.below(4)).map { _ in (string(), value(depth: depth)) })
    }
}
