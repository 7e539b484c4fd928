import SheafDocument
import SheafTestSupport
import Testing

@Suite struct ValueTests {
    private let seed: UInt64 = 7

    @Test func `the order of values is total, and equal values have equal hashes`() {
        var values = RandomValue(seed: seed)
        for _ in 0..<30_000 {
            let (a, b, c) = (values.value(), values.value(), values.value())
            #expect(a == a && !(a < a))
            #expect((a < b) == (b > a) && (a == b) == (b == a))
            #expect((a < b ? 1 : 0) + (a == b ? 1 : 0) + (a > b ? 1 : 0) == 1)
            if a < b, b < c { #expect(a < c) }
            if a == b {
                #expect(a.hashValue == b.hashValue)
                #expect((a < c) == (b < c))
            }
        }
    }

    @Test func `values of different types are ordered as specified`() {
        let ascending: [Value] = [
            false, true, .float(-.infinity), -5, -0.5, 0, 0.5, 1, 9_007_199_254_740_992,
            9_007_199_254_740_993, .float(.infinity), .float(.nan), .bytes([]), .bytes([0]), "",
            "a", "a\0", "b", "cafe\u{301}", "caf\u{E9}", [], [1], [1, 2], [2], [:], ["a": 1],
            ["a": 1, "b": 2], ["a": 2], ["b": 0], .null,
        ]
        #expect(ascending.shuffled().sorted() == ascending)
        for (index, value) in ascending.enumerated() {
            for other in ascending[(index + 1)...] { #expect(value < other && value != other) }
        }
    }

    @Test func `an integer and a float are equal only if they are the same number`() {
        #expect(Value.integer(1) == 1.0 && Value.float(-0.0) == 0 && .float(.nan) == .float(.nan))
        #expect(Value.integer(.max) != .float(0x1p63) && Value.integer(.max) < .float(0x1p63))
        #expect(Value.integer(.min) == .float(-0x1p63))
        #expect(Value.integer(1 << 53 + 1) != .float(0x1p53))
    }

    @Test func `names are compared by their bytes, and the order of fields does not matter`() {
        let object: Value = ["caf\u{E9}": 1, "cafe\u{301}": 2, "": 3, "\0": 4]
        #expect(object["caf\u{E9}"] == 1 && object["cafe\u{301}"] == 2)
        #expect(object[""] == 3 && object["\0"] == 4 && object["cafe"] == nil)
        #expect(["a": 1, "b": 2] as Value == ["b": 2, "a": 1])
        #expect(["a": 1, "a": 2] as Value == ["a": 2])
    }

    @Test func `fields stay sorted when they are set and removed`() {
        var object = Object()
        var model: [String: Value] = [:]
        var values = RandomValue(seed: seed)
        let names = ["", "a", "b", "c", "ab", "\u{1F600}", "z"]
        for _ in 0..<2_000 {
            let name = names[values.random.below(names.count)]
            let value = values.random.chance(1, in: 3) ? nil : values.value(depth: 0)
            object[name] = value
            model[name] = value
            #expect(object.count == model.count)
            for name in names { #expect(object[name] == model[name]) }
        }
        let bytes = object.map { Array($0.name.utf8) }
        #expect(bytes == bytes.sorted { $0.lexicographicallyPrecedes($1) })
    }

    @Test func `a path through a value that is not an object yields nil`() {
        let value: Value = ["a": ["b": [1, 2]], "c": 3]
        #expect(value["a", "b"] == [1, 2] && value["c"] == 3)
        #expect(value["a", "b", "c"] == nil && value["c", "d"] == nil && value["x"] == nil)
    }

    @Test(arguments: [0, 1, 2, 8, 9, 23, 24, 25, 60])
    func `an object of any size keeps the last field of each name, in the order of bytes`(
        count: Int
    ) {
        var random = SeededRandom(seed: UInt64(count), "objects")
        let parts = ["", "\0", "a", "b", "\u{E9}", "e\u{301}", "\u{1F600}"]
        for _ in 0..<60 {
            var elements: [(String, Value)] = []
            var model: [[UInt8]: Value] = [:]
            for number in 0..<count {
                // Most names have the first eight bytes in common.
                let start = random.chance(3, in: 4) ? "the name" : ""
                let name =
                    start + parts[random.below(parts.count)] + parts[random.below(parts.count)]
                elements.append((name, .integer(Int64(number))))
                model[Array(name.utf8)] = .integer(Int64(number))
            }
            let object = Object(elements)
            let expected = model.keys.sorted { $0.lexicographicallyPrecedes($1) }
            #expect(object.map { Array($0.name.utf8) } == expected)
            #expect(object.map(\.value) == expected.compactMap { model[$0] })
            for (name, _) in elements {
                #expect(object[name] == model[Array(name.utf8)])
                #expect(object[name + "c"] == model[Array((name + "c").utf8)])
            }
        }
    }

    @Test func `texts of any length are compared by their bytes`() {
        var random = SeededRandom(seed: seed, "bytes")
        let bytes: [UInt8] = [0, 0x61, 0x62, 0x7F, 0x80, 0xFF]
        for _ in 0..<2_000 {
            let left = (0..<random.below(20)).map { _ in bytes[random.below(bytes.count)] }
            var right = Array(left.prefix(random.below(20)))
            if random.chance(1, in: 2), !right.isEmpty {
                right[random.below(right.count)] = bytes[random.below(bytes.count)]
            }
            right += left.dropFirst(right.count).prefix(random.below(20))
            let order = left.withUnsafeBytes { left in
                right.withUnsafeBytes { UTF8Order.compare(left, $0) }
            }
            #expect((order < 0) == left.lexicographicallyPrecedes(right), "\(left) \(right)")
            #expect((order == 0) == (left == right), "\(left) \(right)")
            let reverse = right.withUnsafeBytes { right in
                left.withUnsafeBytes { UTF8Order.compare(right, $0) }
            }
            #expect(reverse.signum() == -order.signum(), "\(left) \(right)")
        }
    }

    @Test func `a sum of integers has 64 bits, and a float makes it a float`() {
        let cases: [(numbers: [Number], sum: Number)] = [
            ([], .integer(0)), ([.integer(2), .integer(-3)], .integer(-1)),
            ([.integer(.max), .integer(1)], .integer(.max)),
            ([.integer(.max), .integer(.max), .integer(-5)], .integer(.max)),
            ([.integer(.max), .integer(1), .integer(-5)], .integer(.max - 4)),
            ([.integer(.min), .integer(-1)], .integer(.min)),
            ([.integer(.min), .integer(-1), .integer(3)], .integer(.min + 2)),
            ([.float(0.5), .integer(2), .float(0.25)], .float(2.75)),
            ([.integer(1), .float(0)], .float(1)),
            // Integers are added before the sum is rounded.
            ([.integer(.max), .integer(.max), .float(0)], .float(0x1p64)),
        ]
        for (numbers, sum) in cases { #expect(Number.sum(numbers) == sum, "\(numbers)") }
        #expect(Number(.integer(3)) == .integer(3) && Number(.float(3)) == .float(3))
        #expect(Number("3") == nil && Number(.null) == nil)
        #expect(Number.integer(3).value.isIdentical(to: 3))
        #expect(Number.float(3).value.isIdentical(to: 3.0))
    }

    @Test func `a value has the content of its own type only`() {
        let values: [Value] = [.null, true, 7, 7.5, "text", .bytes([1]), [1, 2], ["a": 1]]
        #expect(values.map(\.isNull) == values.map { $0 == .null })
        #expect(values.map(\.bool) == [nil, true, nil, nil, nil, nil, nil, nil])
        #expect(values.map(\.int) == [nil, nil, 7, nil, nil, nil, nil, nil])
        #expect(values.map(\.double) == [nil, nil, 7, 7.5, nil, nil, nil, nil])
        #expect(values.map(\.string) == [nil, nil, nil, nil, "text", nil, nil, nil])
        #expect(values.map(\.bytes) == [nil, nil, nil, nil, nil, [1], nil, nil])
        #expect(values.map(\.array) == [nil, nil, nil, nil, nil, nil, [1, 2], nil])
        #expect(values.map(\.object) == [nil, nil, nil, nil, nil, nil, nil, ["a": 1]])
        #expect(Value.float(-3).int == -3 && Value.float(0x1p63).int == nil)
        let array: Value = [1, 2]
        #expect(array[0] == 1 && array[1] == 2 && array[2] == nil && array[-1] == nil)
    }

    @Test func `the depth of a value counts its arrays and objects`() {
        let cases: [(value: Value, depth: Int)] = [
            (1, 0), ("a", 0), ([], 1), ([:], 1), ([1, [2], 3], 2), (["a": [1, ["b": []]]], 4),
            ([[], [[]], []], 3), (["a": 1, "b": ["c": 1]], 2),
        ]
        for (value, depth) in cases {
            for limit in 0...5 {
                #expect(value.isDeeper(than: limit) == (depth > limit), "\(value), \(limit)")
            }
            #expect(value.isDeeper(than: -1))
        }
    }

    @Test func `identical values have the same type, content and sign`() {
        let values: [Value] = [
            .null, true, false, 1, 1.0, 2, 0.0, .float(-0.0), .float(.nan), "a", "b", "caf\u{E9}",
            "cafe\u{301}", .bytes([1]), .bytes([2]), [], [1], [1.0], [1, 2], [:], ["a": 1],
            ["a": 1.0], ["b": 1], ["a": 1, "b": 2], ["a": [1]], ["a": [1.0]],
        ]
        for (number, value) in values.enumerated() {
            let identical = values.indices.filter { values[$0].isIdentical(to: value) }
            #expect(identical == [number], "\(value)")
        }
    }
}
