import SheafTestSupport
import SheafText
import Testing

/// Tests of the walk over the scalars of UTF-8, and of the search for bytes in bytes.
@Suite struct TextBytesTests {
    private static let scalars: [Unicode.Scalar] = [
        "a", "\0", "\u{7F}", "\u{80}", "\u{E9}", "\u{7FF}", "\u{800}", "\u{20AC}", "\u{D7FF}",
        "\u{E000}", "\u{FFFF}", "\u{10000}", "\u{1F600}", "\u{10FFFF}",
    ]

    @Test func `each scalar of a text is decoded with its length, and found before its end`() {
        var random = SeededRandom(seed: 91, "scalars")
        for _ in 0..<300 {
            let scalars = (0..<random.below(8)).map { _ in
                Self.scalars[random.below(Self.scalars.count)]
            }
            let text = String(String.UnicodeScalarView(scalars))
            text.withBytes { bytes in
                var offset = 0
                for (index, scalar) in scalars.enumerated() {
                    let width = UTF8.width(scalar)
                    let decoded = UTF8Walk.decode(bytes, at: offset)
                    #expect(decoded == (scalar.value, width))
                    #expect(UTF8Walk.length(bytes, at: offset) == width)
                    #expect(UTF8Walk.offset(bytes, ofScalar: index) == offset)
                    offset += width
                    #expect(UTF8Walk.start(bytes, ofScalarBefore: offset) == offset - width)
                }
                #expect(UTF8Walk.decode(bytes, at: offset) == (UTF8Walk.none, 0))
                #expect(UTF8Walk.count(bytes) == scalars.count)
                for index in scalars.count...scalars.count + 2 {
                    #expect(UTF8Walk.offset(bytes, ofScalar: index) == bytes.count)
                }
            }
        }
    }

    @Test func `a walk over other bytes stays within them`() {
        let cases: [(bytes: [UInt8], lengths: [Int])] = [
            ([0xC3], [1]), ([0xE2, 0x82], [2]), ([0xF0, 0x9F, 0x98], [3]), ([0xFF], [1]),
            ([0x80, 0xBF], [1, 1]), ([0xBF, 0xC0, 0x41], [1, 2]), ([0xDF, 0xE0], [2]),
            ([0xE0, 0x41, 0x42, 0x43], [3, 1]), ([0xEF, 0xF0], [2]),
            ([0xF0, 0x41, 0x42, 0x43, 0x44], [4, 1]),
        ]
        for (bytes, lengths) in cases {
            bytes.withUnsafeBytes { bytes in
                var (offset, found) = (0, [Int]())
                while offset < bytes.count {
                    found.append(UTF8Walk.length(bytes, at: offset))
                    #expect(UTF8Walk.decode(bytes, at: offset).length == found.last)
                    offset += UTF8Walk.length(bytes, at: offset)
                }
                #expect(found == lengths && offset == bytes.count)
            }
        }
        // A scalar has at most three continuation bytes.
        let continuations = [UInt8](repeating: 0x80, count: 6)
        continuations.withUnsafeBytes { bytes in
            let starts = (1...6).map { UTF8Walk.start(bytes, ofScalarBefore: $0) }
            #expect(starts == [0, 0, 0, 0, 1, 2])
            #expect(UTF8Walk.count(bytes) == 0)
        }
    }

    /// Returns the first position of some bytes at or after `start`, found naively.
    private func first(_ needle: [UInt8], in text: [UInt8], from start: Int) -> Int? {
        guard start <= text.count else { return nil }
        return (start...text.count).first { text[$0...].starts(with: needle) }
    }

    /// Many repeated bytes let the search change to its table.
    @Test(arguments: [(6, 40, 400), (40, 300, 60), (3, 12, 1_000)])
    func `bytes are found at their first position`(longest: Int, length: Int, rounds: Int) {
        var random = SeededRandom(seed: UInt64(longest), "search")
        for _ in 0..<rounds {
            func bytes(_ count: Int) -> [UInt8] {
                (0..<count).map { _ in random.chance(1, in: longest) ? 0x62 : 0x61 }
            }
            let text = bytes(random.below(length))
            let start = random.below(text.count + 3)
            let isPart = random.chance(1, in: 2)
            let needle =
                isPart
                ? Array(text.dropFirst(random.below(text.count + 1)).prefix(random.below(longest)))
                : bytes(random.below(longest))
            let expected = first(needle, in: text, from: start)
            text.withUnsafeBytes { text in
                needle.withUnsafeBytes { needle in
                    let found = TextSearch.first(needle, in: text, from: start)
                    // Empty buffers have no address.
                    #expect(found == expected || needle.isEmpty && text.isEmpty)
                }
            }
        }
    }

    @Test func `bytes stand at an offset if all of them are there`() {
        let text = Array("abcabd".utf8)
        for part in ["", "a", "ab", "abc", "abd", "bd", "d", "abcabd", "abcabdx"] {
            let part = Array(part.utf8)
            for offset in -2...8 {
                let expected =
                    0...text.count ~= offset && text[offset...].starts(with: part)
                let found = text.withUnsafeBytes { text in
                    part.withUnsafeBytes { TextSearch.stands($0, in: text, at: offset) }
                }
                #expect(found == expected, "\(part) at \(offset)")
            }
        }
    }

    @Test func `a scanner of dates consumes what it reads, and nothing else`() {
        var scanner = DateScanner("12345:abTuesday,Z")
        let bytes = [scanner.consume(0x31), scanner.consume(0x31, 0x33)]
        #expect(bytes == [0x31, nil])
        let numbers = [scanner.number(digits: 2...3), scanner.number(digits: 2...3)]
        #expect(numbers == [234, nil])
        let texts = [":", ":", "ac", "ab"].map { scanner.consume(all: Array($0.utf8)) }
        #expect(texts == [true, false, false, true])
        let name = scanner.name(of: CalendarNames.weekdays)
        #expect(name == 1 && !scanner.isAtEnd)
        let (comma, offset) = (scanner.consume(0x2C), scanner.offset())
        #expect(comma == 0x2C && offset == 0 && scanner.isAtEnd)
        let (none, noNumber) = (scanner.consume(0x2C), scanner.number(digits: 1...2))
        #expect(none == nil && noNumber == nil)
        for (text, number) in [
            ("123456789012345678", 123_456_789_012_345_678), ("1234567890123456789", nil),
            ("12", nil),
        ] as [(String, Int64?)] {
            var scanner = DateScanner(text)
            let found = scanner.longNumber(digits: 3...30)
            #expect(found == (number ?? (text.count > 18 ? 123_456_789_012_345_678 : nil)))
            #expect(scanner.isAtEnd == (text.count <= 18))
        }
    }
}
