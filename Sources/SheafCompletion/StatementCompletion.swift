import SheafDocument
import SheafEngine
import SheafQuery
import SheafReference
import SheafStatements
import SheafStorage
package import SheafStore
import Synchronization

/// The completion of words in statements, for the shell and the inspector.
package final class StatementCompletion: Sendable {
    /// A text that may replace the typed one.
    package struct Candidate: Hashable, Sendable {
        /// The text to insert.
        package let text: String
        /// The text shown in a list of candidates.
        package let label: String
        /// Whether a space may follow it.
        package let isComplete: Bool

        /// Creates a candidate; without a label, the text is shown.
        package init(_ text: String, label: String? = nil, isComplete: Bool = true) {
            self.text = text
            self.label = label ?? text
            self.isComplete = isComplete
        }
    }

    /// The candidates at a position of a statement.
    package struct Answer: Sendable {
        /// The text before the position that a candidate replaces.
        package let prefix: String
        /// The candidates that begin with the prefix, in any case.
        package let candidates: [Candidate]
    }

    /// Maximum number of documents that are read to find the fields of a collection.
    ///
    /// Each may be in another record, whose checksum is verified when it is first read.
    private static let sampleCount = 64

    /// The fields of collections at a commit.
    private struct Samples: Sendable {
        var commit: CommitID?
        var fields: [String: FieldSample] = [:]
    }

    private let samples = Mutex(Samples())

    private static let functions = Reference.entries(of: .function).map(\.name)
    private static let parameters = Reference.entries(of: .parameter).map(\.name)
    private static let systemCollections = Reference.entries(of: .collection).map(\.name)
        .filter { $0.hasPrefix("system:") }.map { String($0.dropFirst("system:".count)) }
    /// The first words of statements.
    private static let statements: [String] = {
        let words = Reference.entries(of: .statement).compactMap { entry in
            entry.name.split(separator: " ").first.map(String.init)
        }
        return Set(words.filter { $0 == $0.uppercased() }).sorted()
    }()

    /// Creates a completion for one store; without any, no names are completed.
    package init() {}

    /// Returns the candidates for insertion between two parts of a statement.
    package func answer(_ before: String, _ after: String, in store: Store?) -> Answer {
        let context = CompletionContext(before: before, after: after)
        return Answer(prefix: context.prefix, candidates: candidates(context, in: store))
    }

    private func candidates(_ context: CompletionContext, in store: Store?) -> [Candidate] {
        let prefix = context.prefix
        switch context.expectation {
        case .nothing: return []
        case .statement:
            return Self.matching(prefix, Self.cased(Self.statements, prefix).map { .init($0) })
        case .collection(let isReading):
            var names = Self.collections(of: store).map { name($0, context) }
            if isReading, !context.isQuoted {
                names.append(.init("system:", isComplete: false))
            }
            return Self.matching(prefix, names, isQuoted: context.isQuoted)
        case .systemCollection:
            return Self.matching(prefix, Self.systemCollections.map { .init($0) })
        case .parameter: return Self.matching(prefix, Self.parameters.map { .init($0) })
        case .field(let path):
            let fields = fields(below: path, context.sources, in: store)
            return Self.matching(
                prefix, fields.map { name($0, context) }, isQuoted: context.isQuoted)
        case .words(let words):
            return Self.matching(prefix, Self.cased(words, prefix).map { .init($0) })
        case .continuation:
            return expression(context, adding: ["AS OF", "AS OF COMMIT"], in: store)
        case .expression: return expression(context, in: store)
        }
    }

    private func expression(
        _ context: CompletionContext, adding words: [String] = [], in store: Store?
    ) -> [Candidate] {
        let fields = fields(below: [], context.sources, in: store)
        let aliases = context.sources.compactMap(\.alias)
        let names =
            (fields + aliases).map { name($0, context) }
            + Self.cased(words, context.prefix).map { .init($0) }
        guard !context.isQuoted else {
            return Self.matching(context.prefix, names, isQuoted: true)
        }
        // Hundreds of words match an empty prefix, so only the names are offered.
        if context.prefix.isEmpty, !names.isEmpty { return Self.matching("", names) }
        let isUpper = Self.isUpper(context.prefix)
        let functions = Self.functions.map { function in
            Candidate(
                isUpper && function == function.lowercased() && context.prefix.count > 1
                    ? function.uppercased() + "(" : function + "(",
                label: function + "()", isComplete: false)
        }
        let keywords = Self.cased(KeywordList.spellings, context.prefix)
        return Self.matching(context.prefix, names + keywords.map { .init($0) } + functions)
    }

    private func name(_ name: String, _ context: CompletionContext) -> Candidate {
        context.isQuoted
            ? .init(String(NameSpelling.quoted(name).dropFirst()), label: name)
            : .init(NameSpelling.text(of: name))
    }

    // MARK: Words

    /// Returns keywords in the case of the typed prefix.
    private static func cased(_ words: [String], _ prefix: String) -> [String] {
        prefix.isEmpty || isUpper(prefix) ? words : words.map { $0.lowercased() }
    }

    private static func isUpper(_ prefix: String) -> Bool {
        !prefix.isEmpty && prefix == prefix.uppercased()
    }

    /// Returns the candidates that begin with a prefix, in any case.
    package static func matching(
        _ prefix: String, _ candidates: [Candidate], isQuoted: Bool = false
    ) -> [Candidate] {
        let wanted = prefix.lowercased()
        // A name that needs backticks is also found without them.
        func begins(_ text: String, with prefix: String) -> Bool {
            text.hasPrefix(prefix)
                || (!isQuoted && text.hasPrefix("`") && text.dropFirst().hasPrefix(prefix))
        }
        var seen: Set<String> = []
        let found = candidates.filter { candidate in
            begins(candidate.text.lowercased(), with: wanted)
                && seen.insert(candidate.text).inserted
        }
        // Candidates in the typed case are preferred, if there are any.
        let exact = found.filter { begins($0.text, with: prefix) }
        return exact.isEmpty ? found : exact
    }

    // MARK: Names

    /// Returns the collections of a store.
    package static func collections(of store: Store?) -> [String] {
        (store?.queries.snapshot().catalog.collections ?? []).sorted()
    }

    /// Returns the fields below a path, whose first name may be a collection or an alias.
    private func fields(
        below path: [String], _ sources: [CompletionContext.Source], in store: Store?
    ) -> [String] {
        guard let store else { return [] }
        var names: [String] = []
        for source in sources {
            var path = path
            if let first = path.first, first == source.alias || first == source.collection {
                path.removeFirst()
            } else if sources.count > 1, !path.isEmpty,
                sources.contains(where: {
                    $0.alias == path[0] || $0.collection == path[0]
                })
            {
                continue
            }
            for field in sample(of: source.collection, in: store)?.fields ?? []
            where field.path.count == path.count + 1 && field.path.starts(with: path) {
                names.append(field.path[path.count])
            }
        }
        return names
    }

    private func sample(of collection: String, in store: Store) -> FieldSample? {
        let commit = store.queries.snapshot().log.commit
        let known = samples.withLock { $0.commit == commit ? $0.fields[collection] : nil }
        if let known { return known }
        // A collection that cannot be read causes an error when the statement runs.
        let sample = try? FieldSample(first: Self.sampleCount, of: collection, in: store)
        samples.withLock { samples in
            if samples.commit != commit { samples = Samples(commit: commit) }
            samples.fields[collection] = sample
        }
        return sample
    }
}
