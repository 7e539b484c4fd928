import SheafBytes

/// The format of a file with documents.
package enum ImportFormat: String, CaseIterable, Sendable {
    /// One JSON object per line.
    case jsonl
    /// A JSON array of objects, or objects one after the other.
    case json
    /// Comma-separated values with a header.
    case csv

    /// The formats that the end of a name determines.
    private static let extensions: [(String, ImportFormat)] = [
        (".jsonl", .jsonl), (".ndjson", .jsonl), (".json", .json), (".csv", .csv), (".tsv", .csv),
    ]

    /// Decides the format by the name of a file, then by its first bytes.
    static func detect(_ input: InputBuffer) -> ImportFormat {
        let name = input.path.lowercased()
        if let known = extensions.first(where: { name.hasSuffix($0.0) }) { return known.1 }
        let bytes = input.bytes
        switch bytes.first(where: { ![0x20, 0x09, 0x0A, 0x0D].contains($0) }) {
        case UInt8(ascii: "["): return .json
        case UInt8(ascii: "{"): return isObjectLine(bytes) ? .jsonl : .json
        default: return .csv
        }
    }

    /// Whether the first line is an object, or the beginning of a long one.
    private static func isObjectLine(_ bytes: UnsafeRawBufferPointer) -> Bool {
        let start = bytes.firstIndex { ![0x20, 0x09, 0x0A, 0x0D].contains($0) } ?? 0
        let text = UnsafeRawBufferPointer(rebasing: bytes[start...])
        guard let end = text.firstIndex(of: 0x0A) else { return false }
        var scanner = ValueScanner()
        return scanner.scan(UnsafeRawBufferPointer(rebasing: text[..<end]))
    }
}

extension InputBuffer {
    /// Reads the first bytes, refuses a file that is not text, and skips a byte order mark.
    ///
    /// Returns the hash of the first bytes.
    func begin() throws(ImportError) -> UInt64 {
        let hash = try headHash()
        let head = bytes.prefix(Self.headLength)
        guard !head.isEmpty else { throw .source("\(path.shortened) is empty") }
        for (magic, kind) in Self.otherFormats where head.starts(with: magic) {
            throw .source("\(path.shortened) is not text: \(kind)")
        }
        if let zero = head.firstIndex(of: 0) {
            throw .source(
                "\(path.shortened) is not text: byte \(zero + 1) is NUL; expected JSON or CSV "
                    + "in UTF-8")
        }
        if head.starts(with: [0xEF, 0xBB, 0xBF]) { consume(3) }
        return hash
    }

    /// The bytes with which a SQLite database begins.
    static let sqliteMagic = Array("SQLite format 3\0".utf8)

    /// The first bytes of files that are not text, with the advice for an error.
    private static let otherFormats: [([UInt8], String)] = [
        ([0x1F, 0x8B], "it is compressed by gzip; decompress it first, with gunzip"),
        (
            [0x28, 0xB5, 0x2F, 0xFD], "it is compressed by zstd; decompress it first, with unzstd"
        ),
        (Array("PK\u{3}\u{4}".utf8), "it is a zip archive; extract the file first, with unzip"),
        ([0xFF, 0xFE], "it is in UTF-16; convert it to UTF-8 first, with iconv"),
        ([0xFE, 0xFF], "it is in UTF-16; convert it to UTF-8 first, with iconv"),
        (
            sqliteMagic,
            "it is a SQLite database; give its path as FILE, with --format sqlite or without "
                + "--format"
        ),
    ]
}
