/// The texts in dumps; a closure for each byte would take most of the time of a comparison.
enum DumpText {
    private static let digits = Array("0123456789abcdef".utf8)
    private static let backslash = UInt8(ascii: "\\")

    /// Returns bytes in lowercase hexadecimal.
    static func hexadecimal(_ bytes: [UInt8]) -> String {
        var text: [UInt8] = []
        text.reserveCapacity(2 * bytes.count)
        for byte in bytes { append(byte, to: &text) }
        return String(decoding: text, as: UTF8.self)
    }

    /// Returns a path: a `/` and a name for each field.
    ///
    /// A byte that is not printable ASCII, or is one of `/`, `|` and `\`, is a `\` and two digits.
    static func path(_ names: [[UInt8]]) -> String {
        let (slash, bar) = (UInt8(ascii: "/"), UInt8(ascii: "|"))
        var text: [UInt8] = []
        for name in names {
            text.append(slash)
            for byte in name {
                let isPrintable = byte >= 0x20 && byte <= 0x7E
                if isPrintable, byte != slash, byte != bar, byte != backslash {
                    text.append(byte)
                } else {
                    text.append(backslash)
                    append(byte, to: &text)
                }
            }
        }
        return String(decoding: text, as: UTF8.self)
    }

    private static func append(_ byte: UInt8, to text: inout [UInt8]) {
        text.append(digits[Int(byte >> 4)])
        text.append(digits[Int(byte & 15)])
    }
}
