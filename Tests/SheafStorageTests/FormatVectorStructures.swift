import SheafStorage

/// Valid structures, as excerpts of the files of the store, and invalid variants of each.
struct FormatVectorStructures {
    /// A structure, and its name in the vectors.
    struct Valid {
        let name: String
        let bytes: [UInt8]
        /// Offset of the structure in its file, if relevant.
        let offset: Int
    }

    /// Bytes that must be refused, and the rule they violate.
    package struct Refused {
        let name: String
        let kind: String
        let bytes: [UInt8]
        /// Offset of the error from the start of the structure.
        let at: Int
        let rule: String
        var isUnsupported = false
    }

    private let base: [UInt8]
    private let log: [UInt8]
    private let commit: (first: [UInt8], middle: [UInt8], last: [UInt8])

    init(_ files: [String: [UInt8]]) {
        func file(_ name: String) -> [UInt8] { files[name] ?? [] }
        base = file("0000000001-0000000002.base")
        log = file("0000000003.log")
        commit = (
            first: file("0000000004.log"), middle: file("0000000005.log"),
            last: file("0000000006.log")
        )
    }

    var valid: [Valid] {
        func record(_ name: String, _ file: [UInt8], _ offset: Int) -> Valid {
            let length = Int(FormatVectorBytes.number(file, 4, at: offset + 8))
            return Valid(
                name: name, bytes: Array(file[offset..<offset + length]), offset: offset)
        }
        return [
            Valid(name: "header-log", bytes: Array(log[..<128]), offset: 0),
            Valid(name: "header-base", bytes: Array(base[..<128]), offset: 0),
            record("record-complete", log, 224), record("record-first", commit.first, 128),
            record("record-middle", commit.middle, 128), record("record-last", commit.last, 128),
            record("record-compacted", base, 128), record("record-directory", base, 344),
            Valid(name: "operation-put", bytes: Array(log[318..<349]), offset: 94),
            Valid(name: "operation-remove", bytes: Array(commit.last[192..<217]), offset: 64),
            Valid(name: "operation-delta", bytes: Array(commit.last[323..<358]), offset: 99),
            Valid(name: "footer-log", bytes: Array(log[384..<472]), offset: 384),
            Valid(name: "footer-base", bytes: Array(base[424..<512]), offset: 424),
        ]
    }

    var refused: [Refused] { headers + records + operations + footers + compacted + directories }

    private var headers: [Refused] {
        let right = Array(log[..<128])
        let beginning = Array(base[..<128])
        func first(_ name: String, _ offset: Int, _ value: UInt64, _ rule: String) -> Refused {
            let bytes = FormatVectorBytes.setting(beginning, 8, at: offset, to: value)
            return Refused(
                name: "header-\(name)", kind: "header",
                bytes: FormatVectorBytes.sealingHeader(bytes), at: 40, rule: rule)
        }
        func changed(
            _ name: String, _ size: Int, _ offset: Int, _ value: UInt64, at: Int? = nil,
            _ rule: String, isUnsupported: Bool = false
        ) -> Refused {
            let bytes = FormatVectorBytes.setting(right, size, at: offset, to: value)
            return Refused(
                name: "header-\(name)", kind: "header",
                bytes: FormatVectorBytes.sealingHeader(bytes), at: at ?? offset, rule: rule,
                isUnsupported: isUnsupported)
        }
        return [
            Refused(
                name: "header-short", kind: "header", bytes: Array(right[..<127]), at: 0,
                rule: "the file has fewer than 128 bytes"),
            Refused(
                name: "header-checksum", kind: "header",
                bytes: FormatVectorBytes.flipping(right, at: 48), at: 120,
                rule: "a flipped bit in the creation time, so a wrong checksum"),
            changed("magic", 1, 7, 0x48, at: 0, "the file does not begin with SHEAFLOG"),
            changed("version", 4, 8, 2, "a later version", isUnsupported: true),
            changed("length", 4, 12, 64, "the header is not 128 bytes long"),
            changed("cipher", 2, 64, 1, "an unknown cipher", isUnsupported: true),
            changed("codec", 2, 66, 1, at: 64, "an unknown codec", isUnsupported: true),
            changed("kind", 4, 68, 3, "an unknown kind", isUnsupported: true),
            changed(
                "reserved", 1, 119, 1, at: 80, "reserved bytes are not zero", isUnsupported: true),
            changed("segment-zero", 4, 32, 0, "segment numbers start at 1"),
            changed("backwards", 4, 36, 2, at: 32, "the last segment is before the first"),
            changed("log-of-two", 4, 36, 4, at: 32, "a log segment with two numbers"),
            first("first-commit", 40, 2, "the first segment does not begin with commit 1"),
            first("first-link", 56, 1, "the first segment has a predecessor"),
        ]
    }

