import SheafReference

/// The help about elements of the query language.
enum LanguageHelp {
    /// Lists that `sheaf help` prints, by their plural.
    static let lists = ReferenceEntry.Kind.allCases.map(\.plural)

    /// Returns the list or the entries that the words name, or nil if there are none.
    static func text(of words: [String]) -> String? {
        let words = words.flatMap { $0.split(separator: " ").map(String.init) }
        let name = words.joined(separator: " ")
        if let kind = ReferenceEntry.Kind.allCases.first(where: {
            $0.plural == name.lowercased()
        }) {
            return ReferenceText.list(of: kind)
        }
        var entries = Reference.entries(named: name)
        if entries.isEmpty, let first = words.first?.lowercased(),
            let kind = ReferenceEntry.Kind(rawValue: first)
        {
            let rest = words.dropFirst().joined(separator: " ")
            entries = Reference.entries(of: kind).filter { $0.isNamed(rest) }
        }
        guard !entries.isEmpty else { return nil }
        return entries.map(ReferenceText.text).joined(separator: "\n\n")
    }

    /// Returns a line for the help of a command whose name is also that of an entry, or nil.
    static func note(on command: String) -> String? {
        guard let entry = Reference.entries.first(where: { $0.name.lowercased() == command }) else {
            return nil
        }
        return "In the query language there is also the \(entry.kind.rawValue) \(entry.name): "
            + "sheaf help \(entry.kind.rawValue) \(entry.name)"
    }

    /// Names that a mistyped word may mean; those of one or two letters resemble most short words.
    static let names =
        lists
        + Reference.entries.flatMap { [$0.name] + $0.aliases }.map { $0.lowercased() }
        .filter { $0.count > 2 }
}
