import SheafDocument
import Testing

/// Tests of the search for attachment ids in bytes, and of their texts.
@Suite struct AttachmentTextTests {
    /// Returns the offsets of the possible ids in bytes, at most `limit`.
    private func offsets(in bytes: [UInt8], limit: Int = .max) -> [Int] {
        var offsets: [Int] = []
        bytes.withUnsafeBytes { all in
            AttachmentTexts.forEach(in: all) { text in
                if let start = all.baseAddress, let found = text.baseAddress {
                    offsets.append(found - start)
                }
                #expect(text.count == 64)
                return offsets.count < limit
            }
            #expect(AttachmentTexts.isAny(in: all) == !offsets.isEmpty)
        }
        return offsets
    }

    private func digits(_ count: Int) -> [UInt8] {
        let digits = Array("0123456789abcdef".utf8)
        return (0..<count).map { digits[$0 % 16] }
    }

    /// Up to 32 digits may precede an id by chance.
    @Test(arguments: [(0, 0), (63, 0), (64, 1), (65, 2), (95, 32), (96, 33), (97, 33), (300, 33)])
    func `a run of digits has a possible id at each of its first offsets`(
        length: Int, count: Int
    ) {
        let run = digits(length)
        for start in 0..<66 {
            let before = [UInt8](repeating: 0x20, count: start)
            let expected = Array(start..<start + count)
            #expect(offsets(in: before + run) == expected)
            for other: UInt8 in [0x2F, 0x3A, 0x60, 0x67, 0x41, 0] {
                #expect(offsets(in: before + run + [other]) == expected)
            }
        }
    }

    @Test func `an id is found after another one, and a search ends when its caller wants no more`()
    {
        for start in 0..<70 {
            let before = [UInt8](repeating: 0x7A, count: start)
            let bytes = before + digits(64) + [0x7A] + digits(65) + [0x7A] + digits(64)
            let all = [start, start + 65, start + 66, start + 131]
            #expect(offsets(in: bytes) == all)
            for limit in 1...4 {
                #expect(offsets(in: bytes, limit: limit) == Array(all.prefix(limit)))
            }
        }
    }

    @Test func `an id has 64 lowercase digits`() throws {
        let text = "00ff" + String(repeating: "7c", count: 29) + "90"
        let id = try #require(AttachmentID(text))
        #expect(id.bytes == [0x00, 0xFF] + [UInt8](repeating: 0x7C, count: 29) + [0x90])
        #expect(id.description == text && AttachmentID(bytes: id.bytes) == id)
        #expect(text.isAttachmentID)
        let short = String(text.dropLast())
        for wrong in ["/", ":", "`", "g", "A", "F", " ", "\u{E9}", "", "00"] {
            #expect(AttachmentID(short + wrong) == nil, "\(wrong)")
            #expect(AttachmentID(wrong + short) == nil, "\(wrong)")
            #expect(!(short + wrong).isAttachmentID, "\(wrong)")
        }
        for digit in "0123456789abcdef" {
            #expect(AttachmentID(short + String(digit)) != nil)
            #expect((short + String(digit)).isAttachmentID)
        }
        for count in [0, 31, 33] {
            #expect(AttachmentID(bytes: [UInt8](repeating: 1, count: count)) == nil)
        }
    }
}
