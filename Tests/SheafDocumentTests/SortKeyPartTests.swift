import SheafBytes
import SheafDocument
import SheafTestSupport
import Testing

/// Tests of keys that are read in part: their beginnings, their elements, and paths in ids.
@Suite struct SortKeyPartTests {
    private static let seed: UInt64 = 43

    /// A key of random components, and the offset at which each of them ends.
    private struct Key {
        var values: [Value?] = []
        var descending: [Bool] = []
        var ends: [Int] = []
        var writer = SortKeyWriter()

        mutating func append(_ value: Value?, descending isDescending: Bool) {
            values.append(value)
            descending.append(isDescending)
            writer.append(value, descending: isDescending)
            ends.append(writer.components.count)
        }

        init(_ random: inout RandomValue) {
            for _ in 0..<1 + random.random.below(3) {
                let value = random.random.chance(1, in: 9) ? nil : random.value(depth: 2)
                append(value, descending: random.random.chance(1, in: 2))
            }
        }
    }

    @Test func `the complete components of a truncated key are read, with their length`() {
        var random = RandomValue(seed: Self.seed, "beginnings")
        for round in 0..<150 {
            let key = Key(&random)
            let bytes = key.writer.components
            for length in 0...bytes.count {
                let complete = key.ends.prefix { $0 <= length }.count
                let found = bytes[..<length].withUnsafeBytes {
                    SortKeyReader.readBeginning($0, descending: key.descending)
                }
                #expect(found.values == Array(key.values[..<complete]), "round \(round), \(bytes)")
                #expect(found.length == (complete == 0 ? 0 : key.ends[complete - 1]))
            }
        }
    }

    @Test func `the length of the first components of a key is that of their bytes`() throws {
        var random = RandomValue(seed: Self.seed, "lengths")
        for _ in 0..<200 {
            let key = Key(&random)
            let bytes = key.writer.bytes
            for count in 0...key.values.count {
                let length = try bytes.withUnsafeBytes {
                    try SortKeyReader.length($0, descending: key.descending[..<count])
                }
                #expect(length == (count == 0 ? 0 : key.ends[count - 1]))
            }
        }
    }

    /// Whether an element has the value, or is one that must be decoded.
    private func matches(
        _ element: FieldElement, _ value: Value?, isDescending: Bool
    ) throws -> Bool {
        switch value {
        case nil: return element.kind == .missing
        case .null?: return element.kind == .null
        case .bool(let flag)?: return element.kind == (flag ? .yes : .no)
        case .integer(let integer)?: return element.kind == .integer && element.integer == integer
        case .float(let float)?:
            guard element.kind == .float else { return false }
            return float.isNaN
                ? element.float.isNaN : element.float.bitPattern == float.bitPattern
        case .string(let text)?:
            // Texts with escapes, and inverted ones, are not in the key as they are.
            let isPlain = !isDescending && text.utf8.allSatisfy { $0 > 1 }
            guard isPlain else { return element.kind == .other }
            guard element.kind == .string else { return false }
            let found = try element.value()
            return found == value && (element.textAddress == nil) == text.isEmpty
        case .bytes?, .array?, .object?: return element.kind == .other
        }
    }

    @Test func `the elements of a key are its values, and the rest is the id`() throws {
        var random = RandomValue(seed: Self.seed, "elements")
        let elements = UnsafeMutablePointer<FieldElement>.allocate(capacity: 4)
        defer { elements.deallocate() }
        for round in 0..<400 {
            var key = Key(&random)
            let count = key.values.count
            let ids: [Value] = [7, "id", ["a": [1, "\0"]], .bytes([0, 1]), ""]
            key.append(ids[round % 5], descending: false)
            try key.writer.bytes.withUnsafeBytes { bytes in
                let id = try SortKeyReader.readElements(
                    bytes, descending: key.descending, into: elements)
                #expect(id == key.ends[count - 1]..<key.ends[count], "round \(round)")
                for index in 0..<count {
                    let isRight = try matches(
                        elements[index], key.values[index], isDescending: key.descending[index])
                    #expect(isRight, "round \(round): \(key.values), element \(index)")
                }
            }
        }
        let incomplete: [UInt8] = [0x10, 0x40, 0x61]
        let error = #expect(throws: Malformed.self) {
            try incomplete.withUnsafeBytes {
                _ = try SortKeyReader.readElements($0, descending: [false, false], into: elements)
            }
        }
        #expect(error == .truncated(at: 3))
    }

    // MARK: Paths in ids

    private static let names = ["", "a", "b", "a\0", "\u{1}", "ab", "longer than eight bytes"]

    /// Returns a value that may be part of an id.
    private func part(_ random: inout SeededRandom, depth: Int) -> Value {
        switch random.below(depth > 0 ? 9 : 5) {
        case 0: return .bool(random.chance(1, in: 2))
        case 1: return .integer(RandomValue.integers[random.below(RandomValue.integers.count)])
        case 2: return .string(Self.names[random.below(Self.names.count)])
        case 3: return .bytes([0, 1, 2])
        case 4: return .array([1, "a\0", ["a": 2]])
        default:
            let count = random.below(4)
            return .object(
                Object(
                    (0..<count).map { _ in
                        (
                            Self.names[random.below(Self.names.count)],
                            part(&random, depth: depth - 1)
                        )
                    }))
        }
    }

    @Test func `a path in an id leads to the value that it has in the decoded id`() throws {
        var random = SeededRandom(seed: Self.seed, "paths")
        var found = 0
        for round in 0..<1_500 {
            let id = part(&random, depth: 3)
            let path = (0..<random.below(4)).map { _ in
                Self.names[random.below(Self.names.count)]
            }
            var expected: Value? = id
            for name in path { expected = expected?.object?[name] }
            try SortKey.identity(of: id).withUnsafeBytes { bytes in
                let value = try IDPath(path).value(in: bytes)
                #expect(value == expected, "round \(round): \(path) in \(id)")
                let element = try IDPath(path).element(in: bytes)
                let isRight = try matches(element, expected, isDescending: false)
                #expect(isRight, "round \(round): \(path) in \(id)")
            }
            if expected != nil { found += 1 }
        }
        #expect(found > 300 && found < 1_200)
    }
}
