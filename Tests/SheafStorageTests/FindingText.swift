import SheafStorage

/// Short texts of findings, and tables of them.
enum FindingText {
    private static let abbreviations = [
        "OPEN": "note 6:360: the store was not closed; the next opening seals the segment",
        "LEFT-OPEN": "note 6:360: the store was not closed",
        "PREPARED":
            "note 7:0: the segment was prepared but not begun; the next opening removes it",
    ]

    /// Returns the severity, the file and the rest of a finding; files are named by their numbers.
    static func text(_ finding: Finding) -> String {
        let file =
            switch FileName(finding.file) {
            case .segment(let number): "\(number)"
            case .base(let segments): "\(segments.lowerBound)-\(segments.upperBound)"
            case .checkpoint: "checkpoint"
            default: finding.file
            }
        return "\(finding.severity.rawValue) \(file):\(finding.offset): \(finding.reason)"
    }

    /// Returns the rows of a table: a name, and the indented lines below it.
    static func rows(_ table: String) -> [(name: String, findings: [String])] {
        var rows: [(name: String, findings: [String])] = []
        for line in table.split(separator: "\n").map(String.init) {
            guard line.hasPrefix("  "), let last = rows.indices.last else {
                rows.append((line, []))
                continue
            }
            let text = String(line.dropFirst(2))
            rows[last].findings.append(abbreviations[text] ?? text)
        }
        return rows
    }
}
