import Sheaf
import SheafDocument
import SheafEngine
import SheafStatements
import SheafStorage
import SheafSystem
import SheafTestSupport
import Synchronization
import Testing

/// Timeouts, logging, tombstone collection and read-only stores.
struct SystemTests {
    private func value(_ result: QueryResult) throws -> String? {
        try result.items.first?["v"]?.json
    }

    @Test func `a statement times out with an error that names the parameter`() async throws {
        // Each reading advances the clock of the store by a second.
        let clock = SlowClock()
        var options = StoreOptions()
        options.storage.clock = Clock(
            wallMilliseconds: { 1_700_000_000_000 },
            monotonicNanoseconds: { clock.later(1_000_000_000) })
        let store = try await Store.inMemory(options: options)
        try await store.transaction { transaction in
            for number in 0..<3_000 {
                try await transaction.execute("INSERT INTO t DOCUMENTS ({'n': \(number)})")
            }
            return .commit
        }
        try await store.execute("ALTER SYSTEM SET dql_request_timeout_seconds = 3")
        do {
            try await store.execute("SELECT * FROM t WHERE n + 1 > 5000")
            Issue.record("The statement did not time out.")
        } catch let error as StoreError {
            #expect(error.reason == .timedOut)
            #expect(error.description.contains("dql_request_timeout_seconds"))
        }
        try await store.execute("ALTER SYSTEM SET dql_request_timeout_seconds = 0")
        try await store.execute("SELECT * FROM t WHERE n + 1 > 5000")
        try await store.close()
    }

    @Test(arguments: [0, 1, 3, 3_600] as [UInt64])
    func `a statement ends once the seconds of its parameter are over, and not before`(
        seconds: UInt64
    ) async throws {
        let clock = FakeClock()
        let elapsed = Mutex<UInt64>(0)
        var options = StoreOptions()
        options.storage.clock = clock.clock
        let store = try await Store.inMemory(options: options)
        // Reading the row takes the time, and the evaluation of its long text checks the clock.
        store.queries.registeredCollections.register("hub") {
            let milliseconds = elapsed.withLock { elapsed in
                defer { elapsed = 0 }
                return elapsed
            }
            clock.advance(milliseconds: milliseconds)
            return [["_id": 1, "body": .string(String(repeating: "a", count: 5_000))]]
        }
        try await store.execute(
            DQL(verbatim: "ALTER SYSTEM SET dql_request_timeout_seconds = \(seconds)"))
        let limit = seconds * 1_000
        for milliseconds in seconds == 0 ? [86_400_000] : [limit - 1, limit, limit + 1] {
            elapsed.withLock { $0 = milliseconds }
            let isLate = seconds > 0 && milliseconds >= limit
            do {
                let found = try await store.execute(
                    "SELECT _id FROM system:hub WHERE upper(body) LIKE 'A%'")
                #expect(!isLate && found.items.count == 1, "\(milliseconds) ms")
            } catch let error as StoreError {
                #expect(isLate && error.reason == .timedOut, "\(milliseconds) ms")
                #expect(error.message.hasSuffix("its time limit of \(seconds) s"))
            }
            #expect(elapsed.withLock { $0 } == 0)
        }
        try await store.close()
    }

    @Test func `a statement of a canceled task is canceled`() async throws {
        let store = try await Store.inMemory()
        try await store.execute("INSERT INTO t DOCUMENTS ({'_id': 1, 'n': 1})")
        let task = Task {
            while !Task.isCancelled { await Task.yield() }
            try await store.execute("SELECT * FROM t WHERE n + 1 = 2")
        }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        try await store.close()
    }

