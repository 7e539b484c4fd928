/// What is wrong in a query string of the older kind, and where.
package struct ConditionError: Error, CustomStringConvertible {
    /// The message, the line with a mark below it, and the hint.
    package let description: String

    /// Maximum number of characters of the line that are shown, before the mark and after it.
    private static let shownLength = 60

    init(_ message: String, hint: String? = nil, at place: String.Index, in text: String) {
        let line = text[..<place].split(separator: "\n", omittingEmptySubsequences: false).count
        let start = text[..<place].lastIndex(of: "\n").map { text.index(after: $0) }
        let lineStart = start ?? text.startIndex
        let column = text.distance(from: lineStart, to: place) + 1
        let rest = text[lineStart...].prefix { $0 != "\n" }
        let cut = max(column - 1 - Self.shownLength, 0)
        let shown = rest.dropFirst(cut).prefix(2 * Self.shownLength)
        let message = message.shortened()
        let excerpt = String(shown).shortened(to: 4 * Self.shownLength)
        var lines = [
            "\(message) (line \(line), column \(column))", "  \(excerpt)",
            String(repeating: " ", count: column - cut + 1) + "^",
        ]
        if let hint { lines.append(hint.shortened()) }
        description = lines.joined(separator: "\n")
    }
}
