import SheafBytes

/// An encoder of values as JSON, without spaces and with fields in order of name.
///
/// Bytes become Base64 text. Infinities and NaN become null.
package struct JSONWriter {
    package var bytes: [UInt8] = []

    package init() {}

    package mutating func write(_ value: Value) {
        switch value {
        case .null: write(word: "null")
        case .bool(let value): write(word: value ? "true" : "false")
        case .integer(let value): write(value)
        case .float(let value): write(value)
        case .string(let value): write(text: value)
        case .bytes(let value): write(base64: value)
        case .array(let values):
            bytes.append(UInt8(ascii: "["))
            for (index, value) in values.enumerated() {
                if index > 0 { bytes.append(UInt8(ascii: ",")) }
                write(value)
            }
            bytes.append(UInt8(ascii: "]"))
        case .object(let object):
            bytes.append(UInt8(ascii: "{"))
            for (index, field) in object.enumerated() {
                if index > 0 { bytes.append(UInt8(ascii: ",")) }
                write(text: field.name)
                bytes.append(UInt8(ascii: ":"))
                write(field.value)
            }
            bytes.append(UInt8(ascii: "}"))
        }
    }

    package mutating func write(word: StaticString) {
        bytes.append(
            contentsOf: UnsafeBufferPointer(
                start: word.utf8Start, count: word.utf8CodeUnitCount))
    }

    package mutating func write(_ integer: Int64) {
        var magnitude = integer.magnitude
        if integer < 0 { bytes.append(UInt8(ascii: "-")) }
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 20) { digits in
            var start = digits.count
            repeat {
                start -= 1
                digits[start] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: magnitude % 10)
                magnitude /= 10
            } while magnitude > 0
            bytes.append(contentsOf: UnsafeMutableBufferPointer(rebasing: digits[start...]))
        }
    }

    package mutating func write(_ float: Double) {
        guard float.isFinite else { return write(word: "null") }
        // `description` is the shortest text of the same float, always with a point or an exponent.
        bytes.append(contentsOf: float.description.utf8)
    }

    package mutating func write(text: String) {
        bytes.append(UInt8(ascii: "\""))
        var copy = text
        copy.withUTF8 { write(escaping: UnsafeRawBufferPointer($0)) }
        bytes.append(UInt8(ascii: "\""))
    }

    /// Writes the content of a string without its quotes.
    mutating func write(escaping text: UnsafeRawBufferPointer) {
        var start = 0
        for index in text.indices where Self.needsEscape(text[index]) {
            bytes.append(contentsOf: text[start..<index])
            start = index + 1
            write(escape: text[index])
        }
        bytes.append(contentsOf: text[start...])
    }

    @inline(__always)
    private static func needsEscape(_ byte: UInt8) -> Bool {
        byte < 0x20 || byte == 0x22 || byte == 0x5C
    }

    private mutating func write(escape byte: UInt8) {
        switch byte {
        case 0x22: write(word: "\\\"")
        case 0x5C: write(word: "\\\\")
        case 0x08: write(word: "\\b")
        case 0x09: write(word: "\\t")
        case 0x0A: write(word: "\\n")
        case 0x0C: write(word: "\\f")
        case 0x0D: write(word: "\\r")
        default:
            write(word: "\\u00")
            bytes.append(Self.hexadecimal(byte >> 4))
            bytes.append(Self.hexadecimal(byte & 15))
        }
    }

    private static func hexadecimal(_ digit: UInt8) -> UInt8 {
        digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10
    }

    /// Writes bytes as Base64 text.
    package mutating func write(base64 source: [UInt8]) {
        bytes.append(UInt8(ascii: "\""))
        var index = 0
        while index < source.count {
            let rest = min(source.count - index, 3)
            var group: UInt32 = 0
            for position in 0..<3 {
                group = group << 8 | (position < rest ? UInt32(source[index + position]) : 0)
            }
            for position in 0..<4 {
                let digit = UInt8(truncatingIfNeeded: group >> UInt32(18 - 6 * position)) & 63
                bytes.append(position <= rest ? Self.base64(digit) : UInt8(ascii: "="))
            }
            index += 3
        }
        bytes.append(UInt8(ascii: "\""))
    }

    private static func base64(_ digit: UInt8) -> UInt8 {
        switch digit {
        case 0..<26: UInt8(ascii: "A") + digit
        case 26..<52: UInt8(ascii: "a") + digit - 26
        case 52..<62: UInt8(ascii: "0") + digit - 52
        case 62: UInt8(ascii: "+")
        default: UInt8(ascii: "/")
        }
    }
}