    @Test func `the log contains important events but no values`() async throws {
        let handler = RecordedMessages()
        let log = StoreLog(from: .info) { level, message, metadata in
            handler.record((level, message, metadata))
        }
        let clock = SlowClock()
        var options = StoreOptions(log: log)
        options.storage.clock = Clock(
            wallMilliseconds: { 1_700_000_000_000 },
            monotonicNanoseconds: { clock.later(70_000_000_000) })
        let store = try await Store.inMemory(options: options)
        try await store.execute("ALTER SYSTEM SET document_size_soft_limit_bytes = 100")
        try await store.execute(
            "INSERT INTO t DOCUMENTS ({'_id': 1, 'secret': 'hidden', 'long': :long})",
            ["long": String(repeating: "x", count: 1_000)])
        try await store.execute("SELECT * FROM t WHERE secret = 'hidden' AND n = 42")
        try await store.close()
        let all = handler.all
        #expect(all.first?.1 == "the store is open")
        #expect(
            all.contains { $0.1.contains("document_size_soft_limit_bytes") && $0.2["id"] == "1" })
        let slow = all.first { $0.2["statement"]?.contains("SELECT") == true }
        #expect(slow?.0 == .warning)
        #expect(slow?.2["statement"] == "SELECT * FROM t WHERE secret = … AND n = …")
        #expect(!all.contains { "\($0)".contains("hidden") })
    }

    @Test func `long transactions are logged at a rising level`() {
        var times = TransactionTimes()
        let schedule = SlowTransactionSchedule()
        let info = TransactionInfo(id: "7", hint: "slow", isReadOnly: false)
        #expect(times.deadline(schedule) == nil)
        times.begin(info, at: 5_000_000_000)
        #expect(times.deadline(schedule) == 15_000_000_000)
        #expect(times.warnings(schedule, at: 14_999_999_999).isEmpty)
        var levels: [StoreLog.Level] = []
        for second in stride(from: 15, through: 50, by: 5) {
            let warnings = times.warnings(schedule, at: UInt64(second) * 1_000_000_000)
            #expect(warnings.count == 1)
            #expect(warnings.first?.message.contains(#""slow""#) == true)
            #expect(warnings.first?.metadata["hint"] == "slow")
            levels += warnings.map(\.level)
        }
        #expect(levels == [.debug, .info, .warning, .error, .error, .error, .error, .error])
        // After a pause of the process, only one warning is due.
        #expect(times.warnings(schedule, at: 900_000_000_000).count == 1)
        #expect(times.warnings(schedule, at: 900_000_000_001).isEmpty)
        times.end(info)
        #expect(times.deadline(schedule) == nil)
    }

    /// Opens a store with this clock that collects tombstones only when it is asked to.
    private static func storeWithTombstones(_ wall: WallClock) async throws -> Store {
        var options = StoreOptions()
        options.storage.clock = Clock(
            wallMilliseconds: { wall.now },
            monotonicNanoseconds: Clock.system.monotonicNanoseconds)
        let store = try await Store.inMemory(options: options)
        try await store.execute("ALTER SYSTEM SET tombstone_ttl_enabled = false")
        return store
    }

    @Test(arguments: [1, 2, 168] as [UInt64])
    func `a tombstone is kept for its whole lifetime, and no longer`(hours: UInt64) async throws {
        let wall = WallClock()
        let store = try await Self.storeWithTombstones(wall)
        try await store.execute(DQL(verbatim: "ALTER SYSTEM SET tombstone_ttl_hours = \(hours)"))
        try await store.execute("INSERT INTO t DOCUMENTS ({'_id': 1})")
        wall.pass(1_000)
        try await store.execute("DELETE FROM t WHERE _id = 1")
        wall.pass(hours * 3_600_000)
        #expect(try await store.collectTombstones() == 0)
        wall.pass(1)
        #expect(try await store.collectTombstones() == 1)
        try await store.close()
    }

    @Test func `tombstone collection removes exactly the expired tombstones`() async throws {
        let wall = WallClock()
        let store = try await Self.storeWithTombstones(wall)
        let day: UInt64 = 86_400_000
        for number in 0..<50 {
            try await store.execute("INSERT INTO t DOCUMENTS ({'_id': \(number)})")
        }
        try await store.execute("ALTER SYSTEM SET tombstone_reap_batch_size = 7")
        try await store.execute("DELETE FROM t WHERE _id < 20")
        #expect(try await store.collectTombstones() == 0)
        wall.pass(4 * day)
        try await store.execute("DELETE FROM t WHERE _id >= 40")
        try await store.execute("INSERT INTO t DOCUMENTS ({'_id': 3})")
        wall.pass(4 * day)
        #expect(try await store.collectTombstones() == 19)
        #expect(try await store.collectTombstones() == 0)
        wall.pass(4 * day)
        #expect(try await store.collectTombstones() == 10)
        let count = try await store.execute("SELECT COUNT(*) AS v FROM t")
        #expect(try value(count) == "21")
        try await store.close()
    }

    @Test func `several readers read a store, and refuse to write`() async throws {
        let directory = TemporaryDirectory()
        let store = try await Store.open(at: directory.path)
        try await store.execute("INSERT INTO t DOCUMENTS ({'_id': 1, 'v': 5})")
        try await store.execute("CREATE INDEX v ON t (v)")
        try await store.close()
        let options = StoreOptions(isReadOnly: true)
        let first = try await Store.open(at: directory.path, options: options)
        let second = try await Store.open(at: directory.path, options: options)
        for reader in [first, second] {
            #expect(reader.isReadOnly)
            let found = try await reader.execute("SELECT * FROM t WHERE v = 5")
            #expect(try value(found) == "5")
            for write: DQL in ["DELETE FROM t", "CREATE INDEX w ON t (w)", "DROP INDEX v ON t"] {
                do {
                    try await reader.execute(write)
                    Issue.record("The reader accepted a write.")
                } catch let error as StoreError {
                    #expect(error.reason == .readOnly)
                }
            }
            try await reader.transaction(isReadOnly: true) { transaction in
                let seen = try await transaction.execute("SELECT * FROM t")
                #expect(try value(seen) == "5")
                return .commit
            }
            await #expect(throws: StoreError.self) { try await reader.transaction { _ in .commit } }
            try await reader.close()
        }
    }

    @Test func `a blocking transaction on a read-only store reads but does not write`() async throws
    {
        let directory = TemporaryDirectory()
        let store = try await Store.open(at: directory.path)
        try await store.execute("INSERT INTO t DOCUMENTS ({'_id': 1, 'v': 5})")
        try await store.close()
        let reader = try await Store.open(
            at: directory.path, options: StoreOptions(isReadOnly: true))
        let refusal = #expect(throws: StoreError.self) {
            try reader.transactionBlocking { _ in .commit }
        }
        #expect(refusal?.reason == .readOnly)
        try reader.transactionBlocking(isReadOnly: true) { transaction in
            let seen = try value(transaction.executeBlocking("SELECT v FROM t"))
            #expect(seen == "5")
            return .commit
        }
        try await reader.close()
        // A closed store is reported as closed, as it is by a transaction that does not block.
        let late = #expect(throws: StoreError.self) {
            try reader.transactionBlocking { _ in .commit }
        }
        #expect(late?.reason == .closed)
    }
}

/// A clock that advances with each reading.
private final class SlowClock: Sendable {
    private let nanoseconds = Mutex<UInt64>(0)

    func later(_ step: UInt64) -> UInt64 {
        nanoseconds.withLock {
            $0 += step
            return $0
        }
    }
}

/// A wall clock that the test advances.
private final class WallClock: Sendable {
    private let milliseconds = Mutex<UInt64>(1_700_000_000_000)

    var now: UInt64 { milliseconds.withLock { $0 } }

    func pass(_ time: UInt64) {
        milliseconds.withLock { $0 += time }
    }
}

/// The messages that a store logged.
private final class RecordedMessages: Sendable {
    typealias Message = (StoreLog.Level, String, StoreLog.Metadata)

    private let messages = Mutex<[Message]>([])

    var all: [Message] { messages.withLock { $0 } }

    func record(_ message: Message) {
        messages.withLock { $0.append(message) }
    }
}
