import SheafDocument
import SheafEngine
import SheafQuery
import SheafStatements
import SheafStorage
import SheafSystem
import SheafTestSupport

/// A store on a simulated disk, whose clock advances by ten milliseconds before each statement.
final class PastScene {
    let volume: SimulatedVolume
    let clock = FakeClock()
    private(set) var engine: StoreEngine
    private(set) var queries: QueryEngine
    private let options: LogStoreOptions

    init(
        seed: UInt64 = 1, history: HistoryHorizon = HistoryHorizon(commits: .max, bytes: .max),
        segmentLength: Int = 1 << 20, recordLength: Int? = nil
    ) throws {
        var options = LogStoreOptions()
        options.history = history
        options.segmentLength = segmentLength
        if let recordLength { options.recordLength = recordLength }
        options.clock = clock.clock
        options.runsMaintenance = false
        let random = SeededSource(seed: seed)
        options.random = { random.next() }
        self.options = options
        volume = SimulatedVolume(seed: seed)
        engine = try StoreEngine(opening: volume, options: options)
        queries = QueryEngine(try DocumentEngine(engine))
    }

    var newest: UInt64 { queries.snapshot().log.commit }
    var time: UInt64 { clock.clock.wallMilliseconds() }

    /// Executes a statement, makes its commit durable and returns the newest commit.
    @discardableResult
    func commit(_ text: String, _ arguments: [String: Value] = [:]) throws -> UInt64 {
        clock.advance(milliseconds: 10)
        return try commitNow(text, arguments)
    }

    /// Executes a statement in the same millisecond as the previous one.
    @discardableResult
    func commitNow(_ text: String, _ arguments: [String: Value] = [:]) throws -> UInt64 {
        try execute(text, arguments)
        try flush()
        return newest
    }

    @discardableResult
    private func execute(
        _ text: String, _ arguments: [String: Value]
    ) throws(StoreError) -> ResultStorage {
        let engine = engine
        let (statement, values) = try queries.prepare(
            DQL(verbatim: text), QueryArguments(arguments))
        return try queries.execute(
            statement, values,
            CommitSink(
                append: { batch throws(StorageError) in try engine.append(batch) },
                flush: { () throws(StorageError) in while try engine.flush() {} }))
    }

    /// Executes statements as one transaction, makes its commit durable and returns the commit.
    @discardableResult
    func commit(together texts: [String]) throws -> UInt64 {
        var transaction = queries.documents.begin()
        for text in texts {
            let (statement, values) = try queries.prepare(DQL(verbatim: text), [:])
            _ = try queries.execute(statement, values, in: &transaction, CommitCell())
        }
        let engine = engine
        _ = try queries.documents.commit(&transaction) { batch throws(StorageError) in
            try engine.append(batch)
        }
        try flush()
        return newest
    }

    func rows(_ text: String, _ arguments: [String: Value] = [:]) throws -> [Value] {
        let found = try execute(text, arguments)
        return try found.items.map { .object(try $0.object(found.names)) }
    }

    /// Returns the error of a statement; nil if it has none.
    func error(_ text: String, _ arguments: [String: Value] = [:]) -> StoreError? {
        do throws(StoreError) { _ = try execute(text, arguments) } catch { return error }
        return nil
    }

    func flush() throws { while try engine.flush() {} }

    /// Compacts all sealed segments before the horizon.
    func compact() throws {
        engine.compactEverything()
        while try engine.compactionStep() {}
    }

    func reopen() throws {
        try flush()
        try engine.close()
        engine = try StoreEngine(opening: volume, options: options)
        queries = QueryEngine(try DocumentEngine(engine))
    }
}
