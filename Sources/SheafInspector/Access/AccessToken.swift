/// The secret of a running inspector: 32 random bytes, as 64 hexadecimal digits.
package struct AccessToken: Sendable {
    /// The digits.
    package let text: String

    /// Creates a random token.
    package init() {
        var generator = SystemRandomNumberGenerator()
        let digits = Array("0123456789abcdef".utf8)
        text = String(
            decoding: (0..<32).flatMap { _ -> [UInt8] in
                let byte: UInt8 = generator.next()
                return [digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }, as: UTF8.self)
    }

    /// Whether a text is the token; takes the same time for all texts of its length.
    package func matches(_ other: String) -> Bool {
        let (known, given) = (Array(text.utf8), Array(other.utf8))
        guard known.count == given.count else { return false }
        var difference: UInt8 = 0
        for (a, b) in zip(known, given) { difference |= a ^ b }
        return difference == 0
    }
}
