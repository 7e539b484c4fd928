import SheafBytes
import SheafDocument
import SheafTestSupport
import Testing

/// The vectors of `format-spec/keys.md`.
@Suite struct KeyVectorTests {
    private func read(_ bytes: [UInt8], _ descending: [Bool]) throws -> [Value?] {
        try bytes.withUnsafeBytes { try SortKeyReader.read($0, descending: descending) }
    }

    @Test func `keys are encoded and ordered as specified`() throws {
        let vectors = try FormatVectors("keys.txt")
        var before: (directions: String, key: [UInt8], components: [UInt8])?
        var count = 0
        for name in vectors.cases where vectors.has("\(name).key") {
            count += 1
            let directions = try vectors.text("\(name).directions")
            let descending = directions.map { $0 == "d" }
            let json = try Value(jsonBytes: vectors.bytes("\(name).json"))
            guard case .array(let values) = json else {
                Issue.record("\(name) is not an array")
                continue
            }
            var writer = SortKeyWriter()
            var expected: [Value?] = []
            for (index, isDescending) in descending.enumerated() {
                expected.append(index < values.count ? values[index] : nil)
                writer.append(expected[index], descending: isDescending)
            }
            let key = try vectors.bytes("\(name).key")
            #expect(writer.bytes == key, "\(name)")
            let found = try read(key, descending)
            #expect(found.map { $0?.json } == expected.map { $0?.json }, "\(name)")
            if let before, before.directions == directions {
                let isEqual = vectors.has("\(name).equal")
                #expect((before.components == writer.components) == isEqual, "\(name)")
                if !isEqual { #expect(before.key.lexicographicallyPrecedes(key), "\(name)") }
            }
            before = (directions, key, writer.components)
        }
        #expect(count == 87)
    }

    @Test func `an invalid key is refused`() throws {
        let vectors = try FormatVectors("keys.txt")
        var count = 0
        for name in vectors.cases where vectors.has("\(name).refused") {
            count += 1
            let descending = try vectors.text("\(name).directions").map { $0 == "d" }
            let bytes = try vectors.bytes("\(name).refused")
            #expect(throws: Malformed.self, "\(name)") { try read(bytes, descending) }
        }
        #expect(count == 22)
    }

    @Test func `bytes, NaN and infinities have keys, and decode from them`() throws {
        let cases: [(Value, [UInt8])] = [
            (.bytes([0, 1, 2]), [0x30, 1, 1, 1, 2, 2, 0]),
            (.float(.nan), [0x20, 0xFF, 0xF8, 0, 0, 0, 0, 0, 0, 1]),
            (.float(.infinity), [0x20, 0xFF, 0xF0, 0, 0, 0, 0, 0, 0, 0, 0, 1]),
            (.float(-.infinity), [0x20, 0x00, 0x0F, 255, 255, 255, 255, 255, 255, 0, 0, 1]),
        ]
        for (value, key) in cases {
            var writer = SortKeyWriter()
            writer.append(value)
            #expect(writer.bytes == key && SortKey.identity(of: value) == writer.components)
            #expect(try read(key, [false]) == [value])
        }
    }
}
