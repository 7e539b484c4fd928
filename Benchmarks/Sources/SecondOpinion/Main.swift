import BenchHarness
import Glibc

/// `sheaf-second-opinion`: compares results of random statements in Sheaf and SQLite.
@main
enum Main {
    private static let usage = """
        usage: sheaf-second-opinion [--seed S] [--queries N]

        Runs 100,000 queries by default.

        """

    static func main() {
        exit(run(Array(CommandLine.arguments.dropFirst())))
    }

    /// Runs the command and returns its exit code: 1 for a difference, 64 for invalid usage.
    private static func run(_ arguments: [String]) -> Int32 {
        var seed = UInt64.random(in: 0..<1_000_000_000)
        var queries = 100_000
        var rest = arguments[...]
        while let option = rest.popFirst() {
            guard option == "--seed" || option == "--queries" else {
                return report("unknown option \(option)")
            }
            guard let value = rest.popFirst().flatMap({ UInt64($0) }) else {
                return report("\(option) requires a number")
            }
            if option == "--seed" { seed = value } else { queries = Int(clamping: value) }
        }
        // The seed is printed first, so that it is known after a crash.
        printLine("sheaf-second-opinion, seed \(seed)")
        do {
            let started = now()
            var comparisonRuns = try ComparisonRuns(seed: seed)
            try comparisonRuns.run(queries: queries)
            let tally = comparisonRuns.tally
            let tenths = Int(seconds(since: started) * 10)
            printLine(
                "\(tally.queries) queries and \(tally.writes) writes in \(tally.simulations) stores; "
                    + "\(tally.answersWithRows) results have rows, \(tally.refused) joins refused; "
                    + "in \(tenths / 10).\(tenths % 10) s")
            printLine("0 differences")
            return 0
        } catch {
            printLine("difference: \(error)")
            return 1
        }
    }

    private static func printLine(_ line: String) {
        print(line)
        fflush(nil)
    }

    private static func report(_ message: String) -> Int32 {
        printLine("sheaf-second-opinion: \(message)\n" + usage)
        return 64
    }
}
