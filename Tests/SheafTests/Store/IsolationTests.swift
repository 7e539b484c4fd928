import Sheaf
import SheafIsolation
import SheafTestSupport
import Testing

struct IsolationTests {
    @Test func `concurrent transactions are serializable`() async throws {
        let seed = UInt64.random(in: 0..<1_000_000_000)
        print("isolation, seed \(seed)")
        let store = try await Store.inMemory()
        // On a busy machine a transaction may keep others waiting for long.
        try await store.execute("ALTER SYSTEM SET transaction_wait_limit_ms = 600000")
        try await IsolationRun(store, seed: seed).run(transactions: 2_400)
        try await store.close()
    }
}

/// Anomalies that the history checker must find in handwritten histories.
struct HistoryCheckerTests {
    /// Returns attempts that run one after another.
    private func serial(_ attempts: [(Int64?, [ListOperation])]) -> [Attempt] {
        attempts.enumerated().map { number, attempt in
            Attempt(
                invoked: number * 2, completed: number * 2 + 1,
                outcome: attempt.0 == nil ? .aborted : .committed, commit: attempt.0, attempt.1)
        }
    }

    /// Returns attempts that all run concurrently.
    private func concurrent(_ attempts: [(Int64?, [ListOperation])]) -> [Attempt] {
        attempts.enumerated().map { number, attempt in
            Attempt(
                invoked: number, completed: 100 + number,
                outcome: attempt.0 == nil ? .aborted : .committed, commit: attempt.0, attempt.1)
        }
    }

    private func anomaly(of history: [Attempt]) -> String {
        do throws(Anomaly) {
            try HistoryChecker.check(lists: history)
            return "none"
        } catch {
            return error.description
        }
    }

    @Test func `a serial history has no anomaly`() {
        let history = serial([
            (1, [.read(key: 0, values: []), .write(key: 0, value: 1), .write(key: 0, value: 2)]),
            (nil, [.write(key: 0, value: 3)]),
            (1, [.read(key: 0, values: [1, 2]), .read(key: 1, values: [])]),
            (2, [.write(key: 0, value: 4), .read(key: 0, values: [1, 2, 4])]),
            (2, [.read(key: 0, values: [1, 2, 4])]),
        ])
        #expect(anomaly(of: history) == "none")
    }

    @Test func `a read of a rolled-back write is found`() {
        let history = concurrent([
            (nil, [.write(key: 0, value: 1)]), (1, [.read(key: 0, values: [1])]),
        ])
        #expect(anomaly(of: history).contains("of the aborted"))
    }

    @Test func `a read of an intermediate state is found`() {
        let history = concurrent([
            (1, [.write(key: 0, value: 1), .write(key: 0, value: 2)]),
            (1, [.read(key: 0, values: [1])]), (1, [.read(key: 0, values: [1, 2])]),
        ])
        #expect(anomaly(of: history).contains("an intermediate write"))
    }

    @Test func `a lost update is found`() {
        let history = concurrent([
            (1, [.read(key: 0, values: []), .write(key: 0, value: 1)]),
            (2, [.read(key: 0, values: []), .write(key: 0, value: 2)]),
            (2, [.read(key: 0, values: [2])]),
        ])
        #expect(anomaly(of: history).contains("1 was committed"))
        let both = concurrent([
            (1, [.read(key: 0, values: []), .write(key: 0, value: 1)]),
            (2, [.read(key: 0, values: []), .write(key: 0, value: 2)]),
            (2, [.read(key: 0, values: [1, 2])]),
        ])
        #expect(anomaly(of: both).hasPrefix("read skew"))
    }

    @Test func `a read of two snapshots in one transaction is found`() {
        let history = concurrent([
            (1, [.write(key: 0, value: 1), .write(key: 1, value: 2)]),
            (1, [.read(key: 0, values: [1]), .read(key: 1, values: [])]),
            (1, [.read(key: 1, values: [2])]),
        ])
        #expect(anomaly(of: history).hasPrefix("read skew"))
    }

    @Test func `write skew is detected`() {
        let history = concurrent([
            (1, [.read(key: 0, values: []), .write(key: 1, value: 1)]),
            (2, [.read(key: 1, values: []), .write(key: 0, value: 2)]),
            (2, [.read(key: 0, values: [2]), .read(key: 1, values: [1])]),
        ])
        #expect(anomaly(of: history).hasPrefix("write skew"))
    }

    @Test func `a cycle of writes is found`() {
        let history = concurrent([
            (1, [.write(key: 0, value: 1), .write(key: 1, value: 2)]),
            (2, [.write(key: 0, value: 3), .write(key: 1, value: 4)]),
            (2, [.read(key: 0, values: [1, 3])]), (2, [.read(key: 1, values: [4, 2])]),
        ])
        #expect(anomaly(of: history).hasPrefix("a cycle of writes"))
    }

    @Test func `a stale read is found`() {
        let history = serial([
            (1, [.write(key: 0, value: 1)]), (0, [.read(key: 0, values: [])]),
            (1, [.read(key: 0, values: [1])]),
        ])
        #expect(anomaly(of: history).hasPrefix("a cycle with real-time order"))
    }

    @Test func `a commit ID that does not match the reads is found`() {
        let history = concurrent([
            (1, [.write(key: 0, value: 1)]), (2, [.write(key: 0, value: 2)]),
            (1, [.read(key: 0, values: [1, 2])]),
        ])
        #expect(anomaly(of: history).contains("as of commit 1"))
    }

    @Test func `an inconsistent read of registers is found`() {
        let history = concurrent([
            (1, [.write(key: 0, value: 1), .write(key: 1, value: 2)]),
            (2, [.write(key: 0, value: 3), .write(key: 1, value: 4)]),
            (2, [.read(key: 0, values: [3]), .read(key: 1, values: [2])]),
        ])
        #expect(throws: Anomaly.self) { try HistoryChecker.check(registers: history) }
    }
}
