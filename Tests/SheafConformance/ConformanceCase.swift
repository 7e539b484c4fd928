package import SheafDocument

/// The contents of a store before a case.
package struct ConformanceSetting: Equatable, Sendable {
    package enum Action: Equatable, Sendable {
        case documents(collection: String, [Value])
        case statement(String)
        /// The text after CREATE INDEX; the index is created in the second of two runs only.
        case index(String)
    }

    package var actions: [Action] = []

    package init() {}

    /// Whether the setting has indexes, so that its cases run twice.
    package var hasIndexes: Bool {
        actions.contains {
            if case .index = $0 { return true }
            return false
        }
    }
}

/// One statement of a case and its expected result.
package struct ConformanceStatement: Sendable {
    package let line: Int
    package let text: String
    package var arguments: [String: Value] = [:]
    /// The lines of the expected result, as `ConformanceStore` formats them.
    package var expected: [String] = []
    /// Indexes of the lines with the expected result, possibly empty; nil for a table.
    package var answerLines: Range<Int>?
    /// Whether the expected result follows `=>` in the line of the statement.
    package var isInline = false
}

/// Statements that run consecutively in one store.
package struct ConformanceCase: Sendable {
    /// The behavior that the case tests, in words.
    package let title: String
    package let setting: Int
    package var steps: [ConformanceStatement]
}

/// An error in a line of a conformance file.
package struct ConformanceSyntaxError: Error, CustomStringConvertible {
    package let file: String
    package let line: Int
    package let reason: String

    package var description: String { "\(file):\(line): \(reason)" }
}