    private var records: [Refused] {
        let right = Array(log[128..<224])
        func changed(
            _ name: String, _ size: Int, _ offset: Int, _ value: UInt64, at: Int? = nil,
            _ rule: String, isUnsupported: Bool = false
        ) -> Refused {
            let bytes = FormatVectorBytes.setting(right, size, at: offset, to: value)
            return Refused(
                name: "record-\(name)", kind: "record",
                bytes: FormatVectorBytes.sealingRecord(bytes), at: at ?? offset, rule: rule,
                isUnsupported: isUnsupported)
        }
        return [
            Refused(
                name: "record-short", kind: "record", bytes: Array(right[..<63]), at: 0,
                rule: "fewer than 64 bytes are left"),
            Refused(
                name: "record-cut", kind: "record", bytes: Array(right[..<95]), at: 8,
                rule: "the length reaches beyond the file"),
            Refused(
                name: "record-checksum", kind: "record",
                bytes: FormatVectorBytes.flipping(right, at: 90), at: 0,
                rule: "a flipped bit in a payload, so a wrong checksum"),
            Refused(
                name: "record-seed", kind: "record",
                bytes: FormatVectorBytes.sealingRecord(right, seed: 1), at: 0,
                rule: "the checksum is that of another store"),
            changed("length-small", 4, 8, 56, "the length is below 64"),
            changed("length-odd", 4, 8, 92, "the length is not a multiple of 8"),
            changed("length-huge", 4, 8, 1 << 26 + 8, "the length is above 2^26"),
            changed("offset", 4, 24, 136, at: 24, "the position is that of another offset"),
            changed("segment", 4, 28, 4, at: 24, "the position is that of another segment"),
            changed("kind-zero", 1, 12, 0, "an unknown kind", isUnsupported: true),
            changed("kind-seven", 1, 12, 7, "an unknown kind", isUnsupported: true),
            changed(
                "reserved", 2, 14, 1, at: 12, "reserved bytes are not zero", isUnsupported: true),
            changed("padding", 1, 13, 8, "the padding is above 7"),
            changed("padding-bytes", 1, 95, 1, at: 40, "a byte of the padding is not zero"),
            changed("synced", 8, 40, 3 << 32 | 129, "it was synced before it was written"),
        ]
    }

    private var operations: [Refused] {
        // The three operations are at 64, 94 and 125; the body ends at 154.
        let right = Array(log[224..<384])
        func changed(
            _ name: String, _ size: Int, _ offset: Int, _ value: UInt64, at: Int, _ rule: String,
            isUnsupported: Bool = false
        ) -> Refused {
            let bytes = FormatVectorBytes.setting(right, size, at: offset, to: value)
            return Refused(
                name: "operation-\(name)", kind: "operations",
                bytes: FormatVectorBytes.sealingRecord(bytes), at: at, rule: rule,
                isUnsupported: isUnsupported)
        }
        return [
            changed("kind", 1, 64, 4, at: 64, "an unknown kind", isUnsupported: true),
            changed(
                "reserved", 1, 65, 1, at: 64, "the reserved byte is not zero", isUnsupported: true),
            changed("key-empty", 2, 66, 0, at: 66, "the key length is 0"),
            changed("key-long", 2, 66, 1_025, at: 66, "the key length is above 1,024"),
            changed("key-zero", 1, 84, 0, at: 64, "the first byte of the key is 0"),
            changed("key-link", 1, 84, 255, at: 64, "the first byte of the key is 255"),
            changed("removal", 1, 64, 2, at: 64, "a removal has a payload"),
            changed("payload", 4, 129, 5, at: 129, "the payload reaches beyond the body"),
            changed("distance", 4, 80, 72, at: 80, "the distance is not the offset"),
            changed("too-few", 4, 56, 2, at: 125, "the operations do not fill the body"),
            changed("too-many", 4, 56, 4, at: 154, "fewer than 20 bytes are left in the body"),
        ]
    }

