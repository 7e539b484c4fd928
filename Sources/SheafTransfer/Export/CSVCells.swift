import SheafDocument

/// Cells and records of RFC 4180.
///
/// A missing field is an empty cell, and null is `null`. Arrays and objects are JSON. A string is
/// in quotes where it would otherwise be read as another value, so that "" differs from a missing
/// field and "1" from 1.
enum CSVCells {
    /// Appends the header.
    static func append(names: [String], to buffer: inout [UInt8]) {
        for (index, name) in names.enumerated() {
            if index > 0 { buffer.append(UInt8(ascii: ",")) }
            append(text: name, quoting: name.isEmpty, to: &buffer)
        }
        buffer.append(contentsOf: "\r\n".utf8)
    }

    /// Appends a value as one cell.
    static func append(_ value: Value, to buffer: inout [UInt8]) {
        if case .string(let text) = value {
            return append(text: text, quoting: isAmbiguous(text), to: &buffer)
        }
        var writer = JSONWriter()
        swap(&writer.bytes, &buffer)
        defer { swap(&writer.bytes, &buffer) }
        let start = writer.bytes.count
        writer.write(value)
        switch value {
        case .bytes:
            // Base64 is a text without quotes, unless it is read as another value.
            writer.bytes.removeLast()
            writer.bytes.remove(at: start)
            let text = String(decoding: writer.bytes[start...], as: UTF8.self)
            writer.bytes.removeSubrange(start...)
            append(text: text, quoting: isAmbiguous(text), to: &writer.bytes)
        case .array, .object:
            quote(&writer.bytes, from: start, isForced: false)
        default: break
        }
    }

    private static func append(text: String, quoting: Bool, to buffer: inout [UInt8]) {
        let start = buffer.count
        buffer.append(contentsOf: text.utf8)
        quote(&buffer, from: start, isForced: quoting)
    }

    /// Adds quotes around the bytes from `start` on, if they are needed or forced.
    private static func quote(_ buffer: inout [UInt8], from start: Int, isForced: Bool) {
        guard isForced || buffer[start...].contains(where: needsQuotes) else { return }
        let cell = Array(buffer[start...])
        buffer.removeSubrange(start...)
        buffer.append(UInt8(ascii: "\""))
        for byte in cell {
            buffer.append(byte)
            if byte == UInt8(ascii: "\"") { buffer.append(byte) }
        }
        buffer.append(UInt8(ascii: "\""))
    }

    private static func needsQuotes(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "\"") || byte == UInt8(ascii: ",") || byte == 0x0A || byte == 0x0D
    }

    /// Whether a string without quotes would be read as another value or be trimmed.
    static func isAmbiguous(_ text: String) -> Bool {
        guard let first = text.utf8.first, let last = text.utf8.last else { return true }
        switch first {
        case 0x20, 0x09, UInt8(ascii: "{"), UInt8(ascii: "["), UInt8(ascii: "-"),
            UInt8(ascii: "+"), UInt8(ascii: "."), UInt8(ascii: "0")...UInt8(ascii: "9"):
            return true
        default: break
        }
        if last == 0x20 || last == 0x09 { return true }
        guard text.utf8.count <= 8 else { return false }
        return ["null", "true", "false", "nan", "inf", "infinity"].contains(text.lowercased())
    }
}
