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
}
