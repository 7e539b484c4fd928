import Sheaf
import SheafDocument
import SheafEngine
import SheafStatements
import Testing

/// The bounds and defaults of the system parameters that are integers.
@Suite struct SystemParameterTests {
    /// A parameter with its minimum and its default.
    struct Bounds: CustomTestStringConvertible, Sendable {
        let name: String
        let least: Int64
        let standard: Int64

        init(_ name: String, from least: Int64, by standard: Int64) {
            (self.name, self.least, self.standard) = (name, least, standard)
        }

        var testDescription: String { name }
    }

    private static let integers = [
        Bounds("tombstone_ttl_hours", from: 1, by: 168),
        Bounds("days_between_reaping", from: 1, by: 1),
        Bounds("tombstone_reap_batch_size", from: 1, by: 10_000),
        Bounds("attachment_grace_seconds", from: 1, by: 600),
        Bounds("dql_slow_request_warn_seconds", from: 0, by: 60),
        Bounds("dql_request_timeout_seconds", from: 0, by: 0),
        Bounds("dql_request_history_size", from: 0, by: 4_096),
        Bounds("document_size_soft_limit_bytes", from: 0, by: 262_144),
        Bounds("document_size_hard_limit_bytes", from: 1, by: 5_242_880),
        Bounds("transaction_duration_before_logging_ms", from: 0, by: 10_000),
        Bounds("transaction_trace_interval_ms", from: 1, by: 5_000),
        Bounds("transaction_wait_limit_ms", from: 1, by: 30_000),
        Bounds("live_query_system_collection_refresh_interval", from: 1, by: 500),
        Bounds("subscription_clock_interval_ms", from: 1_000, by: 60_000),
        Bounds("column_cache_bytes", from: 0, by: 67_108_864),
        Bounds("column_cache_scans", from: 0, by: 3),
    ]

    @Test func `the bounds of each integer parameter are tested`() throws {
        var integers: [String] = []
        for name in SystemParameters().all.map(\.name) {
            var parameters = SystemParameters()
            var failure: StoreError?
            // No minimum is as small, and parameters without effect accept any value.
            do throws(StoreError) { _ = try parameters.set(name, to: .integer(.min)) } catch {
                failure = error
            }
            if failure?.message.contains("an integer of at least") == true {
                integers.append(name)
            }
        }
        #expect(integers.sorted() == Self.integers.map(\.name).sorted())
    }

