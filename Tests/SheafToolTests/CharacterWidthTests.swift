import SheafDocument
import Testing

/// Tests of the widths of characters in tables, and of escapes beyond the first plane.
@Suite struct CharacterWidthTests {
    /// Characters at the ends of ranges, with their widths in terminal cells.
    private static let scalars: [(UInt32, Int)] = [
        (0x41, 1), (0xE9, 1), (0x301, 0), (0x20DD, 0), (0x903, 0), (0x10FF, 1), (0x1100, 2),
        (0x115F, 2), (0x1160, 0), (0x11FF, 0), (0x1200, 1), (0x2328, 1), (0x2329, 2), (0x232A, 2),
        (0x232B, 1), (0x2E80, 2), (0x303E, 2), (0x303F, 1), (0x3041, 2), (0xA4C6, 2), (0xA4D0, 1),
        (0xA95F, 1), (0xA960, 2), (0xA97C, 2), (0xAC00, 2), (0xD7A3, 2), (0xD7B0, 0), (0xD7FB, 0),
        (0xF900, 2), (0xFAD9, 2), (0xFB00, 1), (0xFE10, 2), (0xFE19, 2), (0xFE30, 2), (0xFE6B, 2),
        (0xFE70, 1), (0xFF01, 2), (0xFF60, 2), (0xFF61, 1), (0xFFE0, 2), (0xFFE6, 2), (0xFFE8, 1),
        (0x1_7000, 2), (0x1_B000, 2), (0x1_F200, 2), (0x1_F265, 2), (0x2_0000, 2), (0x3_0000, 2),
        // Emoji have two cells if they appear as pictures without a further character.
        (0x1_F600, 2), (0x231A, 2), (0x2764, 1), (0x1_F321, 1),
    ]

    /// Texts with their widths in terminal cells.
    private static let texts: [(String, Int)] = [
        ("e\u{301}", 1), ("1\u{301}", 1), ("1\u{FE0F}\u{20E3}", 2), ("\u{2764}\u{FE0F}", 2),
        ("\u{1F1E9}\u{1F1EA}", 2), ("\u{1F468}\u{200D}\u{1F469}", 2), ("\u{1F44D}\u{1F3FD}", 2),
        ("\u{1112}\u{1161}\u{11AB}", 2), ("\u{5BB6}\u{65CF}a", 5), ("", 0),
        ("a\u{200C}b", 2), ("\u{E0001}", 12), ("\u{F0000}", 12), ("\u{7F}", 6), ("\n\t", 4),
    ]

    @Test func `each character is padded by its width`() throws {
        let all =
            Self.scalars.compactMap { number, width in
                Unicode.Scalar(number).map { (String($0), width) }
            } + Self.texts
        #expect(all.count == Self.scalars.count + Self.texts.count)
        let store = try QueryCommandStore(
            "t",
            all.enumerated().map { number, text in
                (.integer(Int64(number)), ["x": .string(text.0)])
            })
        let run = try store.query("SELECT x, _id FROM t ORDER BY _id")
        let lines = run.text.unicodeScalars.split(separator: "\n").dropFirst(2)
        for ((number, (text, width)), line) in zip(all.enumerated(), lines) {
            // A row has the text, spaces up to the 12 cells of the longest one, and the id.
            let id = " | " + (number < 10 ? "  " : " ") + "\(number)"
            let spaces = line.dropLast(id.count).reversed().prefix { $0 == " " }.count
            let name = text.unicodeScalars.map { String($0.value, radix: 16) }.joined(
                separator: " ")
            #expect(spaces == 12 - width, "\(name)")
        }
        #expect(lines.count == all.count + 1)
    }

    @Test func `invisible characters beyond the first plane are escaped as two units`() throws {
        let store = try QueryCommandStore("t", [(1, ["x": "a\u{E0001}\u{10FFFD}\u{1F600}\u{1}"])])
        #expect(
            try store.query("SELECT x FROM t", "--mode=jsonl").text
                == "{\"x\":\"a\\udb40\\udc01\\udbff\\udffd\u{1F600}\\u0001\"}\n")
        #expect(
            try store.query("SELECT x FROM t", "--mode=line").text
                == "x = a\\udb40\\udc01\\udbff\\udffd\u{1F600}\\u0001\n")
    }
}
