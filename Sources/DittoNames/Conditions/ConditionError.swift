import SheafBytes

/// What is wrong in a query string of the older kind, and where.
package struct ConditionError: Error, CustomStringConvertible {
    /// The message, the line with a mark below it, and the hint.
    package let description: String

    /// Maximum length of what is shown of the line, before the mark and after it.
    private static let shownLength = 60

    init(_ message: String, hint: String? = nil, at place: String.Index, in text: String) {
        let line = text[..<place].split(separator: "\n", omittingEmptySubsequences: false).count
        let start = text[..<place].lastIndex(of: "\n").map { text.index(after: $0) }
        let lineStart = start ?? text.startIndex
        let column = text.distance(from: lineStart, to: place) + 1
        let before = text[lineStart..<place].suffix(scalars: Self.shownLength)
        let after = text[place...].prefix { $0 != "\n" }.prefix(scalars: Self.shownLength)
        var lines = [
            "\(message) (line \(line), column \(column))", "  \(before)\(after)",
            String(repeating: " ", count: before.count + 2) + "^",
        ]
        if let hint { lines.append(hint) }
        description = lines.joined(separator: "\n")
    }
}