    @Test(arguments: integers)
    func `an integer parameter is accepted from its minimum on, and a smaller one is refused`(
        bounds: Bounds
    ) throws {
        var parameters = SystemParameters()
        for accepted in [bounds.least, bounds.least + 1, .max - 1, .max] {
            let name = try parameters.set(bounds.name.uppercased(), to: .integer(accepted))
            #expect(name == bounds.name)
            #expect(try parameters.value(bounds.name) == .integer(accepted))
        }
        for refused in [Value.integer(bounds.least - 1), .integer(.min), .float(1_000), "1000"] {
            var failure: StoreError?
            do throws(StoreError) { _ = try parameters.set(bounds.name, to: refused) } catch {
                failure = error
            }
            #expect(failure?.reason == .argument)
            #expect(
                failure?.message
                    == "\(bounds.name) must be an integer of at least \(bounds.least), "
                    + "not \(refused.json)")
            // A refused value changes nothing.
            #expect(try parameters.value(bounds.name) == .integer(.max))
        }
        try parameters.reset(bounds.name)
        #expect(try parameters.value(bounds.name) == .integer(bounds.standard))
    }

    @Test(arguments: integers)
    func `an integer parameter has its default until it is set, and shows it afterwards`(
        bounds: Bounds
    ) throws {
        var parameters = SystemParameters()
        #expect(try parameters.value(bounds.name) == .integer(bounds.standard))
        _ = try parameters.set(bounds.name, to: .integer(bounds.standard + 1))
        let row = try #require(parameters.rows.first { $0["name"] == .string(bounds.name) })
        #expect(row["default"] == .integer(bounds.standard))
        #expect(row["value"] == .integer(bounds.standard + 1))
    }

    @Test func `parameters that are not set have their values in the units of the code`() {
        let parameters = SystemParameters()
        #expect(parameters.tombstoneLifetimeMilliseconds == 168 * 3_600_000)
        #expect(parameters.collectionIntervalDays == 1)
        #expect(parameters.tombstoneBatchSize == 10_000)
        #expect(parameters.attachmentGraceMilliseconds == 600_000)
        #expect(parameters.hardSizeLimit == 5 << 20)
        #expect(
            parameters.transactionSchedule
                == SlowTransactionSchedule(firstMilliseconds: 10_000, nextMilliseconds: 5_000))
        #expect(parameters.transactionWaitMilliseconds == 30_000)
        #expect(parameters.systemRefreshMilliseconds == 500)
        #expect(parameters.subscriptionClockNanoseconds == 60_000_000_000)
        #expect(parameters.collectsTombstones && parameters.restrictsSubscriptions)
        #expect(!parameters.isStrict)
    }

    /// Returns the message of the error for a value that a parameter refuses.
    private func refusal(
        _ parameters: inout SystemParameters, _ name: String, _ value: Value
    ) -> String? {
        do throws(StoreError) { _ = try parameters.set(name, to: value) } catch {
            return error.reason == .argument ? error.message : "\(error)"
        }
        return nil
    }

    @Test func `a parameter that is true or false takes effect until it is reset`() throws {
        var parameters = SystemParameters()
        let flags: [(name: String, isSet: (SystemParameters) -> Bool)] = [
            ("dql_strict_mode", { $0.isStrict }),
            ("tombstone_ttl_enabled", { $0.collectsTombstones }),
            ("dql_restrict_subscriptions", { $0.restrictsSubscriptions }),
        ]
        for (name, isSet) in flags {
            let before = isSet(parameters)
            for value in [true, false, true, !before] {
                _ = try parameters.set(name, to: .bool(value))
                #expect(isSet(parameters) == value, "\(name)")
            }
            for value in [Value.integer(1), "true", .null] {
                let message = "\(name) must be true or false, not \(value.json)"
                let found = refusal(&parameters, name, value)
                #expect(found == message)
            }
            #expect(isSet(parameters) == !before, "\(name)")
            try parameters.reset(name.uppercased())
            #expect(isSet(parameters) == before, "\(name)")
        }
        var strict = SystemParameters(isStrict: true)
        #expect(strict.isStrict)
        _ = try strict.set("dql_strict_mode", to: false)
        #expect(!strict.isStrict)
        try strict.reset(nil)
        #expect(try strict.isStrict && strict.value("DQL_Strict_Mode") == true)
    }

    @Test func `an object takes effect until all parameters are reset`() throws {
        var parameters = SystemParameters()
        let meaning = parameters.meaning
        _ = try parameters.set(
            "user_collection_sync_scopes", to: ["cars": "LocalPeerOnly"])
        _ = try parameters.set("dql_default_directives", to: ["#prefer_order": true])
        _ = try parameters.set("tombstone_ttl_hours", to: 5)
        #expect(!parameters.syncScopes.isShared("cars") && parameters.syncScopes.isShared("vans"))
        #expect(parameters.meaning != meaning)
        for name in ["user_collection_sync_scopes", "dql_default_directives"] {
            let found = refusal(&parameters, name, "x")
            #expect(found == "\(name) must be an object, not \"x\"")
        }
        let scope = refusal(&parameters, "user_collection_sync_scopes", ["cars": "Elsewhere"])
        #expect(
            scope?.hasPrefix("invalid sync scope \"Elsewhere\" of cars; expected one of") == true)
        #expect(!parameters.syncScopes.isShared("cars"))
        try parameters.reset(nil)
        #expect(parameters.syncScopes.isShared("cars") && parameters.syncScopes.isEmpty)
        #expect(parameters.meaning == meaning)
        #expect(try parameters.value("tombstone_ttl_hours") == 168)
        #expect(parameters.tombstoneLifetimeMilliseconds == 168 * 3_600_000)
    }

    @Test(arguments: [1, 2, 60_000, .max - 1, .max] as [Int64])
    func `the schedule of warnings about transactions has the values of its parameters`(
        milliseconds: Int64
    ) throws {
        var parameters = SystemParameters()
        _ = try parameters.set("transaction_trace_interval_ms", to: .integer(milliseconds))
        _ = try parameters.set(
            "transaction_duration_before_logging_ms", to: .integer(milliseconds - 1))
        #expect(
            parameters.transactionSchedule
                == SlowTransactionSchedule(
                    firstMilliseconds: UInt64(milliseconds - 1),
                    nextMilliseconds: UInt64(milliseconds)))
    }

    /// A parameter with the greatest value that has an effect of its own.
    struct Cap: CustomTestStringConvertible, Sendable {
        let name: String
        let most: Int64
        /// The number of units of the code in one of the parameter.
        let factor: UInt64
        let used: @Sendable (SystemParameters) -> UInt64

        var testDescription: String { name }
    }

    private static let year: Int64 = 366 * 86_400_000
    private static let caps = [
        Cap(name: "document_size_hard_limit_bytes", most: 15_728_640, factor: 1) {
            UInt64($0.hardSizeLimit)
        },
        Cap(name: "tombstone_ttl_hours", most: 8_766_000_000, factor: 3_600_000) {
            $0.tombstoneLifetimeMilliseconds
        },
        Cap(name: "attachment_grace_seconds", most: 31_557_600_000, factor: 1_000) {
            $0.attachmentGraceMilliseconds
        },
        Cap(name: "transaction_wait_limit_ms", most: year, factor: 1) {
            $0.transactionWaitMilliseconds
        },
        Cap(
            name: "live_query_system_collection_refresh_interval", most: year, factor: 1
        ) { UInt64($0.systemRefreshMilliseconds) },
        Cap(name: "subscription_clock_interval_ms", most: year, factor: 1_000_000) {
            $0.subscriptionClockNanoseconds
        },
    ]

    @Test(arguments: caps)
    func `a parameter is used as it is up to a cap, and greater values have the effect of the cap`(
        cap: Cap
    ) throws {
        for value in [1_000, 1_001, cap.most - 1, cap.most, cap.most + 1, .max] as [Int64] {
            var parameters = SystemParameters()
            _ = try parameters.set(cap.name, to: .integer(value))
            #expect(try parameters.value(cap.name) == .integer(value))
            #expect(cap.used(parameters) == UInt64(min(value, cap.most)) * cap.factor, "\(value)")
        }
    }

    @Test func `a store works while each integer parameter has its greatest value`() async throws {
        let store = try await Store.inMemory(
            options: StoreOptions(log: StoreLog(from: .trace) { _, _, _ in }))
        // The history has overwritten its oldest entry when it grows.
        try await store.execute("ALTER SYSTEM SET dql_request_history_size = 2")
        for _ in 0..<3 { try await store.execute("SELECT * FROM t") }
        for bounds in Self.integers {
            try await store.execute(
                DQL(verbatim: "ALTER SYSTEM SET \(bounds.name) = \(Int64.max)"))
        }
        var observed = try store.observe("SELECT * FROM system:dual").makeAsyncIterator()
        #expect(try await observed.next()?.items.count == 1)
        try await store.execute("INSERT INTO t DOCUMENTS ({'_id': 1, 'n': 1}), ({'_id': 2})")
        try await store.transaction { transaction in
            let inner = Task.detached { try await store.execute("DELETE FROM t WHERE n = 5") }
            try await transaction.execute("UPDATE t SET n = 3 WHERE _id = 1")
            inner.cancel()
            return .commit
        }
        _ = try await store.newAttachment(data: [1, 2, 3])
        try await store.execute("DELETE FROM t WHERE _id = 2")
        #expect(try await store.collectTombstones() == 0)
        #expect(try await store.collectAttachments() == 0)
        for _ in 0..<3 {
            #expect(try await store.execute("SELECT * FROM t WHERE n + 1 = 4").items.count == 1)
        }
        let requests = try await store.execute("SELECT * FROM system:request_history")
        #expect(requests.items.count > 10)
        try await store.close()
    }
}
