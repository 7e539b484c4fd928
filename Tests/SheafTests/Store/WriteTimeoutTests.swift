import Sheaf
import SheafDocument
import SheafStatements
import SheafStorage
import Testing

/// The time limit for waiting on one transaction.
struct WriteTimeoutTests {
    @Test(.timeLimit(.minutes(40)))
    func `a nested write from a detached task times out and names both writers`() async throws {
        let (warnings, warning) = AsyncStream<String>.makeStream()
        let log = StoreLog(from: .debug) { _, message, _ in warning.yield(message) }
        let store = try await Store.inMemory(options: StoreOptions(log: log))
        // With the default, a slow machine may log the transaction before the writers time out.
        try await store.execute(
            "ALTER SYSTEM SET transaction_duration_before_logging_ms = 3600000")
        try await store.execute("ALTER SYSTEM SET transaction_wait_limit_ms = 50")
        let messages = try await store.transaction(hint: "the outer one") { transaction in
            try await transaction.execute("INSERT INTO t DOCUMENTS ({'_id': 1})")
            let statement = Task.detached {
                try await store.execute("INSERT INTO t DOCUMENTS ({'_id': 2})")
            }
            let inner = Task.detached {
                try await store.transaction(hint: "the inner one") { inner in
                    try await inner.execute("INSERT INTO t DOCUMENTS ({'_id': 3})")
                }
            }
            var errors: [StoreError] = []
            do { _ = try await statement.value } catch let error as StoreError {
                errors.append(error)
            }
            do { _ = try await inner.value } catch let error as StoreError { errors.append(error) }
            #expect(errors.map(\.reason) == [.timedOut, .timedOut])
            warning.finish()
            return errors.map(\.description)
        }
        for await text in warnings { #expect(!text.contains("has been running"), "\(text)") }
        #expect(messages.count == 2)
        #expect(messages.allSatisfy { $0.contains("\"the outer one\"") })
        #expect(messages.first?.contains("INSERT INTO t DOCUMENTS ({'_id': 2})") == true)
        #expect(messages.last?.contains("\"the inner one\"") == true)
        #expect(try await store.execute("SELECT * FROM t").items.count == 1)
        try await store.execute("INSERT INTO t DOCUMENTS ({'_id': 4})")
        try await store.close()
    }

    private func info(_ id: Int) -> TransactionInfo {
        TransactionInfo(id: "\(id)", hint: nil, isReadOnly: false)
    }

    @Test func `a long queue of short transactions times out no waiter`() {
        var gate = WriteGate()
        _ = gate.enter()
        _ = gate.hold(info(0), at: 0)
        for number in 1...100 as ClosedRange<UInt64> {
            _ = gate.wait(WriteGate.Waiter(number: number, since: 0) { _ in })
        }
        // Each transaction takes 9 ns, which is below the limit of 10 ns.
        for number in 1...100 as ClosedRange<UInt64> {
            #expect(gate.deadline(limit: 10) == (number - 1) * 9 + 10)
            let overdue = gate.takeOverdue(limit: 10, at: number * 9)
            let next = gate.leave()
            #expect(overdue == nil && next?.number == number)
            _ = gate.hold(info(Int(number)), at: number * 9)
        }
        #expect(gate.deadline(limit: 10) == nil)
    }

    @Test func `waiters time out after waiting too long for one transaction`() {
        var gate = WriteGate()
        _ = gate.enter()
        _ = gate.hold(info(1), at: 100)
        _ = gate.wait(WriteGate.Waiter(number: 2, since: 100) { _ in })
        _ = gate.wait(WriteGate.Waiter(number: 3, since: 105) { _ in })
        // Transactions with received documents wait without a limit.
        _ = gate.wait(WriteGate.Waiter(number: 4) { _ in })
        #expect(gate.deadline(limit: 10) == 110)
        let early = gate.takeOverdue(limit: 10, at: 109)
        let overdue = gate.takeOverdue(limit: 10, at: 110)
        #expect(early == nil)
        #expect(overdue?.holder.id == "1" && overdue?.waiters.map(\.number) == [2])
        #expect(gate.deadline(limit: 10) == 115)
        let late = gate.takeOverdue(limit: 10, at: 1_000)
        #expect(late?.waiters.map(\.number) == [3])
        #expect(gate.deadline(limit: 10) == nil)
        let next = gate.leave()
        #expect(next?.number == 4)
    }

    @Test(arguments: [1, 50, 30_000, 31_622_400_000, 31_622_400_001, .max] as [Int64])
    func `a writer waits for the time of the parameter, and for at most 366 days`(
        milliseconds: Int64
    ) throws {
        var parameters = SystemParameters()
        // The default is 30 s.
        if milliseconds != 30_000 {
            _ = try parameters.set("transaction_wait_limit_ms", to: .integer(milliseconds))
        }
        _ = try parameters.set("transaction_duration_before_logging_ms", to: .integer(milliseconds))
        let settings = SlowTransactionMonitor.Settings(parameters)
        let limit = UInt64(min(milliseconds, 31_622_400_000)) * 1_000_000
        #expect(settings.waitLimit == limit)
        #expect(settings.schedule.firstMilliseconds == UInt64(milliseconds))
        #expect(settings.schedule.nextMilliseconds == 5_000)
        // A waiter that came after the transaction has the whole time.
        var gate = WriteGate()
        _ = gate.enter()
        _ = gate.hold(info(1), at: 100)
        _ = gate.wait(WriteGate.Waiter(number: 2, since: 107) { _ in })
        #expect(gate.deadline(limit: limit) == 107 + limit)
        let early = gate.takeOverdue(limit: limit, at: 107 + limit - 1)
        let overdue = gate.takeOverdue(limit: limit, at: 107 + limit)
        #expect(early == nil && overdue?.waiters.map(\.number) == [2])
    }

    @Test(arguments: [(10_000, 5_000), (0, 1), (1, 1), (29_999, 60_000)] as [(UInt64, UInt64)])
    func `a transaction is logged when its times are over, and not before`(
        first: UInt64, next: UInt64
    ) {
        let schedule = SlowTransactionSchedule(firstMilliseconds: first, nextMilliseconds: next)
        var times = TransactionTimes()
        let start: UInt64 = 5_000_000_007
        times.begin(info(1), at: start)
        for warning in 0..<5 as Range<UInt64> {
            let due = start + (first + warning * next) * 1_000_000
            #expect(times.deadline(schedule) == due)
            let early = times.warnings(schedule, at: due - 1)
            let late = times.warnings(schedule, at: due)
            #expect(early.isEmpty && late.count == 1, "\(warning)")
        }
    }

    @Test func `the times of slow transactions are not beyond the clock`() {
        for (first, next) in [(.max, 1), (1, .max), (.max, .max)] as [(UInt64, UInt64)] {
            let schedule = SlowTransactionSchedule(firstMilliseconds: first, nextMilliseconds: next)
            var times = TransactionTimes()
            times.begin(info(1), at: 1)
            let now = first == .max ? UInt64.max - 1 : 1_000_001
            #expect(times.warnings(schedule, at: now).count == (first == .max ? 0 : 1))
            #expect(times.deadline(schedule) == .max)
        }
    }

    @Test func `a long statement times out no waiter`() {
        var gate = WriteGate()
        _ = gate.enter()
        _ = gate.wait(WriteGate.Waiter(number: 2, since: 0) { _ in })
        #expect(gate.deadline(limit: 10) == nil)
        let overdue = gate.takeOverdue(limit: 10, at: 1_000)
        #expect(overdue == nil)
    }

    @Test func `the error for opening a store on a full disk has advice`() {
        let error = StoreError(
            .full(VolumeError(.write, "1.log", .noSpace)), openingAt: "/data/cars")
        #expect(error.reason == .full && error.message.contains("/data/cars"))
        #expect(error.hint?.contains("copy-on-write") == true)
        #expect(error.hint?.contains("isReadOnly") == true)
    }
}
