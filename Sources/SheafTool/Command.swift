import SheafBytes

/// One of the things that the tool does.
struct Command: Sendable {
    let name: String
    /// One line for the list of commands.
    let summary: String
    /// What stands for the operands in the help, all of which have to be given.
    let operands: [String]
    let options: [Option]
    /// What the help says behind the options.
    let details: String
    let run: @Sendable (Arguments, Output) throws(ToolError) -> ExitCode

    /// All commands, in the order of the help.
    static let all: [Command] = [
        .query, .log, .show, .blame, .verify, .salvage, .stats, .compact, .clock, .peerServe,
        .peerConnect,
        .peerList, .peerExecute, .syncStatus, .explainSync, .keygen, .grant, .demo,
    ]

    /// How the command is written.
    var usage: String {
        var words = ["sheaf", name] + operands
        words += options.map { option in
            "[--\(option.name)" + (option.value.map { " \($0)" } ?? "") + "]"
                + (option.isRepeatable ? "..." : "")
        }
        return words.joined(separator: " ")
    }

    /// The same in lines that are not too long.
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

    /// The help of the command.
    var help: String {
        let options = options + [.help]
        let terms = options.map { "--\($0.name)" + ($0.value.map { " \($0)" } ?? "") }
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
        return lines.joined(separator: "\n") + "\n\n" + details
    }

    /// Reads the words behind the command's name and does what they say.
    func run(_ words: ArraySlice<String>, _ output: Output) throws(ToolError) -> ExitCode {
        let arguments = try Arguments(words, options: options + [.help])
        if arguments.has(Option.help.name) {
            output.write(help)
            return .ok
        }
        let given = arguments.operands.count
        guard given >= operands.count else {
            throw .usage("\(operands[given]) is missing: \(usage)")
        }
        guard given == operands.count else {
            throw .usage(
                "'\(arguments.operands[operands.count].shortened)' is one too many: \(usage)")
        }
        if let empty = arguments.operands.firstIndex(of: "") {
            throw .usage("\(operands[empty]) is empty: \(usage)")
        }
        return try run(arguments, output)
    }
}
