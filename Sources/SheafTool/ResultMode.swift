import SheafBytes

/// The output mode for rows.
enum ResultMode: String, CaseIterable {
    case table, json, csv, markdown, line

    /// Creates the mode named by `--mode`; the default is `table`.
    init(named name: String?) throws(ToolError) {
        guard let name else {
            self = .table
            return
        }
        guard let mode = Self(rawValue: name) else {
            let names = Self.allCases.map(\.rawValue)
            throw .usage(
                "unknown mode '\(name.shortened)'" + OptionSuggestion.text(for: name, among: names)
                    + "; the modes are \(names.joined(separator: ", "))")
        }
        self = mode
    }

    /// Whether messages and trees may be printed among the rows.
    var isForPeople: Bool {
        switch self {
        case .table, .markdown, .line: true
        case .json, .csv: false
        }
    }
}
