/// The pages and their entries.
extension Reference {
    /// The pages, in the order of the documentation.
    package static let pages: [ReferencePage] = [
        ReferencePage(
            "Notation", "Names, literals, comments, paths and arguments, and the sample documents.",
            topics),
        ReferencePage("Statements", "Each statement, with its clauses in order.", statements),
        ReferencePage(
            "Clauses", "The clauses of statements.", sourceClauses + resultClauses + writingClauses),
        ReferencePage(
            "Operators", "The operators of expressions, and the expressions that end with END.",
            arithmeticOperators + comparisonOperators + patternOperators + elementOperators),
        ReferencePage(
            "TextFunctions", "Functions on strings.", textFunctions + textMakingFunctions),
        ReferencePage("NumberFunctions", "Functions on numbers.", numberFunctions),
        ReferencePage("DateFunctions", "Functions on dates and durations.", dateFunctions),
        ReferencePage("ArrayFunctions", "Functions on arrays.", arrayFunctions),
        ReferencePage("ObjectFunctions", "Functions on objects and JSON.", objectFunctions),
        ReferencePage(
            "ChoiceFunctions", "Functions that choose a value or test for MISSING and NULL.",
            choiceFunctions),
        ReferencePage("TypeFunctions", "Functions on the types of values.", typeFunctions),
        ReferencePage("Aggregates", "Functions of the rows of a group.", aggregates),
        ReferencePage(
            "Types", "The types of values, and the types that a statement declares for fields.",
            valueTypes + fieldTypes),
        ReferencePage("Directives", "Directives of statements and collections.", directives),
        ReferencePage(
            "SystemCollections", "Virtual, read-only collections about the store and its peers.",
            systemCollections),
        ReferencePage(
            "Parameters", "Parameters of ALTER SYSTEM and SHOW.",
            languageParameters + storeParameters + ignoredParameters),
    ]

    /// All entries, in the order of the pages.
    package static let entries: [ReferenceEntry] = pages.flatMap(\.entries)

    /// Returns the entries with a name in any case; several kinds may share one.
    package static func entries(named name: String) -> [ReferenceEntry] {
        let exact = entries.filter { $0.name == name }
        return exact.isEmpty ? entries.filter { $0.isNamed(name) } : exact
    }

    /// The entries of a kind, sorted by name.
    package static func entries(of kind: ReferenceEntry.Kind) -> [ReferenceEntry] {
        entries.filter { $0.kind == kind }.sorted { $0.name.lowercased() < $1.name.lowercased() }
    }
}
