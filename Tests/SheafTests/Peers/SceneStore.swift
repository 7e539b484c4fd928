import Sheaf
import SheafDocument
import SheafQuery
import SheafStorage
import SheafTestSupport
import Synchronization

/// What a store has written to its log.
private final class SceneLog: Sendable {
    let lines = Mutex<[(level: StoreLog.Level, text: String)]>([])

    func add(_ level: StoreLog.Level, _ message: String, _ metadata: StoreLog.Metadata) {
        let details = metadata.sorted { $0.key < $1.key }.map { " \($0.key)=\($0.value)" }
        lines.withLock { $0.append((level, message + details.joined())) }
    }
}

/// The store of a peer without a thread: whoever writes makes it durable himself.
final class SceneStore {
    let volume: SimulatedVolume
    let engine: StoreEngine
    let queries: QueryEngine
    private let log: SceneLog

    init(_ volume: SimulatedVolume, _ options: LogStoreOptions) throws {
        var options = options
        options.isHousekeepingAutomatic = false
        self.volume = volume
        engine = try StoreEngine(opening: volume, options: options)
        let log = SceneLog()
        self.log = log
        queries = try QueryEngine(
            opening: engine,
            log: StoreLog(from: .info) { log.add($0, $1, $2) })
        // Subscriptions of the tests have ORDER BY and LIMIT.
        _ = try queries.execute(
            "ALTER SYSTEM SET dql_restrict_subscriptions = false", [:], .refusing)
    }

    /// The errors that were written to the log, with what they are about.
    var errors: [String] { messages(.error) }

    /// The messages of a level that were written to the log, with what they are about.
    func messages(_ level: StoreLog.Level) -> [String] {
        log.lines.withLock { $0 }.filter { $0.level == level }.map(\.text)
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
