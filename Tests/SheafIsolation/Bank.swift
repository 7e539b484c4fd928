import SheafDocument
import SheafStatements
package import SheafStore
package import SheafTestSupport

/// A workload of transfers between accounts whose number and total must not change.
package struct Bank: ListWorkload {
    private static let count = 10
    private static let total = 1_000
    private let store: Store
    private let collection: String

    package init(_ store: Store, _ collection: String) async throws {
        self.store = store
        self.collection = collection
        try await store.transaction { transaction in
            for slot in 0..<Self.count {
                try await transaction.execute(
                    """
                    INSERT INTO \(identifier: collection) \
                    DOCUMENTS ({'_id': \(slot), 'slot': \(slot), 'sum': \(Self.total / Self.count)})
                    """)
            }
            return .commit
        }
    }

    package func attempt(_ number: Int, _ random: SeededRandom) async throws {
        var random = random
        let mode = Mode.draw(&random)
        switch random.below(6) {
        case 0: try await audit(byRows: random.chance(1, in: 2)) { try await store.execute($0) }
        case 1: try await swap(&random)
        case 2:
            _ = try await store.run(mode, isReadOnly: true) { transaction in
                for round in 0..<4 {
                    try await audit(byRows: round % 2 == 0) { try await transaction.execute($0) }
                    await Task.yield()
                }
            }
        case 3:
            _ = try await store.run(mode) { [random] transaction in
                try await move(number, transaction, random)
            }
        default:
            _ = try await store.run(mode) { [random] transaction in
                try await transfer(transaction, random)
            }
        }
    }

    /// Checks the number of accounts and their total; by rows, also that none is overdrawn.
    private func audit(
        byRows: Bool, _ run: (DQL) async throws -> QueryResult
    ) async throws {
        var (count, sum) = (0, 0)
        if byRows {
            for item in try await run("SELECT * FROM \(identifier: collection)").items {
                guard let amount = try item["sum"]?.int, amount >= 0 else {
                    throw Anomaly("an account is overdrawn: \(try item.jsonString)")
                }
                (count, sum) = (count + 1, sum + amount)
            }
        } else {
            let rows = try await run(
                "SELECT COUNT(*) AS n, SUM(`sum`) AS total FROM \(identifier: collection)")
            count = try rows.items.first?["n"]?.int ?? -1
            sum = try rows.items.first?["total"]?.int ?? -1
        }
        guard count == Self.count, sum == Self.total else {
            throw Anomaly("\(count) accounts hold \(sum) (by rows: \(byRows))")
        }
    }

    /// Exchanges the slots of two accounts in one statement.
    private func swap(_ random: inout SeededRandom) async throws {
        let slot = random.below(Self.count)
        let other = (slot + 1 + random.below(Self.count - 1)) % Self.count
        try await store.execute(
            """
            UPDATE \(identifier: collection) \
            SET slot = CASE WHEN slot = \(slot) THEN \(other) ELSE \(slot) END \
            WHERE slot IN (\(slot), \(other))
            """)
    }

    private func transfer(_ transaction: StoreTransaction, _ random: SeededRandom) async throws {
        var random = random
        let from = random.below(Self.count)
        let to = (from + 1 + random.below(Self.count - 1)) % Self.count
        let amount = 1 + random.below(30)
        let found = try await transaction.execute(
            "SELECT `sum` FROM \(identifier: collection) WHERE slot = \(from)")
        guard found.items.count == 1, let sum = try found.items[0]["sum"]?.int else {
            throw Anomaly("\(found.items.count) accounts have slot \(from)")
        }
        guard sum >= amount else { return }
        if random.chance(1, in: 2) { await Task.yield() }
        // Writes a value computed from the read, so that a concurrent change would be lost.
        try await transaction.execute(
            "UPDATE \(identifier: collection) SET `sum` = \(sum - amount) WHERE slot = \(from)")
        if random.chance(1, in: 2) { await Task.yield() }
        try await transaction.execute(
            "UPDATE \(identifier: collection) SET `sum` = `sum` + \(amount) WHERE slot = \(to)")
        try await audit(byRows: random.chance(1, in: 2)) { try await transaction.execute($0) }
    }

    /// Replaces an account by another one with the same slot.
    private func move(
        _ number: Int, _ transaction: StoreTransaction, _ random: SeededRandom
    ) async throws {
        var random = random
        let slot = random.below(Self.count)
        let found = try await transaction.execute(
            "SELECT _id, `sum` FROM \(identifier: collection) WHERE slot = \(slot)")
        guard let id = try found.items.first?["_id"], let sum = try found.items[0]["sum"] else {
            throw Anomaly("no account has slot \(slot)")
        }
        try await transaction.execute("DELETE FROM \(identifier: collection) WHERE _id = \(id)")
        if random.chance(1, in: 2) { await Task.yield() }
        let account: Value = [
            "_id": .integer(Int64(1_000 + number)), "slot": .integer(Int64(slot)), "sum": sum,
        ]
        try await transaction.execute(
            "INSERT INTO \(identifier: collection) DOCUMENTS (\(account))")
        try await audit(byRows: random.chance(1, in: 2)) { try await transaction.execute($0) }
    }

    package func check() async throws {
        for byRows in [true, false] {
            try await audit(byRows: byRows) { try await store.execute($0) }
        }
    }
}
