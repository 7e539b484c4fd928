import SheafBytes

/// An error in a query string of the older calls, with its position.
package struct ConditionError: Error, CustomStringConvertible {
    /// The message, the line with a mark below it, and the hint.
    package let description: String

    /// Maximum length of the excerpt before and after the mark.
    private static let shownLength = 60

    init(_ message: String, hint: String? = nil, at position: String.Index, in text: String) {
        let line = text[..<position].split(separator: "\n", omittingEmptySubsequences: false).count
        let start = text[..<position].lastIndex(of: "\n").map { text.index(after: $0) }
        let lineStart = start ?? text.startIndex
        let column = text.distance(from: lineStart, to: position) + 1
        let before = text[lineStart..<position].suffix(scalars: Self.shownLength)
        let after = text[position...].prefix { $0 != "\n" }.prefix(scalars: Self.shownLength)
        var lines = [
            "\(message) (line \(line), column \(column))", "  \(before)\(after)",
            String(repeating: " ", count: before.count + 2) + "^",
        ]
        if let hint { lines.append(hint) }
        description = lines.joined(separator: "\n")
    }
}