    private var footers: [Refused] {
        let right = Array(log[384..<472])
        func changed(
            _ name: String, _ size: Int, _ offset: Int, _ value: UInt64, _ rule: String
        ) -> Refused {
            let bytes = FormatVectorBytes.setting(right, size, at: offset, to: value)
            return Refused(
                name: "footer-\(name)", kind: "footer",
                bytes: FormatVectorBytes.sealingFooter(bytes), at: offset, rule: rule)
        }
        return [
            Refused(
                name: "footer-checksum", kind: "footer",
                bytes: FormatVectorBytes.flipping(right, at: 24), at: 80,
                rule: "a flipped bit in the last commit, so a wrong checksum"),
            changed("magic", 1, 0, 0x73, "the footer does not begin with SHEAFEND"),
            changed("length", 8, 8, 392, "the content length is not the offset"),
            changed("directory", 8, 56, 384, "the directory offset is not before the footer"),
        ]
    }

    private var compacted: [Refused] {
        // The three entries are at 64, 88 and 112, their operations at 136, 161 and 186.
        let right = Array(base[128..<344])
        func changed(
            _ name: String, _ size: Int, _ offset: Int, _ value: UInt64, at: Int, _ rule: String
        ) -> Refused {
            let bytes = FormatVectorBytes.setting(right, size, at: offset, to: value)
            return Refused(
                name: "compacted-\(name)", kind: "compacted",
                bytes: FormatVectorBytes.sealingRecord(bytes), at: at, rule: rule)
        }
        return [
            changed("kind", 1, 12, 1, at: 12, "the record is not a compacted one"),
            changed("empty", 4, 56, 0, at: 56, "the count is 0"),
            changed("count", 4, 56, 7, at: 56, "the entry count exceeds the body"),
            changed("too-few", 4, 56, 2, at: 64, "offsets do not follow the entries"),
            changed("order", 4, 88, 192, at: 88, "positions in the wrong order"),
            changed("segment", 4, 116, 3, at: 112, "a segment is not one of the file's"),
            changed("offset", 4, 104, 162, at: 88, "an offset not above the previous one"),
            changed("length", 4, 132, 31, at: 112, "an entry reaches beyond the body"),
            changed("rest", 4, 132, 29, at: 190, "an operation does not fit its entry"),
            changed("distance", 4, 202, 136, at: 186, "the distance is not the offset"),
        ]
    }

    private var directories: [Refused] {
        let right = Array(base[344..<424])
        func changed(
            _ name: String, _ size: Int, _ offset: Int, _ value: UInt64, at: Int, _ rule: String
        ) -> Refused {
            let bytes = FormatVectorBytes.setting(right, size, at: offset, to: value)
            return Refused(
                name: "directory-\(name)", kind: "directory",
                bytes: FormatVectorBytes.sealingRecord(bytes), at: at, rule: rule)
        }
        return [
            changed("count", 4, 56, 2, at: 12, "the body is not count * 16 bytes"),
            changed("in-header", 4, 72, 64, at: 64, "an offset is before the first record"),
            changed("trailing", 4, 72, 344, at: 64, "an offset is not before the directory"),
            changed("position", 8, 64, 0, at: 64, "zero is not a position"),
        ]
    }
}
