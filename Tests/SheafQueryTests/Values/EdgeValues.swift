import SheafDocument
import SheafQuery

/// Edge cases for operators and functions.
enum EdgeValues {
    static let all: [Value?] = [
        nil, .null, true, false,
        0, 1, -1, 2, 7, 63, 64, .integer(1 << 53), .integer(1 << 53 + 1), .integer(.max),
        .integer(.min),
        0.0, -0.0, 1.0, -2.5, 0.1, 9_007_199_254_740_992.0, .float(0x1p63), .float(-0x1p63),
        .float(.greatestFiniteMagnitude), .float(.leastNonzeroMagnitude), .float(.infinity),
        .float(-.infinity), .float(.nan),
        "", "a", "caf\u{E9}", "cafe\u{301}", "42", "true", .bytes([]), .bytes([0x61]),
        .bytes([0xFF]),
        [], [1, .null], [1.0, .null], [:], ["a": 1, "b": .null], ["b": .null, "a": 1.0],
    ]

    /// A smaller set with each type, for tests that combine three values.
    static let few: [Value?] = [
        nil, .null, true, 0, -3, .integer(.max), .integer(.min), 2.5, .float(.nan), "", "a", "b",
        .bytes([1]), [1, .null], ["a": 1, "b": 2],
    ]
}

/// Returns a value as text that distinguishes 1 from 1.0, and strings from bytes.
func spelled(_ value: Value?) -> String {
    switch value {
    case nil: "MISSING"
    case .float(let float): "\(float)"
    case .bytes(let bytes): "bytes \(bytes)"
    case .array(let values): "[\(values.map { spelled($0) }.joined(separator: ", "))]"
    case .object(let object):
        "{\(object.map { "\($0.name): \(spelled($0.value))" }.joined(separator: ", "))}"
    case .some(let value): value.json
    }
}
