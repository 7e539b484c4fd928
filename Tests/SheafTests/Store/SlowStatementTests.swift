import Sheaf
import SheafDocument
import SheafEngine
import SheafStatements
import SheafStorage
import SheafSystem
import SheafTestSupport
import Synchronization
import Testing

/// The time from which a statement is logged as a slow one.
@Suite struct SlowStatementTests {
    /// A clock that advances by a given time when its wall time is read next.
    private final class JumpingClock: Sendable {
        private let fake = FakeClock()
        private let pending = Mutex<UInt64>(0)

        var clock: Clock {
            Clock(
                wallMilliseconds: {
                    self.jump()
                    return self.fake.clock.wallMilliseconds()
                }, monotonicNanoseconds: { self.fake.clock.monotonicNanoseconds() })
        }

        var isWaiting: Bool { pending.withLock { $0 > 0 } }

        /// Makes the next reading of the wall time take this time.
        func delayNextReading(milliseconds: UInt64) { pending.withLock { $0 = milliseconds } }

        private func jump() {
            let milliseconds = pending.withLock { pending in
                defer { pending = 0 }
                return pending
            }
            fake.advance(milliseconds: milliseconds)
        }
    }

    /// The warnings about slow statements.
    private final class Warnings: Sendable {
        private let texts = Mutex<[String]>([])
        private let statement = Mutex<String?>(nil)

        /// The statement of the last warning.
        var lastStatement: String? { statement.withLock { $0 } }

        func append(_ text: String, _ fields: StoreLog.Metadata) {
            guard text.hasPrefix("a statement took ") else { return }
            texts.withLock { $0.append(text) }
            statement.withLock { $0 = fields["statement"] }
        }

        func take() -> [String] {
            texts.withLock { texts in
                defer { texts = [] }
                return texts
            }
        }
    }

    private let clock = JumpingClock()
    private let warnings = Warnings()

    private func store() async throws -> Store {
        let warnings = warnings
        var options = StoreOptions(
            log: StoreLog(from: .warning) { _, text, fields in warnings.append(text, fields) })
        options.storage.clock = clock.clock
        options.storage.runsMaintenance = false
        let store = try await Store.inMemory(options: options)
        try await store.execute("INSERT INTO t DOCUMENTS ({'_id': 0, 'n': 1})")
        return store
    }

    /// A statement that needs a plan, and one that writes a single document without any.
    private static let statements: [DQL] = [
        "SELECT * FROM t WHERE n + 1 > 5", "INSERT INTO t DOCUMENTS ({'_id': 1})",
    ]

    /// Returns the warnings about a statement that takes a given time.
    private func takeWarnings(
        about statement: DQL, taking milliseconds: UInt64, in store: Store
    ) async throws -> [String] {
        clock.delayNextReading(milliseconds: milliseconds)
        try await store.execute(statement)
        try #require(!clock.isWaiting)
        return warnings.take()
    }

    @Test(arguments: statements, [59_999, 60_000, 60_001] as [UInt64])
    func `by default, a statement is logged if it takes a minute`(
        statement: DQL, milliseconds: UInt64
    ) async throws {
        let store = try await store()
        #expect(
            try await takeWarnings(about: statement, taking: milliseconds, in: store)
                == (milliseconds < 60_000 ? [] : ["a statement took \(milliseconds) ms"]))
        try await store.close()
    }

    @Test(arguments: [999, 1_000, 1_001])
    func `the log has statements of up to 1,000 scalars, and of others both ends`(
        length: Int
    ) async throws {
        let store = try await store()
        let (start, end) = ("SELECT * FROM t WHERE ", " IS NULL")
        let name = String(repeating: "n", count: length - start.count - end.count)
        let text = start + name + end
        _ = try await takeWarnings(about: DQL(verbatim: text), taking: 60_000, in: store)
        let logged = try #require(warnings.lastStatement)
        let shortened = String(text.prefix(666)) + "…" + String(text.suffix(333))
        #expect(logged == (length <= 1_000 ? text : shortened))
        #expect(logged.count == min(length, 1_000))
        try await store.close()
    }

    @Test(arguments: statements, [1, 2, 3_600] as [UInt64])
    func `a statement is logged from the time of its parameter on`(
        statement: DQL, seconds: UInt64
    ) async throws {
        for milliseconds in [seconds * 1_000 - 1, seconds * 1_000, seconds * 1_000 + 1] {
            let store = try await store()
            try await store.execute(
                DQL(verbatim: "ALTER SYSTEM SET dql_slow_request_warn_seconds = \(seconds)"))
            #expect(
                try await takeWarnings(about: statement, taking: milliseconds, in: store)
                    == (milliseconds < seconds * 1_000
                        ? [] : ["a statement took \(milliseconds) ms"]))
            try await store.close()
        }
    }

    @Test(arguments: statements)
    func `no statement is logged as slow while the parameter is zero`(
        statement: DQL
    ) async throws {
        let store = try await store()
        try await store.execute("ALTER SYSTEM SET dql_slow_request_warn_seconds = 0")
        #expect(
            try await takeWarnings(about: statement, taking: 86_400_000, in: store) == [])
        try await store.close()
    }
}
