/// How much user data an error text may quote: names, values, paths, addresses, statements.
///
/// Lengths are in Unicode scalars, since a single character can have any number of these. A cut lies between characters.
package enum ErrorText {
    /// Maximum length of all user data in one text; of an error of a statement, of its message and of its hint.
    package static let limit = 200
    /// Maximum length of each of two pieces of user data in one text.
    package static let pieceLimit = 100
    /// Maximum length of the message, and of the hint, of any error.
    package static let messageLimit = 400
    /// Maximum length of a statement in the log.
    package static let loggedStatementLimit = 1_000
}

extension String {
    /// The text with its middle cut out, as one of two pieces of user data in an error.
    package var shortened: String { shortened(to: ErrorText.pieceLimit) }

    /// Returns the text with its middle cut out where it has more than `limit` Unicode scalars.
    ///
    /// A character that would be cut is left out whole.
    package func shortened(to limit: Int) -> String {
        guard utf8.count > limit, unicodeScalars.count > limit else { return self }
        let head = limit * 2 / 3
        return prefix(scalars: head) + "…" + suffix(scalars: limit - head - 1)
    }
}

extension BidirectionalCollection where Element == Character {
    /// Returns as many characters from the start as have `limit` Unicode scalars together, at most.
    package func prefix(scalars limit: Int) -> SubSequence {
        var (end, count) = (startIndex, 0)
        while end < endIndex {
            count += self[end].unicodeScalars.count
            guard count <= limit else { break }
            end = index(after: end)
        }
        return self[..<end]
    }

    /// Returns as many characters from the end as have `limit` Unicode scalars together, at most.
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
