import SheafDocument
import SheafStatements

/// The answer of ADVISE: the indexes that would help a statement.
struct SuggestedIndexes: Equatable {
    struct Index: Equatable {
        let reason: String
        /// The statement that creates the index.
        let statement: String
    }

    let indexes: [Index]
    let outcome: String

    /// Reads the only row of ADVISE; nil if `row` is something else.
    init?(_ row: Object) {
        guard case .object(let advice)? = row["advice"],
            case .string(let outcome)? = advice["outcome"],
            case .array(let suggested)? = advice["suggestedIndexes"]
        else { return nil }
        self.outcome = outcome
        indexes = suggested.compactMap { value in
            guard case .object(let index) = value, case .string(let reason)? = index["reason"],
                case .string(let statement)? = index["statement"]
            else { return nil }
            return Index(reason: reason, statement: statement)
        }
    }

    /// The advice as statements that can be run, with all else in comments.
    var lines: [String] {
        ["-- " + TerminalText.visible(outcome)]
            + indexes.flatMap {
                [
                    "-- " + TerminalText.visible($0.reason),
                    TerminalText.visible($0.statement) + ";",
                ]
            }
    }

    /// The question whether to create the indexes; nil if there are none.
    var question: String? {
        guard let first = indexes.first else { return nil }
        guard indexes.count > 1 else {
            return TerminalText.visible(first.statement) + ": create it? [y/N] "
        }
        return "create these \(indexes.count) indexes? [y/N] "
    }

    /// Whether an answer to the question means yes.
    static func isYes(_ answer: String?) -> Bool {
        let words = (answer ?? "").split(whereSeparator: \.isWhitespace)
        return words.count == 1 && ["y", "Y", "yes", "Yes"].contains(words[0])
    }
}
