/// The description of one statement, clause, function or other element of the query language.
package struct ReferenceEntry: Sendable {
    package enum Kind: String, CaseIterable, Sendable {
        case statement, clause, `operator`, function, type, directive, collection, parameter, topic

        /// The word that lists the entries of this kind in `sheaf help`.
        package var plural: String { rawValue + "s" }
    }

    package let kind: Kind
    package let name: String
    /// Other names under which the entry is found.
    package let aliases: [String]
    /// The forms of the element, one per line.
    package let syntax: [String]
    package let summary: String
    /// The paragraphs after the summary.
    package let details: [String]
    package let examples: [ReferenceExample]

    init(
        _ kind: Kind, _ name: String, aliases: [String] = [], syntax: [String] = [],
        summary: String, details: [String] = [], examples: [ReferenceExample] = []
    ) {
        self.kind = kind
        self.name = name
        self.aliases = aliases
        self.syntax = syntax
        self.summary = summary
        self.details = details
        self.examples = examples
    }

    /// Whether a name in any case is the name of the entry or one of its aliases.
    package func isNamed(_ name: String) -> Bool {
        let wanted = name.lowercased()
        return self.name.lowercased() == wanted
            || aliases.contains { $0.lowercased() == wanted }
    }
}

/// A statement or an expression, with its result in a store that contains `Reference.samples`.
package struct ReferenceExample: Sendable {
    /// Statements that run before the example, after the samples.
    package let setup: [String]
    /// The code as pages show it.
    package let code: String
    /// Whether the code is an expression rather than a statement.
    package let isExpression: Bool
    /// The lines of the result; nil if they vary, as times do.
    package let result: [String]?

    /// Creates the example of a statement.
    init(_ statement: String, setup: [String] = [], _ result: [String]?) {
        self.setup = setup
        self.result = result
        code = statement
        isExpression = false
    }

    /// Creates the example of an expression, with its value as JSON or the word MISSING.
    static func value(_ expression: String, _ value: String) -> ReferenceExample {
        ReferenceExample(expression: expression, value)
    }

    private init(expression: String, _ value: String) {
        setup = []
        code = expression
        isExpression = true
        result = [value]
    }

    /// The statement to execute.
    package var statement: String {
        isExpression ? "SELECT \(code) AS result FROM system:dual" : code
    }
}
