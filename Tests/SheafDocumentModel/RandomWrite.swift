import SheafDocument
import SheafTestSupport

/// A generator of random operations on few fields, with conflicting types.
package struct RandomWrite {
    private var random: SeededRandom

    package init(seed: UInt64) {
        random = SeededRandom(seed: seed, "writes")
    }

    private static let paths: [[String]] = [
        ["a"], ["b"], ["a", "x"], ["a", "y"], ["a", "x", "q"], ["b", "x"],
    ]

    /// Names that are easily confused with other names or with separators.
    private static let hardPaths: [[String]] = [
        ["caf\u{E9}"], ["cafe\u{301}"], [""], ["", "a"], ["a/x"], ["|\\\0\u{7F}"],
    ]

    private static let values: [Value] = [
        0, 1, 2, 1.0, 0.5, .float(-0.0), .float(.nan), "s", "", .null, true, [], [1, 2], [1, 2.0],
        .bytes([0, 1]), [:], ["x": 1], ["x": ["q": 2]], ["x": 3, "y": [:]],
    ]

    private static let numbers: [Number] = [
        .integer(0), .integer(1), .integer(7), .integer(-3), .float(0.5), .float(0.1), .float(0.2),
        .integer(.max), .integer(.min),
    ]

    /// Returns a random write for an existing or a nonexistent document.
    package mutating func write(isPresent: Bool) -> ModelWrite {
        // Statements edit existing documents; a few edits of nonexistent ones are still drawn.
        let edits = isPresent ? 24 : 1
        switch random.below(edits + 8) {
        case 0, 1: return .insert(object())
        case 2, 3: return .insertDifferences(object())
        case 4, 5, 6: return .insertInitial(object())
        case 7: return isPresent ? .delete : .insertInitial(object())
        default: return .edit((0...random.below(3)).map { _ in edit() })
        }
    }

    private mutating func edit() -> Edit {
        let path = path()
        switch random.below(16) {
        case 0: return .set(path: [], to: .object(object()))
        case 1: return .set(path: path, to: value(), as: .register)
        case 2: return .set(path: path, to: value(), as: .attachment)
        case 3, 4: return .unset(path: path)
        case 5: return .unset(path: path, parts: PartSet(rawValue: UInt8(random.below(32))))
        case 6, 7, 8: return .increment(path: path, by: number())
        case 9: return .restart(path: path, with: number())
        case 10, 11: return .incrementOlder(path: path, by: number())
        default: return .set(path: path, to: value())
        }
    }

    private mutating func object() -> Object {
        let names = ["a", "b", "c"]
        return Object((0..<random.below(4)).map { _ in (names[random.below(3)], value()) })
    }

    private mutating func path() -> [String] {
        let paths = random.chance(1, in: 20) ? Self.hardPaths : Self.paths
        return paths[random.below(paths.count)]
    }

    private mutating func value() -> Value { Self.values[random.below(Self.values.count)] }

    private mutating func number() -> Number { Self.numbers[random.below(Self.numbers.count)] }
}
