import SheafBytes

/// A subcommand of the tool.
struct Command: Sendable {
    let name: String
    /// The description in the list of commands, on one line.
    let summary: String
    /// The placeholders of the required operands in the help.
    let operands: [String]
    /// The placeholders of the operands after the required ones.
    ///
    /// Without one of them, all later ones are absent, too.
    var optionalOperands: [String] = []
    /// The operands as the help shows them, if an optional one is not the last.
    var synopsis: [String]?
    let options: [Option]
    /// The text of the help after the options.
    let details: String
    /// The placeholder of further operands in any number, or nil if there are none.
    var furtherOperands: String?
    let run: @Sendable (Arguments, Output) throws(ToolError) -> ExitCode

    /// The placeholders of all operands.
    var allOperands: [String] {
        operands + optionalOperands + (furtherOperands.map { [$0] } ?? [])
    }

    /// The operands of the synopsis without further ones; brackets enclose optional ones.
    var operandWords: [String] { synopsis ?? operands + optionalOperands.map { "[\($0)]" } }

    /// The operands of the synopsis; brackets enclose optional ones.
    var operandSynopsis: [String] {
        operandWords + (furtherOperands.map { ["[\($0)]..."] } ?? [])
    }

    /// The synopsis on one line.
    var usage: String {
        var words = ["sheaf", name] + operandSynopsis
        words += options.map { option in
            "[\(option.letter.map { "-\($0)" } ?? "--\(option.name)")"
                + (option.value.map { " \($0)" } ?? "") + "]"
                + (option.isRepeatable ? "..." : "")
        }
        return words.joined(separator: " ")
    }

    /// The synopsis, wrapped for the help.
    private var wrappedUsage: String {
        var lines = [""]
        for part in usage.split(separator: "[") {
            let piece = (lines == [""] ? "" : "[") + part
            if lines[lines.count - 1].utf8.count + piece.utf8.count > Self.usageWidth {
                lines[lines.count - 1].removeLast()
                lines.append("           ")
            }
            lines[lines.count - 1] += piece
        }
        return lines.joined(separator: "\n")
    }

    private static let usageWidth = 92

    /// The help text of the command.
    var help: String {
        let options = options + [.help]
        let terms = options.map { option in
            (option.letter.map { "-\($0), " } ?? "") + "--\(option.name)"
                + (option.value.map { " \($0)" } ?? "")
        }
        let width = terms.map(\.utf8.count).max() ?? 0
        var lines = [
            "usage: \(wrappedUsage)", "", summary.prefix(1).uppercased() + summary.dropFirst(),
        ]
        lines[2] += "."
        lines += ["", "options:"]
        for (term, option) in zip(terms, options) {
            let gap = String(repeating: " ", count: width - term.utf8.count + 2)
            lines.append("  \(term)\(gap)\(option.summary)")
        }
        let note = LanguageHelp.note(on: name).map { "\n\n" + $0 } ?? ""
        return lines.joined(separator: "\n") + "\n\n" + details + note
    }

    /// Parses the words after the command's name and runs the command.
    func run(_ words: ArraySlice<String>, _ output: Output) throws(ToolError) -> ExitCode {
        let arguments = try Arguments(words, options: options + [.help])
        if arguments.has(Option.help.name) {
            output.write(help)
            return .ok
        }
        let given = arguments.operands.count
        guard given >= operands.count else {
            throw .usage("missing \(operands[given]); usage: \(usage)")
        }
        let allowed = operands + optionalOperands
        guard given <= allowed.count || furtherOperands != nil else {
            throw .usage(
                "unexpected argument '\(arguments.operands[allowed.count].shortened)'; usage: "
                    + usage)
        }
        if let empty = arguments.operands.firstIndex(of: "") {
            let name = empty < allowed.count ? allowed[empty] : furtherOperands ?? ""
            throw .usage("\(name) is empty; usage: \(usage)")
        }
        try output.apply(arguments)
        if options.contains(where: { $0.name == Option.noPager.name }),
            !arguments.has(Option.noPager.name)
        {
            output.usePager()
        }
        return try run(arguments, output)
    }
}
