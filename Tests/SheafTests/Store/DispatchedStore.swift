import Sheaf
import SheafDocument
import SheafEngine
import SheafQuery
import SheafStatements
import SheafStorage
import SheafTestSupport

/// A store on a simulated disk, whose commits a test dispatches to observers with a schedule.
struct DispatchedStore {
    let clock = FakeClock()
    let volume = SimulatedVolume(seed: 1)
    let queries: QueryEngine
    private let store: StoreEngine

    init() throws {
        var options = LogStoreOptions()
        options.clock = clock.clock
        store = try StoreEngine(opening: volume, options: options)
        queries = try QueryEngine(opening: store)
    }

    /// Executes a statement, and makes its commit durable.
    func execute(_ query: DQL, _ arguments: QueryArguments = [:]) throws {
        let store = store
        let (statement, values) = try queries.prepare(query, arguments)
        _ = try queries.execute(
            statement, values,
            CommitSink(
                append: { batch throws(StorageError) in try store.append(batch) },
                flush: { () throws(StorageError) in while try store.flush() {} }))
        while try store.flush() {}
    }

    /// Returns an observer that misses no commit from now on.
    func newObserver(_ query: DQL) throws -> NewObserver {
        NewObserver(
            ObserverRegistration(unattended: query, number: 1), try queries.statement(query), [:],
            missedThrough: queries.documents.startFeed())
    }
}
