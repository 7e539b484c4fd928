import SheafStorage
import Testing

/// Tests of the names of the files of a store, at the bounds of their numbers.
struct FileNameTests {
    private static let names: [(String, FileName)] = [
        ("LOCK", .lock), ("SYNCED", .synced), ("attachments", .attachments),
        ("0000000001.log", .segment(1)), ("0000000042.log", .segment(42)),
        ("4294967295.log", .segment(.max)),
        ("0000000001-0000000001.base", .base(1...1)),
        ("0000000007-0000000123.base", .base(7...123)),
        ("4294967295-4294967295.base", .base(UInt32.max...UInt32.max)),
        ("00000000000000000000.checkpoint", .checkpoint(0)),
        ("00000000000000000042.checkpoint", .checkpoint(42)),
        ("18446744073709551615.checkpoint", .checkpoint(.max)),
        ("00000000000000000042.closed", .closedMark(42)),
        ("18446744073709551615.closed", .closedMark(.max)),
        ("0000000000000000.site", .siteMark(0)), ("00000000000000ff.site", .siteMark(255)),
        ("0123456789abcdef.site", .siteMark(0x0123_4567_89AB_CDEF)),
        ("ffffffffffffffff.site", .siteMark(.max)),
        ("0000000000000000.tmp", .temporary), ("ffffffffffffffff.tmp", .temporary),
    ]

    /// Returns the written form of a name with a number.
    private func written(_ name: FileName) -> String? {
        switch name {
        case .segment(let number): FileName.name(ofSegment: number)
        case .base(let segments): FileName.name(ofBase: segments)
        case .checkpoint(let commit): FileName.name(ofCheckpoint: commit)
        case .closedMark(let commit): FileName.name(ofClosedMark: commit)
        case .siteMark(let random): FileName.name(ofSiteMark: random)
        case .lock, .synced, .temporary, .attachments, .foreign: nil
        }
    }

    @Test func `each name has exactly one kind and one written form`() {
        for (text, name) in Self.names {
            #expect(FileName(text) == name, "\(text)")
            if let written = written(name) { #expect(written == text) }
        }
        #expect(FileName.temporaryName(0) == "0000000000000000.tmp")
        #expect(FileName.temporaryName(0xABC) == "0000000000000abc.tmp")
        #expect(FileName.temporaryName(.max) == "ffffffffffffffff.tmp")
    }

    @Test func `a name with another number of digits, or another character, is foreign`() {
        for (text, name) in Self.names {
            #expect(FileName(text + " ") == .foreign, "\(text)")
            #expect(FileName("0" + text) == .foreign, "\(text)")
            #expect(FileName(String(text.dropFirst())) == .foreign, "\(text)")
            #expect(FileName(String(text.dropLast())) == .foreign, "\(text)")
            guard let dot = text.firstIndex(of: ".") else { continue }
            // The characters directly before and after the digits, and a letter in upper case.
            for character in ["/", ":", "`", "g", "A", "-", "+", ".", "é"] {
                for index in text[..<dot].indices {
                    var changed = text
                    changed.replaceSubrange(index...index, with: character)
                    guard changed != text else { continue }
                    #expect(FileName(changed) == .foreign, "\(changed) from \(name)")
                }
            }
        }
    }

    @Test func `numbers out of their range make a name foreign`() {
        for text in [
            "0000000000.log", "4294967296.log", "9999999999.log", "18446744073709551616.checkpoint",
            "99999999999999999999.closed", "0000000000-0000000001.base",
            "0000000000-0000000000.base", "0000000002-0000000001.base",
            "0000000001-4294967296.base", "4294967296-4294967297.base",
            "0000000001-0000000002-0000000003.base", "0000000001.base", "-0000000001.base",
            "0000000001-.base", "0000000001", "LOCK.tmp", "lock", "Synced", "", ".", ".log",
            "0000000001.LOG", "0000000001.log.log", "ABCDEFABCDEFABCD.tmp",
        ] {
            #expect(FileName(text) == .foreign, "\(text)")
        }
    }
}
