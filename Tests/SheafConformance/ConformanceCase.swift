package import SheafDocument

/// What a store has before a case begins.
package struct ConformanceSetting: Equatable, Sendable {
    package enum Action: Equatable, Sendable {
        case documents(collection: String, [Value])
        case statement(String)
        /// What comes behind CREATE INDEX; made in the second of two runs only.
        case index(String)
    }

    package var actions: [Action] = []

    package init() {}

    /// Whether there are indexes that a run may have or not.
    package var hasIndexes: Bool {
        actions.contains {
            if case .index = $0 { return true }
            return false
        }
    }
}

/// One statement of a case, and what it has to come to.
package struct ConformanceStep: Sendable {
    package let line: Int
    package let text: String
    package var arguments: [String: Value] = [:]
    /// The answer, line by line, as `ConformanceStore` writes it.
    package var expected: [String] = []
    /// The lines of the file that the answer stands in; none where a table has it.
    package var answerLines: Range<Int>?
    /// Whether the answer stands behind `=>` in the line of the statement.
    package var isInline = false
}

/// Statements that are run one after the other against a store of their own.
package struct ConformanceCase: Sendable {
    /// What the case shows, in words.
    package let title: String
    package let setting: Int
    package var steps: [ConformanceStep]
}

/// What is wrong about a line of a file of cases.
package struct ConformanceMistake: Error, CustomStringConvertible {
    package let file: String
    package let line: Int
    package let reason: String

    package var description: String { "\(file):\(line): \(reason)" }
}
