import SheafDocument
import SheafTestSupport

/// Random documents with hostile names and values.
struct RandomDocuments {
    private var random: SeededRandom

    init(seed: UInt64) {
        print("seed \(seed)")
        random = SeededRandom(seed: seed, "documents")
    }

    /// Names that differ in ways that formats may not distinguish.
    static let names = [
        "a", "A", "b|c", "x\"y", "it's", "comma,name", "line\nbreak", "back\\slash", "`tick`",
        "größe", "gro\u{308}ße", "select", "rowid", "_rowid_", "sqlite_x", "  spaces ", "{\"k\":1}",
        "*star*", "tab\there", "😀", "very_long_" + String(repeating: "x", count: 90),
    ]

    private static let texts = [
        "", "null", "true", "1", "-0", "007", "1.0", "1e5", "{}", "[1]", "a,b", "a\"b", "a\nb",
        "a\r\nb", " a ", "|", "\\", "<b>", "NaN", "größe", "😀", "\u{1}", "\u{7F}", "\u{2028}", "'",
        "--", "plain", "_u_", "`x`",
    ]

    /// Returns the documents of a collection whose columns have one type each.
    mutating func uniform(_ count: Int) -> [Object] {
        var kinds: [(name: String, kind: Int)] = []
        for name in Self.names where random.chance(2, in: 3) {
            kinds.append((name, random.below(6)))
        }
        let ids = random.below(2)
        return (0..<count).map { number in
            var object = Object()
            for (name, kind) in kinds where random.chance(3, in: 4) {
                object[name] = value(of: kind)
            }
            object["_id"] = ids == 0 ? .integer(Int64(number) - 3) : .string("id \(number)")
            return object
        }
    }

    /// Returns the documents of a collection with any values.
    mutating func mixed(_ count: Int) -> [Object] {
        (0..<count).map { number in
            var object = Object()
            for name in Self.names where random.chance(1, in: 2) {
                object[name] = value(of: random.below(8))
            }
            switch random.below(4) {
            case 0: object["_id"] = .integer(Int64(number))
            case 1: object["_id"] = .string("\(number)")
            case 2: object["_id"] = .array([.integer(Int64(number)), "x"])
            default: object["_id"] = .object(["n": .integer(Int64(number)), "b": true])
            }
            return object
        }
    }

    private mutating func value(of kind: Int) -> Value {
        switch kind {
        case 0: return .integer(integer())
        case 1: return .float(float())
        case 2: return .string(text())
        case 3: return .bool(random.chance(1, in: 2))
        case 4:
            return .array((0..<random.below(3)).map { _ in value(of: random.below(4)) })
        case 5: return .object(["k": value(of: random.below(5)), "größe": .null])
        case 6: return .null
        default: return .bytes(random.bytes(random.below(5)))
        }
    }

    private mutating func integer() -> Int64 {
        switch random.below(4) {
        case 0: .max
        case 1: .min
        case 2: Int64(random.below(10)) - 5
        default: Int64(truncatingIfNeeded: random.next())
        }
    }

    private mutating func float() -> Double {
        switch random.below(5) {
        case 0: -0.0
        case 1: 1e300
        case 2: .leastNonzeroMagnitude
        case 3: Double(random.below(100))
        default: Double(random.below(1_000_000)) / 997
        }
    }

    private mutating func text() -> String { Self.texts[random.below(Self.texts.count)] }
}
