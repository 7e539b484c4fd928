import Sheaf
import SheafAttachments
import SheafDocument
import SheafEngine
import SheafMesh
import SheafQuery
import SheafReplication
import SheafStatements
import SheafStorage
import SheafTestSupport
import Synchronization

/// The log messages of a store.
private final class SceneLog: Sendable {
    let lines = Mutex<[(level: StoreLog.Level, text: String)]>([])

    func add(_ level: StoreLog.Level, _ message: String, _ metadata: StoreLog.Metadata) {
        let details = metadata.sorted { $0.key < $1.key }.map { " \($0.key)=\($0.value)" }
        lines.withLock { $0.append((level, message + details.joined())) }
    }
}

/// The store of a peer without a thread; writers flush it themselves.
final class SceneStore {
    let volume: SimulatedVolume
    let engine: StoreEngine
    let queries: QueryEngine
    /// The attachments, in memory; a store that is opened again has none.
    let attachments = AttachmentStore(in: MemoryVolume())
    private let log: SceneLog

    init(_ volume: SimulatedVolume, _ options: LogStoreOptions) throws {
        var options = options
        options.runsMaintenance = false
        self.volume = volume
        engine = try StoreEngine(opening: volume, options: options)
        let log = SceneLog()
        self.log = log
        queries = try QueryEngine(
            opening: engine,
            log: StoreLog(from: .info) { log.add($0, $1, $2) })
        // Subscriptions of the tests have ORDER BY and LIMIT.
        _ = try queries.execute(
            try Parser.parse("ALTER SYSTEM SET dql_restrict_subscriptions = false"))
    }

    /// The errors in the log, with their fields.
    var errors: [String] { messages(.error) }

    /// Returns the log messages of a level, with their fields.
    func messages(_ level: StoreLog.Level) -> [String] {
        log.lines.withLock { $0 }.filter { $0.level == level }.map(\.text)
    }

    /// Flushes all written commits.
    func flush() throws(StorageError) {
        while try engine.flush() {}
    }

    /// Runs a statement and makes its commit durable.
    func execute(_ query: DQL, _ arguments: QueryArguments = [:]) throws {
        let engine = engine
        let flush = { @Sendable () throws(StorageError) in while try engine.flush() {} }
        let (statement, values) = try queries.prepare(query, arguments)
        _ = try queries.execute(
            statement, values,
            CommitSink(
                append: { batch throws(StorageError) in try engine.append(batch) }, flush: flush))
        try flush()
    }

    /// Compacts all log segments.
    func compact() throws {
        engine.compactEverything()
        while try engine.compactionStep() {}
    }

    /// Evicts a document or its tombstone, without informing peers.
    func forget(_ collection: String, _ id: String) throws {
        try change(DocumentChange(collection, .string(id), .evict))
    }

    /// Commits a change without a statement.
    func change(_ change: DocumentChange) throws { try self.change([change]) }

    /// Commits changes without a statement.
    func change(_ changes: [DocumentChange]) throws {
        _ = try queries.documents.commit(changes) { batch throws(StorageError) in
            try engine.append(batch)
        }
        try flush()
    }

    /// Writes a received batch without flushing it.
    func write(_ job: WriteJob) -> WriteJob.Outcome {
        job.run(queries) { batch throws(StorageError) in try engine.append(batch) }
    }

    /// Returns the rows of a query, as JSON.
    func rows(_ query: DQL) throws -> [String] {
        let (statement, values) = try queries.prepare(query, [:])
        let outcome = try queries.execute(statement, values)
        return try outcome.items.map {
            Value.object(try $0.object(outcome.names)).json
        }
    }

    /// Returns the parsed queries of a subscription.
    func subscriptions(_ texts: [String]) throws -> [SubscriptionQuery] {
        try texts.map { text in
            try SubscriptionQuery(text, queries, at: queries.options.clock.wallMilliseconds())
        }
    }
}
