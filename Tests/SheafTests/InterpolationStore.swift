import Sheaf
import SheafDocument
import SheafEngine
import SheafQuery
import SheafStatements
import SheafStorage
import SheafTestSupport
import Testing

/// A store with one document, `{"_id": 1, "n": 1}` in `t`, and its query engine.
final class InterpolationStore {
    private let store: StoreEngine
    let queries: QueryEngine
    let clock = FakeClock()

    init() throws {
        var options = LogStoreOptions()
        options.clock = clock.clock
        store = try StoreEngine(opening: SimulatedVolume(seed: 1), options: options)
        queries = QueryEngine(try DocumentEngine(store))
        try execute("INSERT INTO t DOCUMENTS ({_id: 1, n: 1})")
    }

    @discardableResult
    func execute(
        _ query: DQL, _ arguments: QueryArguments = [:]
    ) throws(StoreError) -> ResultStorage {
        let store = store
        let flush = { @Sendable () throws(StorageError) in while try store.flush() {} }
        let (statement, values) = try queries.prepare(query, arguments)
        let outcome = try queries.execute(
            statement, values,
            CommitSink(
                append: { batch throws(StorageError) in try store.append(batch) }, flush: flush))
        do throws(StorageError) { try flush() } catch { throw StoreError(.failed, "\(error)") }
        return outcome
    }

    func rows(_ query: DQL, _ arguments: QueryArguments = [:]) throws -> [Value] {
        let outcome = try execute(query, arguments)
        return try outcome.items.map { .object(try $0.object(outcome.names)) }
    }

    /// Returns the first column of the only row.
    func value(_ query: DQL, _ arguments: QueryArguments = [:]) throws -> Value? {
        let rows = try rows(query, arguments)
        guard rows.count == 1, case .object(let row) = rows[0] else { return nil }
        return row.first { _ in true }?.value
    }

    /// Returns the error text of a query without the line of its page, or nil if it succeeds.
    func problem(_ query: DQL, _ arguments: QueryArguments = [:]) -> String? {
        do throws(StoreError) {
            try execute(query, arguments)
            return nil
        } catch {
            let page = error.page.map { "\nreference: \($0)" } ?? ""
            return String(error.description.dropLast(page.count))
        }
    }

    func metric(_ name: String) throws -> Value? {
        try value("SELECT value FROM system:metrics WHERE name = \(name)")
    }
}
