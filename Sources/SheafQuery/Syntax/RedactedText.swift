/// Statements without literal values, for logs.
package enum RedactedText {
    /// The replacement for a value.
    private static let mark = "…"
    private static let maximumLength = 2_000

    /// Returns the text with each literal and directive replaced by a mark, without comments.
    ///
    /// The text is cut at the first lexical error and at `maximumLength`.
    package static func of(_ text: String) -> String {
        var text = text
        return text.withUTF8 { bytes in
            var lexer = Lexer(bytes)
            var redacted = ""
            var last = 0
            while redacted.utf8.count < maximumLength {
                guard let token = try? lexer.next() else { return redacted + mark }
                if token.kind == .endOfStatement { return redacted }
                // Comments between tokens are dropped together with the spaces.
                if last > 0, token.lower > last { redacted += " " }
                last = token.upper
                redacted += token.isValue ? mark : string(bytes, token)
            }
            return redacted + mark
        }
    }

    private static func string(_ bytes: UnsafeBufferPointer<UInt8>, _ token: Token) -> String {
        String(decoding: bytes[token.lower..<token.upper], as: UTF8.self)
    }
}

extension Token {
    fileprivate var isValue: Bool {
        switch kind {
        case .string, .integer, .hexadecimal, .float, .directive: true
        default: false
        }
    }
}
