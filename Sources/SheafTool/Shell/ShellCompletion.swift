import Sheaf
import SheafDocument
import SheafLineEditor
import SheafQuery
import SheafReference
import SheafStatements
import SheafStorage
import SheafStore

/// The completion of words by the Tab key.
final class ShellCompletion {
    /// Maximum number of documents that are read to find the fields of a collection.
    ///
    /// Each may be in another record, whose checksum is verified when it is first read.
    private static let sampleCount = 64

    /// The fields of collections at a commit.
    private var samples: [String: FieldSample] = [:]
    private var sampleCommit: Int64 = -1

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

    /// Returns the candidates for insertion between two texts of a line.
    ///
    /// `pending` has the earlier lines of the statement.
    func completion(
        _ before: String, _ after: String, pending: String, _ session: ShellSession
    ) -> LineCompletion {
        let store = session.store.current
        guard pending.isEmpty, before.trimmingSpaces.hasPrefix(".") else {
            return statement(before, after, pending: pending, in: store)
        }
        return command(before, after, in: store)
    }

    /// Returns the candidates for insertion in a statement.
    func statement(
        _ before: String, _ after: String, pending: String, in store: Store?
    ) -> LineCompletion {
        let context = CompletionContext(before: pending + before, after: after)
        let prefix = context.prefix
        switch context.expectation {
        case .nothing: return .none
        case .statement: return keywords(Self.statements, prefix)
        case .collection(let isReading):
            var names = collections(of: store).map { name($0, context) }
            if isReading, !context.isQuoted {
                names.append(.init("system:", isComplete: false))
            }
            return matching(prefix, names, isQuoted: context.isQuoted)
        case .systemCollection: return matching(prefix, Self.systemCollections.map { .init($0) })
        case .parameter: return matching(prefix, Self.parameters.map { .init($0) })
        case .field(let path):
            let fields = fields(below: path, context.sources, in: store)
            return matching(prefix, fields.map { name($0, context) }, isQuoted: context.isQuoted)
        case .words(let words): return keywords(words, prefix)
        case .continuation:
            return expression(context, adding: ["AS OF", "AS OF COMMIT"], in: store)
        case .expression: return expression(context, in: store)
        }
    }

    private func expression(
        _ context: CompletionContext, adding words: [String] = [], in store: Store?
    ) -> LineCompletion {
        let fields = fields(below: [], context.sources, in: store)
        let aliases = context.sources.compactMap(\.alias)
        let names =
            (fields + aliases).map { name($0, context) }
            + Self.cased(words, context.prefix).map { .init($0) }
        guard !context.isQuoted else { return matching(context.prefix, names, isQuoted: true) }
        // Hundreds of words match an empty prefix, so only the names are offered.
        if context.prefix.isEmpty, !names.isEmpty { return matching("", names) }
        let isUpper = Self.isUpper(context.prefix)
        let functions = Self.functions.map { function in
            LineCompletion.Candidate(
                isUpper && function == function.lowercased() && context.prefix.count > 1
                    ? function.uppercased() + "(" : function + "(",
                label: function + "()", isComplete: false)
        }
        let keywords = Self.cased(KeywordList.spellings, context.prefix)
        return matching(context.prefix, names + keywords.map { .init($0) } + functions)
    }

    private func name(
        _ name: String, _ context: CompletionContext
    ) -> LineCompletion.Candidate {
        context.isQuoted
            ? .init(String(NameSpelling.quoted(name).dropFirst()), label: name)
            : .init(NameSpelling.text(of: name))
    }

    // MARK: Words

    private func keywords(_ words: [String], _ prefix: String) -> LineCompletion {
        matching(prefix, Self.cased(words, prefix).map { .init($0) })
    }

    /// Returns keywords in the case of the typed prefix.
    private static func cased(_ words: [String], _ prefix: String) -> [String] {
        prefix.isEmpty || isUpper(prefix) ? words : words.map { $0.lowercased() }
    }

    private static func isUpper(_ prefix: String) -> Bool {
        !prefix.isEmpty && prefix == prefix.uppercased()
    }

    /// Returns the candidates that begin with a prefix, in any case.
    func matching(
        _ prefix: String, _ candidates: [LineCompletion.Candidate], isQuoted: Bool = false
    ) -> LineCompletion {
        let wanted = prefix.lowercased()
        var seen: Set<String> = []
        let found = candidates.filter { candidate in
            // A name that needs backticks is also found without them.
            let text = candidate.text.lowercased()
            let isMatch =
                text.hasPrefix(wanted)
                || (!isQuoted && text.hasPrefix("`") && text.dropFirst().hasPrefix(wanted))
            return isMatch && seen.insert(candidate.text).inserted
        }
        // Candidates in the typed case are preferred, if there are any.
        let exact = found.filter { $0.text.hasPrefix(prefix) }
        return LineCompletion(
            replacing: prefix.unicodeScalars.count, exact.isEmpty ? found : exact)
    }

    // MARK: Names

    /// Returns the collections of a store.
    func collections(of store: Store?) -> [String] {
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
        let commit = Int64(clamping: store.queries.snapshot().log.commit)
        if commit != sampleCommit { (samples, sampleCommit) = ([:], commit) }
        if let known = samples[collection] { return known }
        // A collection that cannot be read causes an error when the statement runs.
        let sample = try? FieldSample(first: Self.sampleCount, of: collection, in: store)
        samples[collection] = sample
        return sample
    }
}
