import SheafStatements
package import SheafStore
package import SheafTestSupport

/// Transactions of one kind, run from concurrent tasks.
package protocol ListWorkload: Sendable {
    init(_ store: Store, _ collection: String) async throws

    /// Runs one attempt; `number` is unique.
    func attempt(_ number: Int, _ random: SeededRandom) async throws

    /// Checks the recorded history or the invariants of the documents; throws an anomaly.
    func check() async throws
}

extension Store {
    /// Inserts and deletes documents three times, so that all names of a collection have numbers.
    ///
    /// The workload then tests concurrent transactions, not the assignment of numbers.
    func meetNames(_ insertion: DQL, _ collection: String) async throws {
        for _ in 0..<3 {
            try await execute(insertion)
            try await execute("DELETE FROM \(identifier: collection)")
        }
    }

    /// Runs a transaction that ends in the given way; returns whether it was committed.
    func run(
        _ manner: Mode, isReadOnly: Bool = false,
        _ body: @escaping @Sendable (StoreTransaction) async throws -> Void
    ) async throws -> Attempt.Outcome {
        let task = Task {
            try await transaction(isReadOnly: isReadOnly) { transaction in
                try await body(transaction)
                switch manner {
                case .rolledBack: return TransactionCompletion.rollback
                case .thrown: throw TestError()
                case .cancelledInside: withUnsafeCurrentTask { $0?.cancel() }
                case .committed, .cancelledOutside: break
                }
                return .commit
            }
        }
        if case .cancelledOutside(let turns) = manner {
            for _ in 0..<turns { await Task.yield() }
            task.cancel()
        }
        do {
            return try await task.value == .commit ? .committed : .aborted
        } catch is TestError {
            return .aborted
        } catch is CancellationError {
            return .aborted
        }
    }
}
