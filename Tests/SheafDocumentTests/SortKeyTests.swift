import SheafBytes
import SheafDocument
import SheafTestSupport
import Testing

@Suite struct SortKeyTests {
    private let seed: UInt64 = 31

    private func key(_ values: [Value?], _ descending: [Bool]) -> [UInt8] {
        var writer = SortKeyWriter()
        for (value, isDescending) in zip(values, descending) {
            writer.append(value, descending: isDescending)
        }
        return writer.bytes
    }

    /// Returns the order of two lists of values, computed naively; MISSING sorts last.
    private func order(_ left: [Value?], _ right: [Value?], _ descending: [Bool]) -> Int {
        for index in left.indices {
            let result: Int
            switch (left[index], right[index]) {
            case (nil, nil): result = 0
            case (nil, _): result = 1
            case (_, nil): result = -1
            case (let left?, let right?): result = left < right ? -1 : left == right ? 0 : 1
            }
            if result != 0 { return descending[index] ? -result : result }
        }
        return 0
    }

    @Test func `keys are ordered and equal as their values are`() {
        var values = RandomValue(seed: seed)
        for _ in 0..<20_000 {
            let count = 1 + values.random.below(3)
            let descending = (0..<count).map { _ in values.random.chance(1, in: 2) }
            func draw() -> [Value?] {
                (0..<count).map { _ in values.random.chance(1, in: 9) ? nil : values.value() }
            }
            let left = draw()
            var right = draw()
            // Often only the last component differs.
            if values.random.chance(2, in: 3) { right = left.dropLast() + right.suffix(1) }
            var (first, second) = (SortKeyWriter(), SortKeyWriter())
            for index in 0..<count {
                first.append(left[index], descending: descending[index])
                second.append(right[index], descending: descending[index])
            }
            let expected = order(left, right, descending)
            let isBefore = first.components.lexicographicallyPrecedes(second.components)
            #expect(isBefore == (expected < 0), "\(left) \(right) \(descending)")
            #expect((first.components == second.components) == (expected == 0))
            if expected != 0 {
                #expect(first.bytes.lexicographicallyPrecedes(second.bytes) == isBefore)
            }
        }
    }

    @Test func `values decode from their keys, which distinguish 1 from 1.0`() throws {
        var values = RandomValue(seed: seed)
        for _ in 0..<20_000 {
            let count = 1 + values.random.below(4)
            let descending = (0..<count).map { _ in values.random.chance(1, in: 2) }
            let drawn: [Value?] = (0..<count).map { _ in
                values.random.chance(1, in: 9) ? nil : values.value()
            }
            let bytes = key(drawn, descending)
            let read = try bytes.withUnsafeBytes {
                try SortKeyReader.read($0, descending: descending)
            }
            #expect(read == drawn)
            // Compares bytes, because 1 and 1.0 are equal as values.
            #expect(key(read, descending) == bytes)
        }
    }

    @Test func `a key made of an encoded field equals that of its value`() throws {
        var values = RandomValue(seed: seed, "encoded fields")
        var writer = SortKeyWriter()
        let stamp = Stamp(HybridTime(rawValue: 5), Site(rawValue: 1))
        for _ in 0..<600 {
            let names =
                try values.random.chance(1, in: 2) ? NameTable() : #require(NameTable(["f"]))
            let value = values.random.chance(1, in: 8) ? nil : values.value()
            let isDescending = values.random.chance(1, in: 2)
            let object: Object = value.map { ["f": $0] } ?? [:]
            let bytes = try Insertion.document(object, at: stamp, names)
            writer.restart(behind: [7])
            try bytes.withUnsafeBytes {
                try writer.append(
                    valueAt: [FieldName("f", in: names)], of: EncodedDocument($0),
                    descending: isDescending, names)
            }
            var expected = SortKeyWriter(behind: [7])
            expected.append(value, descending: isDescending)
            #expect(writer.bytes == expected.bytes, "\(object)")
        }
    }

    @Test func `a truncated or corrupted key does not decode as another one`() {
        var values = RandomValue(seed: seed)
        for _ in 0..<300 {
            let descending = [values.random.chance(1, in: 2), false]
            let bytes = key([values.value(), values.value()], descending)
            for length in 0..<bytes.count { expectSelf(Array(bytes[..<length]), descending) }
            for bit in 0..<bytes.count * 8 {
                var changed = bytes
                changed[bit / 8] ^= 1 << UInt8(bit % 8)
                expectSelf(changed, descending)
            }
        }
    }

    /// Checks that a key that decodes is the canonical key of its values.
    private func expectSelf(_ bytes: [UInt8], _ descending: [Bool]) {
        let read = bytes.withUnsafeBytes { try? SortKeyReader.read($0, descending: descending) }
        guard let read else { return }
        #expect(key(read, descending) == bytes, "\(read)")
    }

