import Sheaf
import SheafIsolation
import SheafSimulator
import SheafStorage
import SheafSystem

/// `sheaf-isolation`: runs concurrent transactions and checks their histories.
enum IsolationCommand {
    private static let usage = "usage: sheaf-isolation [--transactions N] [--seed S] [--tasks N]\n"

    /// Runs the command; returns the exit code: 1 for an anomaly, 64 for wrong arguments.
    static func run(_ arguments: [String]) async -> Int32 {
        var seed = OperatingSystem.randomInteger() % 1_000_000_000
        var (transactions, tasks) = (200_000, 8)
        var rest = arguments[...]
        while let option = rest.popFirst() {
            guard let value = rest.popFirst().flatMap({ UInt64($0) }) else {
                return complain("\(option) requires a number")
            }
            switch option {
            case "--seed": seed = value
            case "--transactions": transactions = Int(clamping: value)
            case "--tasks": tasks = max(1, Int(clamping: value))
            default: return complain("unknown option \(option)")
            }
        }
        // The seed is printed first, because a crash prints nothing afterwards.
        say("sheaf-isolation, seed \(seed)")
        let started = Clock.system.monotonicNanoseconds()
        do {
            let store = try await Store.inMemory()
            try await IsolationRun(store, seed: seed, tasks: tasks).run(transactions: transactions)
            try await store.close()
        } catch {
            say("violation: \(error)")
            return 1
        }
        let tenths = (Clock.system.monotonicNanoseconds() - started) / 100_000_000
        say("\(transactions) transactions, 0 anomalies in \(tenths / 10).\(tenths % 10) s")
        return 0
    }

    private static func say(_ line: String) {
        SimulationCommand.write(line + "\n", to: 1)
    }

    private static func complain(_ message: String) -> Int32 {
        say("sheaf-isolation: \(message)\n" + usage)
        return 64
    }
}
