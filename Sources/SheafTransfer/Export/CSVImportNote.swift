import SheafBytes
import SheafDocument

extension ExportColumns {
    /// Maximum number of columns that the note names.
    private static let maximumListed = 10

    /// The note on an import of the exported CSV; nil if it gives the same documents as it is.
    ///
    /// An import infers types from the texts of a column, so it may need options; other columns
    /// need an export of another kind.
    var csvImportNote: String? {
        let lost = all.filter { $0.csvImport == .needsJSON || $0.needsFullExport }
        guard lost.isEmpty else { return Self.note(on: lost) }
        var types: [String] = []
        for case (let name, .needsType(let type)) in all.map({ ($0.name, $0.csvImport) }) {
            types.append("\(name)=\(type.rawValue)")
        }
        var options: [String] = []
        if all.contains(where: { $0.kinds.contains(.null) }) { options.append("--null null") }
        if !types.isEmpty {
            options.append("--types " + Self.shellWord(types.joined(separator: ",")))
        }
        guard !options.isEmpty else { return nil }
        return "to get the same documents, import the file with "
            + options.joined(separator: " ")
    }

    private static func note(on lost: [Column]) -> String {
        let text =
            "an import of the CSV file does not give the same documents, because of "
            + list(lost)
        let full = lost.filter(\.needsFullExport)
        guard !full.isEmpty else { return text + "; export with --format jsonl or --full" }
        return text + "; export with --full, since JSON has no bytes, infinities and NaN, as in "
            + list(full)
    }

    private static func list(_ columns: [Column]) -> String {
        let names = columns.prefix(maximumListed).map { "'\($0.name.shortened(to: 30))'" }
        let rest = columns.count - names.count
        return (columns.count == 1 ? "the column " : "the columns ")
            + names.joined(separator: ", ") + (rest > 0 ? " and \(rest) more" : "")
    }

    /// Returns the text in single quotes, as a shell takes it for one word.
    private static func shellWord(_ text: String) -> String {
        var word = "'"
        for scalar in text.unicodeScalars {
            if scalar == "'" { word += "'\\'" }
            word.unicodeScalars.append(scalar)
        }
        return word + "'"
    }
}

extension ExportColumns.Column {
    /// The way in which an import of CSV gives a column its values again.
    fileprivate enum CSVImport: Equatable {
        /// The import infers the right type.
        case isInferred
        /// The import needs an option with the type.
        case needsType(ColumnType)
        /// CSV does not distinguish the values, or cannot have the name.
        case needsJSON
    }

    fileprivate var csvImport: CSVImport {
        // A header with an empty name, a carriage return or a NUL byte is refused, and so is a row
        // with a NUL byte.
        guard !name.isEmpty, !name.utf8.contains(0x0D), !name.utf8.contains(0), !hasNUL else {
            return .needsJSON
        }
        let kinds = kinds.subtracting(.null)
        // An import ignores quotes when it infers the one type of a column, so the text 1 and the
        // integer 1 would be equal.
        guard kinds.isDisjoint(with: .string) || kinds == .string else { return .needsJSON }
        guard let type = csvType(kinds) else { return .isInferred }
        return isOptionName ? .needsType(type) : .needsJSON
    }

    /// Returns the type that an import cannot infer; nil if it can.
    private func csvType(_ kinds: ExportColumns.Kinds) -> ColumnType? {
        switch kinds {
        case .string: hasPlainText ? nil : .text
        // Only integers are inferred as ids that are not texts.
        case .boolean: name == "_id" ? .boolean : nil
        case .integer, .float, []: nil
        default: .json
        }
    }

    /// Whether the option `--types` on a terminal can have the name.
    private var isOptionName: Bool {
        name.unicodeScalars.allSatisfy { scalar in
            guard scalar != "," else { return false }
            switch scalar.properties.generalCategory {
            case .control, .format, .surrogate, .privateUse, .unassigned, .lineSeparator,
                .paragraphSeparator:
                return false
            default: return true
            }
        }
    }
}
