import SheafBytes

/// The output mode for rows.
enum ResultMode: String, CaseIterable {
    case box, table, markdown, csv, tsv, json, jsonl, line

    /// Returns the mode of `--mode` or `--json`; the default is `box` on a terminal, else `table`.
    static func chosen(
        _ arguments: Arguments, _ output: Output
    ) throws(ToolError) -> ResultMode {
        let isJSON = arguments.has(Option.json.name)
        guard let name = arguments.value("mode") else {
            return isJSON ? .jsonl : output.isTerminal ? .box : .table
        }
        let mode = try ResultMode(named: name)
        guard !isJSON || mode == .jsonl else {
            throw .usage("--json is --mode jsonl, so --mode \(name) excludes it")
        }
        return mode
    }

    /// Creates the mode with this name.
    init(named name: String) throws(ToolError) {
        guard let mode = Self(rawValue: name) else {
            throw .usage(
                "unknown mode '\(name.shortened)'"
                    + OptionSuggestion.text(for: name, among: Self.names)
                    + "; the modes are \(Self.names.joined(separator: ", "))")
        }
        self = mode
    }

    /// The names of all modes.
    static let names = allCases.map(\.rawValue)

    /// Whether messages and trees may be printed among the rows.
    var isForPeople: Bool {
        switch self {
        case .box, .table, .markdown, .line: true
        case .csv, .tsv, .json, .jsonl: false
        }
    }
}

extension Option {
    /// Returns the option `--mode` for a command that has these modes.
    static func mode(_ modes: [ResultMode] = ResultMode.allCases) -> Option {
        let names = modes.map(\.rawValue)
        return Option(
            name: "mode", value: "MODE", words: names,
            summary: "output mode: " + names.joined(separator: ", "))
    }
}
