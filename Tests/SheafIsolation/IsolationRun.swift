package import SheafStore
import SheafTestSupport
import Synchronization

/// A run of all workloads in rounds on one store, each with several concurrent tasks.
///
/// The seed determines the statements, but not their interleaving.
package struct IsolationRun: Sendable {
    private let store: Store
    private let seed: UInt64
    private let tasks: Int
    /// The maximum number of attempts before a history is checked.
    private static let maximumRoundLength = 5_000

    package init(_ store: Store, seed: UInt64, tasks: Int = 8) {
        self.store = store
        self.seed = seed
        self.tasks = tasks
    }

    /// Runs the given number of transactions; throws the first anomaly.
    package func run(transactions: Int) async throws {
        // Short rounds let every workload run even with few transactions.
        let length = min(Self.maximumRoundLength, max(1, transactions / 4))
        for (round, start) in stride(from: 0, to: transactions, by: length).enumerated() {
            let numbers = start..<min(start + length, transactions)
            let name = "round\(round)"
            let workload: any ListWorkload =
                switch round % 4 {
                case 0: try await ListAppend(store, name)
                case 1: try await Registers(store, name)
                case 2: try await Bank(store, name)
                default: try await WriteSkew(store, name)
                }
            try await run(workload, numbers)
            try await workload.check()
        }
    }

    private func run(_ workload: any ListWorkload, _ numbers: Range<Int>) async throws {
        let turns = NumberDispenser(numbers)
        let seed = seed
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<tasks {
                group.addTask {
                    while let number = turns.next() {
                        let random = SeededRandom(
                            seed: seed ^ UInt64(number) &* 0x9E37_79B9_7F4A_7C15, "attempt")
                        try await workload.attempt(number, random)
                    }
                }
            }
            try await group.waitForAll()
        }
    }
}

/// A dispenser of the numbers of a range, each once.
private final class NumberDispenser: Sendable {
    private let first: Atomic<Int>
    private let end: Int

    init(_ numbers: Range<Int>) {
        first = Atomic(numbers.lowerBound)
        end = numbers.upperBound
    }

    func next() -> Int? {
        let number = first.add(1, ordering: .relaxed).oldValue
        return number < end ? number : nil
    }
}
