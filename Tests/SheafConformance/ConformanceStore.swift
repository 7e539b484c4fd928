import SheafDocument
import SheafEngine
import SheafQuery
import SheafStatements
import SheafStorage
import SheafTestSupport
import Synchronization

/// A store on a simulated disk in which cases run.
final class ConformanceStore {
    private let store: StoreEngine
    private let queries: QueryEngine

    /// Creates a store with the contents of a setting, with or without its indexes.
    init(_ setting: ConformanceSetting, hasIndexes: Bool) throws {
        var options = LogStoreOptions()
        options.clock = FakeClock().clock
        let count = Mutex(UInt64(0))
        options.random = {
            count.withLock {
                $0 += 1
                return $0
            }
        }
        store = try StoreEngine(opening: SimulatedVolume(seed: 1), options: options)
        queries = QueryEngine(try DocumentEngine(store))
        for action in setting.actions {
            switch action {
            case .documents(let collection, let documents):
                for document in documents {
                    _ = try execute(
                        "INSERT INTO `\(collection)` DOCUMENTS (:d)", ["d": document],
                        isFlushed: false)
                }
                try flush()
            case .statement(let text): _ = try execute(text, [:])
            case .index(let text): if hasIndexes { _ = try execute("CREATE INDEX \(text)", [:]) }
            }
        }
    }

    /// Whether a statement does not change the store.
    static func isReading(_ text: String) -> Bool {
        guard let statement = try? Parser.parse(text) else { return true }
        if case .reading = statement.kind { return true }
        return false
    }

    private func flush() throws { while try store.flush() {} }

    private func execute(
        _ text: String, _ arguments: [String: Value], isFlushed: Bool = true
    ) throws -> ResultStorage {
        let store = store
        let (statement, values) = try queries.prepare(
            DQL(verbatim: text), QueryArguments(arguments))
        let outcome = try queries.execute(
            statement, values,
            CommitSink(
                append: { batch throws(StorageError) in try store.append(batch) },
                flush: { () throws(StorageError) in while try store.flush() {} }))
        if isFlushed { try flush() }
        return outcome
    }

    /// Runs a step and formats its result as lines of a conformance file.
    func answer(_ step: ConformanceStatement) -> [String] {
        do {
            let outcome = try execute(step.text, step.arguments)
            guard outcome.commit.value == Int64(store.lastCommit) else {
                return ["! the commit of a result must be the newest one"]
            }
            var rows: [String] = []
            for item in outcome.items {
                rows.append("= " + Value.object(try item.object(outcome.names)).json)
            }
            if !Self.isOrdered(step.text) { rows.sort() }
            guard !outcome.mutatedIDs.isEmpty else { return rows }
            return rows + ["~ [" + outcome.mutatedIDs.map(\.json).joined(separator: ",") + "]"]
        } catch let error as StoreError {
            return Self.lines(of: error, in: step.text)
        } catch {
            return ["! \(error)"]
        }
    }

    /// Whether the order of rows is specified; if not, rows are compared sorted.
    static func isOrdered(_ text: String) -> Bool {
        text.uppercased().contains("ORDER BY") || text.uppercased().hasPrefix("PROFILE")
    }

    private static func lines(of error: StoreError, in text: String) -> [String] {
        var lines = ["! " + error.message]
        if let excerpt = error.excerpt {
            let start = excerpt.text.index(
                excerpt.text.startIndex, offsetBy: min(excerpt.markStart, excerpt.text.count))
            let mark = excerpt.line > 1 ? "\(excerpt.line):\(excerpt.column)" : "\(excerpt.column)"
            lines.append("^ \(mark) \(excerpt.text[start...].prefix(excerpt.markLength))")
        }
        if let hint = error.hint { lines.append("+ " + hint) }
        return lines
    }
}
