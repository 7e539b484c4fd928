import SheafDocument
import SheafStatements
package import SheafStore
package import SheafTestSupport

/// A workload with invariants that only write skew violates: no pair of accounts has a negative
/// sum, and at least one person is on call.
package struct WriteSkew: ListWorkload {
    private static let pairs = 4
    private static let people = 4
    private let store: Store
    private let accounts: String
    private let calls: String

    package init(_ store: Store, _ collection: String) async throws {
        self.store = store
        accounts = collection
        calls = collection + "calls"
        try await store.transaction { [accounts, calls] transaction in
            for side in 0..<Self.pairs * 2 {
                try await transaction.execute(
                    """
                    INSERT INTO \(identifier: accounts) \
                    DOCUMENTS ({'_id': \(side), 'pair': \(side / 2), 'sum': 10})
                    """)
            }
            for person in 0..<Self.people {
                try await transaction.execute(
                    """
                    INSERT INTO \(identifier: calls) \
                    DOCUMENTS ({'_id': \(person), 'isOnCall': true})
                    """)
            }
            return .commit
        }
    }

    package func attempt(_ number: Int, _ random: SeededRandom) async throws {
        var random = random
        let mode = Mode.draw(&random)
        switch random.below(5) {
        case 0: try await check()
        case 1, 2:
            _ = try await store.run(mode) { [random] transaction in
                try await withdraw(transaction, random)
            }
        default:
            _ = try await store.run(mode) { [random] transaction in
                try await change(transaction, random)
            }
        }
    }

    /// Withdraws the sum of a pair from one account, or deposits ten.
    private func withdraw(_ transaction: StoreTransaction, _ random: SeededRandom) async throws {
        var random = random
        let pair = random.below(Self.pairs)
        let found = try await transaction.execute(
            "SELECT SUM(`sum`) AS total FROM \(identifier: accounts) WHERE pair = \(pair)")
        guard let total = try found.items.first?["total"]?.int, total >= 0 else {
            throw Anomaly("a pair has a negative sum")
        }
        if random.chance(1, in: 2) { await Task.yield() }
        let change = total > 0 ? -total : 10
        try await transaction.execute(
            """
            UPDATE \(identifier: accounts) SET `sum` = `sum` + \(change) \
            WHERE _id = \(pair * 2 + random.below(2))
            """)
    }

    /// Takes a person off call if another one is on call, or puts the person on call.
    private func change(_ transaction: StoreTransaction, _ random: SeededRandom) async throws {
        var random = random
        let person = random.below(Self.people)
        let found = try await transaction.execute(
            "SELECT _id FROM \(identifier: calls) WHERE isOnCall = true")
        let onCall = try found.items.map { try $0["_id"]?.int }
        if random.chance(1, in: 2) { await Task.yield() }
        guard onCall.contains(person) else {
            try await transaction.execute(
                "UPDATE \(identifier: calls) SET isOnCall = true WHERE _id = \(person)")
            return
        }
        guard onCall.count > 1 else { return }
        try await transaction.execute(
            "UPDATE \(identifier: calls) SET isOnCall = false WHERE _id = \(person)")
    }

    package func check() async throws {
        let owing = try await store.execute(
            """
            SELECT pair, SUM(`sum`) AS total FROM \(identifier: accounts) \
            GROUP BY pair HAVING SUM(`sum`) < 0
            """)
        if let pair = owing.items.first { throw Anomaly("a negative sum: \(try pair.jsonString)") }
        let called = try await store.execute(
            "SELECT COUNT(*) AS n FROM \(identifier: calls) WHERE isOnCall = true")
        guard let count = try called.items.first?["n"]?.int, count > 0 else {
            throw Anomaly("no person is on call")
        }
    }
}
