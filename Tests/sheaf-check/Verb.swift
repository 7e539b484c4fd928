/// A verb of the program: its help, its arguments, and its run.
struct Verb: Sendable {
    /// The words that a verb accepts besides its options.
    enum Operands {
        case none
        /// At most one of these words.
        case choice([String])
        /// At most one word, with its placeholder in the help.
        case single(String)
        /// Any number of words, with their placeholder in the help.
        case many(String)
    }

    let name: String
    /// The description in the list of verbs, on one line.
    let summary: String
    var operands = Operands.none
    let options: [CheckOption]
    /// The text of the help after the options.
    var details: String?
    /// The function that runs the verb and returns its exit code.
    let run: @Sendable (CheckArguments) async throws(UsageError) -> Int32

    /// The synopsis on one line.
    var usage: String {
        "usage: sheaf-check \(name) [OPTION ...]\(operands.synopsis)"
    }

    /// The help text of the verb.
    var help: String {
        """
        \(usage)

        \(summary.prefix(1).uppercased() + summary.dropFirst()).

        options:
        \(HelpTable.text((options + [.help]).map { ($0.term, $0.summary) }))
        """ + (details.map { "\n\n" + $0 } ?? "")
    }
}

extension Verb.Operands {
    fileprivate var synopsis: String {
        switch self {
        case .none: ""
        case .choice(let words): " [\(words.joined(separator: " | "))]"
        case .single(let placeholder): " [\(placeholder)]"
        case .many(let placeholder): " [\(placeholder) ...]"
        }
    }

    /// Throws if `word` cannot follow `previous` operands.
    func check(_ word: String, after previous: [String]) throws(UsageError) {
        switch self {
        case .many: return
        case .single where previous.isEmpty: return
        case .choice(let words) where previous.isEmpty:
            guard words.contains(word) else {
                throw UsageError(
                    "unknown operand '\(word)'; expected \(words.joined(separator: ", "))")
            }
        default: throw UsageError("unexpected operand '\(word)'")
        }
    }
}

/// Terms and their descriptions in two columns.
enum HelpTable {
    static func text(_ rows: [(term: String, summary: String)]) -> String {
        let width = rows.map(\.term.count).max() ?? 0
        let lines = rows.map { row in
            let gap = String(repeating: " ", count: width - row.term.count + 2)
            return "  \(row.term)\(gap)\(row.summary)"
        }
        return lines.joined(separator: "\n")
    }
}