    @Test func `a malformed key is refused at the offset of its first wrong byte`() {
        /// Returns the key of the number 1 with a trailer.
        func one(_ trailer: UInt8) -> [UInt8] {
            [0x20, 0xBF, 0xF0, 0, 0, 0, 0, 0, 0, trailer]
        }
        // The greatest float below 2^63, before its remainder.
        let greatest: [UInt8] = [0x20, 0xC3, 0xDF] + [UInt8](repeating: 0xFF, count: 6)
        let limit = Value.maximumDepth
        let deep =
            [UInt8](repeating: 0x50, count: limit + 1) + [UInt8](repeating: 0, count: limit + 1)
        let cases: [(bytes: [UInt8], isDescending: Bool, error: Malformed)] = [
            ([], false, .truncated(at: 0)),
            ([0x99], false, .unexpected(0x99, at: 0)),
            // The end of a container outside of any.
            ([0x00], false, .unexpected(0x00, at: 0)),
            ([0xFF], true, .unexpected(0x00, at: 0)),
            // Texts without an end, with an unknown escape, and with invalid UTF-8.
            ([0x40, 0x61], false, .truncated(at: 2)),
            ([0x40, 0x01, 0x03, 0x00], false, .unexpected(0x03, at: 2)),
            ([0x40, 0x61, 0x01, 0x00], false, .unexpected(0x00, at: 3)),
            ([0xBF, 0x9E, 0xFE, 0xFC, 0xFF], true, .unexpected(0x03, at: 3)),
            ([0x40, 0xFF, 0x00], false, .notText(at: 1)),
            ([0x40, 0x01, 0x02, 0xFF, 0x00], false, .unexpected(0x40, at: 1)),
            ([0xBF, 0x00, 0xFF], true, .unexpected(0x40, at: 1)),
            // Containers of a missing value, of a value without a name, and of unsorted names.
            ([0x50, 0x80, 0x00], false, .unexpected(0x80, at: 1)),
            ([0x60, 0x10, 0x00], false, .unexpected(0x10, at: 1)),
            (
                [0x60, 0x40, 0x62, 0x00, 0x70, 0x40, 0x61, 0x00, 0x70, 0x00], false,
                .unexpected(0x40, at: 1)
            ),
            (deep, false, .tooDeep(at: limit, limit: limit)),
            // A short number, and trailers that are too long or have an impossible type.
            ([0x20, 0xBF], false, .truncated(at: 2)),
            ([0x10, 0x01], false, .unexpected(0x01, at: 1)),
            (one(0x00), false, .unexpected(0x00, at: 9)),
            (one(0x05), false, .unexpected(0x05, at: 9)),
            (one(0x03), false, .unexpected(0x03, at: 9)),
            (one(0x02), false, .unexpected(0xBF, at: 1)),
            // Sums of a float and a remainder that are greater than all integers.
            (greatest + [0x04, 0x00], false, .unexpected(0xC3, at: 1)),
            (greatest + [0xFF, 0xFF], false, .unexpected(0xC3, at: 1)),
        ]
        for (bytes, isDescending, expected) in cases {
            let error = #expect(throws: Malformed.self) {
                try bytes.withUnsafeBytes {
                    _ = try SortKeyReader.read($0, descending: [isDescending])
                }
            }
            #expect(error == expected, "\(bytes)")
        }
    }

    @Test func `an unfinished text decodes unless it ends within an escape or a scalar`() {
        func read(_ bytes: [UInt8]) -> String? { SortKeyReader.readText(beginning: bytes) }
        for text in ["", "a", "a\0b", "\u{1}", "\u{E9}\0", "\0\u{1}\0"] {
            let bytes = Array(key([.string(text)], [false]).dropLast())
            #expect(read(bytes) == text)
            #expect(read(bytes + [0x00]) == nil)
            #expect(read(bytes + [0x01]) == nil)
            #expect(read(bytes + [0x01, 0x00]) == nil)
            #expect(read(bytes + [0x01, 0x03]) == nil)
            #expect(read(bytes + [0xC3]) == nil)
        }
        #expect(read([]) == nil)
        #expect(read([0x30, 0x61]) == nil)
    }

    @Test func `a small integer key has nine bytes, and a string key two more than its UTF-8`() {
        #expect(key([42], [false]).count == 9)
        #expect(key([0.5], [false]).count == 10)
        #expect(key(["abc"], [false]) == [0x40, 0x61, 0x62, 0x63, 0])
        #expect(key([nil, true], [false, true]) == [0x80, 0xEE])
    }
}
