import SheafBytes

/// The format of an exported file.
package enum ExportFormat: String, CaseIterable, Sendable {
    case jsonl, json, csv, sqlite, markdown

    /// The format that a file name suggests; nil if its extension is unknown.
    package init?(ofFile path: String) {
        let name =
            path.utf8.lastIndex(of: UInt8(ascii: "/")).map {
                path[path.utf8.index(after: $0)...]
            } ?? path[...]
        guard let period = name.lastIndex(of: "."), period > name.startIndex else { return nil }
        switch name[name.index(after: period)...].lowercased() {
        case "jsonl", "ndjson": self = .jsonl
        case "json": self = .json
        case "csv": self = .csv
        case "sqlite", "sqlite3", "db": self = .sqlite
        case "md", "markdown": self = .markdown
        default: return nil
        }
    }

    /// Whether the columns must be known before the first row, so that rows are read twice.
    var hasColumns: Bool {
        switch self {
        case .csv, .markdown, .sqlite: true
        case .jsonl, .json: false
        }
    }
}
