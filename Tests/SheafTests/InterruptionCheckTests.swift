import Sheaf
import SheafDocument
import SheafEngine
import SheafQuery
import SheafStatements
import SheafStorage
import SheafSystem
import SheafTestSupport
import Synchronization
import Testing

/// The checks of long statements for their end, counted by readings of the clock.
@Suite struct InterruptionCheckTests {
    /// A clock that stands still, and counts its readings.
    private final class CountedClock: Sendable {
        private let readings = Mutex(0)

        var count: Int { readings.withLock { $0 } }

        var clock: Clock {
            Clock(
                wallMilliseconds: { 1_780_000_000_000 },
                monotonicNanoseconds: {
                    self.readings.withLock { $0 += 1 }
                    return 1_000_000_000
                })
        }
    }

    private static let count = 2_100
    /// The number of times that a counter up to `count` reaches a multiple of 256.
    private static let checks = 8

    private let clock = CountedClock()
    private let store: StoreEngine
    private let queries: QueryEngine

    init() throws {
        var options = LogStoreOptions()
        options.clock = clock.clock
        options.runsMaintenance = false
        let engine = try StoreEngine(opening: SimulatedVolume(seed: 3), options: options)
        store = engine
        queries = QueryEngine(try DocumentEngine(engine))
        for start in stride(from: 0, to: Self.count, by: 500) {
            let changes = (start..<min(start + 500, Self.count)).map { id in
                DocumentChange(
                    "t", .integer(Int64(id)), .insert(["a": .integer(Int64(id % 10))]))
            }
            _ = try queries.documents.commit(changes) { batch throws(StorageError) in
                try engine.append(batch)
            }
            while try engine.flush() {}
        }
        try run("ALTER SYSTEM SET dql_request_timeout_seconds = 1000")
    }

    /// Runs a statement; returns the number of readings of the clock.
    @discardableResult
    private func run(_ text: String) throws -> Int {
        let store = store
        let (statement, values) = try queries.prepare(DQL(verbatim: text), [:])
        let before = clock.count
        _ = try queries.execute(
            statement, values,
            CommitSink(
                append: { batch throws(StorageError) in try store.append(batch) },
                flush: { () throws(StorageError) in while try store.flush() {} }))
        let readings = clock.count - before
        while try store.flush() {}
        return readings
    }

    @Test(arguments: [
        "SELECT * FROM t WHERE a = 3", "SELECT _id FROM t WHERE a + 1 = 3",
        "SELECT _id FROM t WHERE _id >= 0", "SELECT * FROM t ORDER BY a",
        "SELECT COUNT(*) AS n FROM system:history",
        "SELECT x._id FROM t AS x JOIN t AS y ON y._id = x._id",
    ])
    func `a statement checks its time at least once for each 256 documents`(
        text: String
    ) throws {
        #expect(try run(text) >= Self.checks)
    }

    @Test func `changes of documents are checks of their own`() throws {
        let finding = try run("SELECT * FROM t WHERE a >= 0")
        // The inserted rows are decoded before the first of them is written.
        #expect(try run("INSERT INTO u SELECT * FROM t WHERE a >= 0") >= finding + 2 * Self.checks)
        #expect(try run("UPDATE t SET b = 1 WHERE a >= 0") >= finding + Self.checks)
        #expect(try run("DELETE FROM t WHERE a >= 0") >= finding + Self.checks)
    }
}
