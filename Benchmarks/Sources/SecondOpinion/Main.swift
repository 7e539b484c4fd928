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
                return complain("unknown option \(option)")
            }
            guard let value = rest.popFirst().flatMap({ UInt64($0) }) else {
                return complain("\(option) requires a number")
            }
            if option == "--seed" { seed = value } else { queries = Int(clamping: value) }
        }
        // The seed is printed first, so that it is known after a crash.
        say("sheaf-second-opinion, seed \(seed)")
        do {
            let started = now()
            var opinions = try Opinions(seed: seed)
            try opinions.run(queries: queries)
            let tally = opinions.tally
            let tenths = Int(seconds(since: started) * 10)
            say(
                "\(tally.queries) queries and \(tally.writes) writes in \(tally.lives) stores; "
                    + "\(tally.answersWithRows) results have rows, \(tally.refused) joins refused; "
                    + "in \(tenths / 10).\(tenths % 10) s")
            say("0 differences")
            return 0
        } catch {
            say("difference: \(error)")
            return 1
        }
    }

    private static func say(_ line: String) {
        print(line)
        fflush(nil)
    }

    private static func complain(_ message: String) -> Int32 {
        say("sheaf-second-opinion: \(message)\n" + usage)
        return 64
    }
}
