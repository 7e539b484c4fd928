/// The candidates that the Tab key may insert, and the text that they replace.
package struct LineCompletion: Equatable, Sendable {
    /// A text that may replace the typed one.
    package struct Candidate: Hashable, Sendable {
        /// The text to insert.
        package let text: String
        /// The text shown in the list of candidates.
        package let label: String
        /// Whether a space is inserted after it if this is the only candidate.
        package let isComplete: Bool

        package init(_ text: String, label: String? = nil, isComplete: Bool = true) {
            self.text = text
            self.label = label ?? text
            self.isComplete = isComplete
        }
    }

    /// The number of characters before the cursor that a candidate replaces.
    package let replacedCount: Int
    package let candidates: [Candidate]

    package init(replacing replacedCount: Int, _ candidates: [Candidate]) {
        self.replacedCount = replacedCount
        self.candidates = candidates
    }

    /// No candidates.
    package static let none = LineCompletion(replacing: 0, [])

    /// The longest common prefix of all candidates.
    package var commonPrefix: String {
        guard var prefix = candidates.first?.text else { return "" }
        for candidate in candidates.dropFirst() {
            let (left, right) = (prefix.unicodeScalars, candidate.text.unicodeScalars)
            var scalars = String.UnicodeScalarView()
            for (a, b) in zip(left, right) {
                guard a == b else { break }
                scalars.append(a)
            }
            prefix = String(scalars)
        }
        return prefix
    }

    /// Returns the labels in columns for a terminal, at most `maximumRows` rows.
    package func rows(columns: Int, maximumRows: Int) -> [String] {
        let labels = candidates.map(\.label)
        let width = (labels.map(\.unicodeScalars.count).max() ?? 0) + 2
        let perRow = max(1, columns / width)
        let rowCount = (labels.count + perRow - 1) / perRow
        let shown = min(rowCount, max(1, maximumRows))
        var rows = (0..<shown).map { row in
            let cells = stride(from: row, to: labels.count, by: rowCount).map { index in
                labels[index]
                    + String(repeating: " ", count: width - labels[index].unicodeScalars.count)
            }
            var text = cells.joined()
            while text.utf8.last == 0x20 { text.removeLast() }
            return text
        }
        if shown < rowCount {
            let hidden = labels.indices.count { $0 % rowCount >= shown }
            rows.append("… and \(hidden) more; type some letters first")
        }
        return rows
    }
}
