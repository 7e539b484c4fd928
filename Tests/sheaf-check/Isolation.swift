import Sheaf
import SheafIsolation

extension Verb {
    static let isolation = Verb(
        name: "isolation", summary: "histories of concurrent transactions, searched for anomalies",
        options: [
            .seed,
            .number("--transactions", "N", "the number of transactions, 200,000 by default"),
            .number("--tasks", "N", "the number of concurrent tasks, 8 by default"),
        ],
        run: { await Isolation.run($0) })
}

/// The run of concurrent transactions, whose histories are checked.
private enum Isolation {
    static func run(_ arguments: CheckArguments) async -> Int32 {
        let transactions = arguments.number("--transactions") ?? 200_000
        let tasks = max(1, arguments.number("--tasks") ?? 8)
        // The seed is printed first, because a crash prints nothing afterwards.
        printLine("sheaf-check isolation, seed \(arguments.seed)")
        let stopwatch = Stopwatch()
        do {
            let store = try await Store.inMemory()
            try await IsolationRun(store, seed: arguments.seed, tasks: tasks)
                .run(transactions: transactions)
            try await store.close()
        } catch {
            printLine("violation: \(error)")
            return CheckExitCode.failed
        }
        printLine("\(transactions) transactions, 0 anomalies in \(stopwatch)")
        return CheckExitCode.passed
    }
}
