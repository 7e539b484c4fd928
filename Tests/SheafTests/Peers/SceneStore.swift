import Sheaf
import SheafDocument
import SheafQuery
import SheafStorage
import SheafTestSupport

/// The store of a peer without a thread: whoever writes makes it durable himself.
final class SceneStore {
    let volume: SimulatedVolume
    let engine: StoreEngine
    let queries: QueryEngine

    init(_ volume: SimulatedVolume, _ options: LogStoreOptions) throws {
        var options = options
        options.isHousekeepingAutomatic = false
        self.volume = volume
        engine = try StoreEngine(opening: volume, options: options)
        queries = try QueryEngine(opening: engine)
        // Subscriptions of the tests have ORDER BY and LIMIT.
        _ = try queries.execute(
            "ALTER SYSTEM SET dql_restrict_subscriptions = false", [:], .refusing)
    }

    /// Makes durable what was written.
    func flush() throws(StorageError) {
        while try engine.flush() {}
    }

    /// Runs a statement, and makes what it wrote durable.
    func execute(_ query: Query, _ arguments: QueryArguments = [:]) throws {
        let engine = engine
        let flush = { @Sendable () throws(StorageError) in while try engine.flush() {} }
        _ = try queries.execute(
            query, arguments,
            CommitSink(
                append: { batch throws(StorageError) in try engine.append(batch) }, flush: flush))
        try flush()
    }

    /// Forgets what nobody has to remember.
    func compact() throws {
        engine.compactEverything()
        while try engine.compactionStep() {}
    }

    /// Takes away a document, or what is left of it.
    func forget(_ collection: String, _ id: String) throws {
        try change(DocumentChange(collection, .string(id), .evict))
    }

    /// Commits a change that no statement can make.
    func change(_ change: DocumentChange) throws {
        _ = try queries.documents.commit([change]) { batch throws(StorageError) in
            try engine.append(batch)
        }
        try flush()
    }

    /// Writes what a peer has sent; to be made durable by whoever calls.
    func write(_ job: WriteJob) -> WriteJob.Outcome {
        job.run(queries) { batch throws(StorageError) in try engine.append(batch) }
    }

    /// The rows of a query, as JSON.
    func rows(_ query: Query) throws -> [String] {
        let outcome = try queries.execute(query, [:], .refusing)
        return try outcome.rows.items.map {
            Value.object(try $0.object(outcome.reader.names)).json
        }
    }

    /// Queries to subscribe to.
    func subscriptions(_ texts: [String]) throws -> [SubscriptionQuery] {
        try texts.map { text in
            try SubscriptionQuery(
                try queries.statement(Query(verbatim: text)), ArgumentValues(), queries)
        }
    }
}
