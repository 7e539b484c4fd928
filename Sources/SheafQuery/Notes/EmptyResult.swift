import SheafBytes
package import SheafDocument

/// A statement that found no rows and changed no documents, and the notes that explain why.
package struct EmptyResult {
    /// Maximum number of notes.
    private static let maximumCount = 8

    private let statement: Statement
    private let arguments: ArgumentValues
    private let isStrict: Bool
    private let store: any QueryStore
    /// Names of all collections that have or had documents.
    private let collections: [String]
    /// Whether the documents of a collection are known; false while a transaction changes some.
    private let isKnown: (_ collection: String) -> Bool

    /// Creates the explanation of a statement that found nothing in `store`.
    package init(
        _ statement: Statement, _ arguments: ArgumentValues, isStrict: Bool,
        in store: any QueryStore, collections: [String],
        isKnown: @escaping (_ collection: String) -> Bool
    ) {
        self.statement = statement
        self.arguments = arguments
        self.isStrict = statement.strictness ?? isStrict
        self.store = store
        self.collections = collections
        self.isKnown = isKnown
    }

    /// Returns facts about the statement and the documents that may explain the empty result.
    ///
    /// Reads at most `CollectionSample.maximumCount` documents of each collection.
    package func notes() throws(StoreError) -> [String] {
        guard let reads = StatementReads(statement.body) else { return [] }
        var reader = ConditionNotes(statement.text, arguments)
        for condition in reads.conditions { try reader.read(condition) }
        let uses = try fieldUses(reads, reader)
        var notes: [String] = []
        for (number, source) in reads.sources.enumerated() where !PlanEnvironment.isVirtual(source)
        {
            notes += try self.notes(on: source, uses.filter { $0.member == number }, reader)
        }
        notes += reader.notes
        var distinct: [String] = []
        for note in notes where !distinct.contains(note) { distinct.append(note) }
        return Array(distinct.prefix(Self.maximumCount))
    }

    // MARK: Fields

    /// A field that the statement reads.
    private struct FieldUse {
        let member: Int
        let path: [String]
        let range: SourceRange
    }

    private func fieldUses(
        _ reads: StatementReads, _ reader: ConditionNotes
    ) throws(StoreError) -> [FieldUse] {
        var scope = Scope(text: statement.text)
        for source in reads.sources { try scope.add(source, isStrict: isStrict) }
        var uses: [FieldUse] = []
        for expression in reads.conditions + reads.others {
            // The name of the only source denotes the document.
            if scope.isBareSource(expression) { continue }
            try expression.forEachPath { (path, range) throws(StoreError) in
                if path.count == 1, reads.aliases.hasSpelling(path[0]) { return }
                // An ambiguous name is an error of the statement, which then has no result.
                switch try? scope.resolve(path, at: range) {
                case .field(let member, let path):
                    uses.append(FieldUse(member: member, path: path, range: range))
                case .id(let member, rest: []):
                    uses.append(FieldUse(member: member, path: [Row.idName], range: range))
                case .id, .row, .variable, nil: break
                }
            }
        }
        return uses
    }

    private func notes(
        on source: Source, _ uses: [FieldUse], _ reader: ConditionNotes
    ) throws(StoreError) -> [String] {
        let name = source.name.text
        guard isKnown(name) else { return [] }
        guard let collection = store.collection(name) else {
            return ["there is no collection \(name.shortened)" + suggestion(name, collections)]
        }
        let sample = try CollectionSample(collection, in: store)
        guard sample.count > 0 else {
            return sample.isComplete ? ["the collection \(name.shortened) has no documents"] : []
        }
        let types = FieldTypes(source.types, isStrict: isStrict)
        let values = try sample.values(of: uses.map(\.path), types)
        var notes: [String] = []
        for (use, values) in zip(uses, values) {
            if !values.kinds.isEmpty {
                notes += reader.comparisons.filter { $0.subject.range == use.range }
                    .compactMap { note(on: $0, use, values, sample, name) }
            } else if values.isHidden {
                notes.append(hidden(use, name, types))
            } else {
                let isBareWord = use.path.count == 1 && reader.bareWords.contains(use.range)
                notes.append(try missing(use, sample, name, isBareWord: isBareWord))
            }
        }
        return notes
    }

    // MARK: Sentences

    private func missing(
        _ use: FieldUse, _ sample: CollectionSample, _ collection: String, isBareWord: Bool
    ) throws(StoreError) -> String {
        let (known, names) = try sample.names(along: use.path)
        let path = known + use.path.dropFirst(known.count).prefix(1)
        let near = Suggestion.nearest(to: path[path.count - 1], among: names)
            .map { text(known + [$0]) }
        let (field, documents) = (text(path), documents(sample, collection))
        guard isBareWord else {
            return "\(documents) has a field \(field)"
                + (near.map { "; did you mean \($0)?" } ?? "")
        }
        let quoted = "'\(use.path[0].shortened)'"
        return "\(field) is a field here, and \(documents) has it; "
            + (near.map { "did you mean \($0), or the text \(quoted)?" }
                ?? "write \(quoted) for a text")
    }

    private func hidden(_ use: FieldUse, _ collection: String, _ types: FieldTypes) -> String {
        let (field, name) = (text(use.path), collection.shortened)
        guard types.declares(use.path[0]) else {
            return "strict mode hides the field \(field) of \(name), which is no register there; "
                + "declare its type after the name of the collection, as in "
                + "COLLECTION \(name) (\(text([use.path[0]])) MAP)"
        }
        return "no document in \(name) has a field \(field) of the type that the statement declares"
    }

    private func note(
        on comparison: ConditionNotes.TypedComparison, _ use: FieldUse,
        _ values: CollectionSample.Values, _ sample: CollectionSample, _ collection: String
    ) -> String? {
        let kinds = values.kinds.subtracting([.null])
        guard !kinds.isEmpty, !values.isHidden, comparison.kinds.isDisjoint(with: kinds) else {
            return nil
        }
        let all = kinds.sorted().map(\.plural).joined(separator: " or ")
        let others = comparison.kinds.sorted().map(\.singular).joined(separator: " or ")
        let part =
            sample.isComplete
            ? collection.shortened
            : "the first \(sample.count) documents of \(collection.shortened)"
        return "\(text(use.path)) has only \(all) in \(part), and \(comparison.text) is \(others)"
    }

    private func documents(_ sample: CollectionSample, _ collection: String) -> String {
        sample.isComplete
            ? "no document in \(collection.shortened)"
            : "none of the first \(sample.count) documents in "
                + collection.shortened
    }

    private func suggestion(_ word: String, _ words: [String]) -> String {
        Suggestion.nearest(to: word, among: words).map { "; did you mean \($0.shortened)?" } ?? ""
    }

    private func text(_ path: [String]) -> String {
        var printer = Printer()
        printer.write(path: path)
        return printer.text.shortened
    }
}

extension Value.Kind {
    fileprivate var singular: String {
        switch self {
        case .boolean: "a boolean"
        case .number: "a number"
        case .bytes: "binary"
        case .string: "a text"
        case .array: "an array"
        case .object: "an object"
        case .null: "NULL"
        }
    }

    fileprivate var plural: String {
        switch self {
        case .boolean: "booleans"
        case .number: "numbers"
        case .bytes: "binary values"
        case .string: "texts"
        case .array: "arrays"
        case .object: "objects"
        case .null: "NULL"
        }
    }
}
