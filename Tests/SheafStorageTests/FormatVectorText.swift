import SheafStorage

/// A vector file in text form: one line for each field.
struct FormatVectorText {
    private(set) var text: String

    /// Starts a file with comment lines.
    init(_ comment: String) {
        text = comment.split(separator: "\n", omittingEmptySubsequences: false)
            .map { $0.isEmpty ? "#\n" : "# \($0)\n" }.joined()
    }

    /// Writes a blank line and an optional comment.
    mutating func paragraph(_ comment: String = "") {
        text += comment.isEmpty ? "\n" : "\n# \(comment)\n"
    }

    /// Writes a number or a log position.
    mutating func number(_ name: String, _ value: String) {
        text += "\(name) = \(value)\n"
    }

    /// Writes bytes without names of fields.
    mutating func bytes(_ name: String, _ bytes: [UInt8]) {
        let word = Self.word(bytes[...])
        guard word.utf8.count > 64 else {
            text += Self.trimmed("\(name): \(word)")
            return
        }
        text += "\(name):\n"
        var offset = 0
        while offset < bytes.count {
            let end = min(offset + 32, bytes.count)
            text += "    " + bytes[offset..<end].map(Self.digits).joined() + "\n"
            offset = end
        }
    }

    /// Writes a segment file or a checkpoint, field by field.
    mutating func fields(_ name: String, _ fields: [FormatVectorFields.Field]) {
        text += "\(name):\n"
        for field in fields {
            if let title = field.title { text += "    # \(title)\n" }
            let line = "    " + Self.word(field.bytes)
            text += Self.trimmed(Self.padded(line) + "# \(field.comment)")
        }
    }

    private static func trimmed(_ line: String) -> String {
        var line = line
        while line.last == " " { line.removeLast() }
        return line + "\n"
    }

    private static func padded(_ line: String) -> String {
        line + String(repeating: " ", count: max(2, 40 - line.count))
    }

    /// Returns bytes as a run of one byte, as text, or as digits.
    private static func word(_ bytes: ArraySlice<UInt8>) -> String {
        guard let first = bytes.first else { return "" }
        if bytes.count > 8, bytes.allSatisfy({ $0 == first }) {
            return digits(first) + "*\(bytes.count)"
        }
        let isText = bytes.count > 2 && bytes.allSatisfy { 0x20..<0x7F ~= $0 && $0 != 0x22 }
        if isText { return "\"\(String(decoding: bytes, as: UTF8.self))\"" }
        return bytes.map(digits).joined()
    }

    private static func digits(_ byte: UInt8) -> String {
        let digits = String(byte, radix: 16)
        return digits.count == 1 ? "0" + digits : digits
    }
}
