/// Limits on the user data quoted in an error text: names, values, paths, statements.
///
/// Lengths count Unicode scalars, since a character can have any number of them. Text is cut
/// between characters.
package enum ErrorText {
    /// Maximum length of all user data in one text, message or hint.
    package static let limit = 200
    /// Maximum length of each of two quotations in one text.
    package static let pieceLimit = 100
    /// Maximum length of the message, and of the hint, of any error.
    package static let messageLimit = 400
    /// Maximum length of a statement in a log message.
    package static let loggedStatementLimit = 1_000
}

extension String {
    /// The text with its middle elided, for one of two quotations in an error.
    package var shortened: String { shortened(to: ErrorText.pieceLimit) }

    /// Returns the text with its middle elided if it has more than `limit` Unicode scalars.
    ///
    /// Characters are never split.
    package func shortened(to limit: Int) -> String {
        guard utf8.count > limit, unicodeScalars.count > limit else { return self }
        let head = limit * 2 / 3
        return prefix(scalars: head) + "…" + suffix(scalars: limit - head - 1)
    }
}

extension BidirectionalCollection where Element == Character {
    /// Returns the longest prefix of at most `limit` Unicode scalars.
    package func prefix(scalars limit: Int) -> SubSequence {
        var (end, count) = (startIndex, 0)
        while end < endIndex {
            count += self[end].unicodeScalars.count
            guard count <= limit else { break }
            end = index(after: end)
        }
        return self[..<end]
    }

    /// Returns the longest suffix of at most `limit` Unicode scalars.
    package func suffix(scalars limit: Int) -> SubSequence {
        var (start, count) = (endIndex, 0)
        while start > startIndex {
            let next = index(before: start)
            count += self[next].unicodeScalars.count
            guard count <= limit else { break }
            start = next
        }
        return self[start...]
    }
}
