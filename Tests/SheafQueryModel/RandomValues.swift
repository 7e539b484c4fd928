import SheafDocument
import SheafQuery
import SheafTestSupport

/// A generator of random values and documents, from few names and values so that they collide.
struct RandomValues {
    var random: SeededRandom

    static let fields = ["a", "b", "c", "o", "l", "s", "d"]
    static let paths: [[String]] = [
        ["a"], ["b"], ["c"], ["o"], ["l"], ["s"], ["d"], ["o", "x"], ["o", "y"], ["o", "z", "w"],
        ["_id"], ["_id", "k"], ["a", "x"], ["none"],
    ]

    static let ids: [Value] =
        (0..<14).map { .integer(Int64($0)) }
        + (0..<10).map { .string("d\($0)") } + [
            "", true, [1, "x"], ["k": 1], ["k": "x", "m": [true]], .bytes([0, 255]),
            .string(String(repeating: "i", count: 700)),
            .string(String(repeating: "i", count: 1_000)),
        ]

    private static let numbers: [Value] = [
        0, 1, 2, 3, -1, 7, 1.0, 2.5, 0.5, 3.0, .float(-0.0), .integer(1 << 53),
        .integer(1 << 53 - 1), .integer(1 << 53 + 1), .float(0x1p53), .integer(.max),
        .integer(.min), .float(0x1p63), -2.5,
    ]
    private static let texts: [Value] = [
        "", "a", "ab", "abc", "abd", "b", "B", "ba", "a%", "a_", "\u{E9}", "e\u{301}", "a\0",
        "a\0b",
        "1", "true", "z",
    ]
    private static let dates: [Value] = [
        "2024-01-01T00:00:00Z", "2024-01-01T02:00:00+02:00", "2023-12-31", 1_704_067_200_000,
        "2024-02-29T12:30:00.5Z",
    ]
    private static let arrays: [Value] = [
        [], [1], [1.0], [1, "a"], [.null], ["a", "ab"], [[1], ["x": 1]], [true, false], [1, 2, 3],
        [0, 1, 1.0, "a", .null],
    ]
    private static let objects: [Value] = [
        [:], ["x": 1], ["x": 1.0], ["x": "a", "y": 2], ["x": .null], ["z": ["w": 1]],
        ["z": ["w": "a"], "x": true], ["y": [1]],
    ]
    /// Long values, which may not fit in an index entry; the texts have a common prefix.
    private static let longTexts: [Value] = [
        .string(String(repeating: "long ", count: 60)),
        .string(String(repeating: "long ", count: 60) + "er"),
        .string(String(repeating: "long ", count: 120)),
        .array((0..<90).map { .float(Double($0)) }),
    ]

    init(seed: UInt64) {
        random = SeededRandom(seed: seed, "values")
    }

    mutating func pick<Element>(_ elements: [Element]) -> Element {
        elements[random.below(elements.count)]
    }

    mutating func id() -> Value { pick(Self.ids) }

    /// Returns a value of any type.
    mutating func value(isLong: Bool = false) -> Value {
        switch random.below(isLong ? 21 : 20) {
        case 0: .null
        case 1, 2: .bool(random.chance(1, in: 2))
        case 3..<10: random.chance(2, in: 3) ? .integer(Int64(random.below(5))) : pick(Self.numbers)
        case 10..<15: pick(Self.texts)
        case 15: pick(Self.dates)
        case 16, 17: pick(Self.arrays)
        case 18, 19: pick(Self.objects)
        default: pick(Self.longTexts)
        }
    }

    mutating func text() -> Value { pick(Self.texts) }
    mutating func number() -> Value { pick(Self.numbers) }

    /// Returns a document without an id.
    mutating func object(isLong: Bool) -> Object {
        var object = Object()
        for name in Self.fields where random.chance(2, in: 3) {
            object[name] =
                switch name {
                case _ where isLong && random.chance(1, in: 8): pick(Self.longTexts)
                case _ where random.chance(1, in: 4): value(isLong: isLong)
                case "a": .integer(Int64(random.below(6)))
                case "b": pick(Self.numbers)
                case "c": .bool(random.chance(1, in: 2))
                case "o": pick(Self.objects)
                case "l": pick(Self.arrays)
                case "s": pick(Self.texts)
                default: pick(Self.dates)
                }
        }
        // Changes of large documents are written as deltas.
        if random.chance(1, in: 3) {
            object["filler"] = .string(String(repeating: "filler ", count: 160 + random.below(60)))
        }
        return object
    }
}
