/// How much of anything an error text may quote.
package enum ErrorText {
    /// Maximum length of the message, and of the hint, of an error of a statement.
    package static let statementLimit = 200
    /// Maximum length of any other message or hint.
    package static let limit = 400

    /// Returns the text with its middle cut out where it is longer than `limit`.
    ///
    /// Lengths are in Unicode scalars: a single character can have any number of these.
    package static func shortened(_ text: String, to limit: Int = limit) -> String {
        guard text.utf8.count > limit else { return text }
        let scalars = text.unicodeScalars
        guard scalars.count > limit else { return text }
        let head = limit * 2 / 3
        return String(String.UnicodeScalarView(scalars.prefix(head))) + "…"
            + String(String.UnicodeScalarView(scalars.suffix(limit - head - 1)))
    }
}
