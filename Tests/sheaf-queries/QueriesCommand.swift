import SheafQueryModel
import SheafSimulator
import SheafStorage
import SheafSystem

/// `sheaf-queries`: compares random statements with a naive evaluator.
enum QueriesCommand {
    private static let usage = """
        usage: sheaf-queries [--seed S] [--queries N] [--partition N] [--end-to-end N] [--observed N]
               sheaf-queries --slowest N [--end-to-end N]

        Without options, runs some of each kind. --slowest measures statements with very long parts,
        or with --end-to-end corrupted statements, and lists the slowest per KiB of text.

        """

    private struct Options {
        var seed = OperatingSystem.randomInteger() % 1_000_000_000
        /// The number of SELECT statements compared with the naive evaluator.
        var queries = 0
        /// The number of conditions whose four results must partition the documents.
        var partitions = 0
        /// The number of observer results compared.
        var observed = 0
        /// The number of corrupted statements, each of which must end within a time limit.
        var damaged = 0
        /// The number of slowest statements listed.
        var slowest = 0
    }

    /// Runs the command; returns the exit code: 1 for a difference, 64 for wrong arguments.
    static func run(_ arguments: [String]) -> Int32 {
        var options = Options()
        var rest = arguments[...]
        while let option = rest.popFirst() {
            guard let value = rest.popFirst().flatMap({ UInt64($0) }) else {
                return complain("\(option) requires a number")
            }
            switch option {
            case "--seed": options.seed = value
            case "--queries": options.queries = Int(clamping: value)
            case "--partition": options.partitions = Int(clamping: value)
            case "--observed": options.observed = Int(clamping: value)
            case "--slowest": options.slowest = Int(clamping: value)
            case "--end-to-end": options.damaged = Int(clamping: value)
            default: return complain("unknown option \(option)")
            }
        }
        if options.slowest > 0, options.damaged == 0 { return listSlowest(options.slowest) }
        if options.queries == 0, options.partitions == 0, options.damaged == 0,
            options.observed == 0
        {
            (options.queries, options.partitions, options.damaged) = (200_000, 10_000, 20_000)
            options.observed = 100_000
        }
        // The seed is printed first, because a crash prints nothing afterwards.
        say("sheaf-queries, seed \(options.seed)")
        do {
            try compare(options)
            try observe(options)
            try damage(options)
            say("0 differences")
            return 0
        } catch {
            say("difference: \(error)")
            return 1
        }
    }

    private static func compare(_ options: Options) throws {
        guard options.queries + options.partitions > 0 else { return }
        let started = Clock.system.monotonicNanoseconds()
        var differences = QueryDifferences(seed: options.seed)
        try differences.run(queries: options.queries, partitions: options.partitions)
        let tally = differences.tally
        say(
            "\(tally.queries) queries, \(tally.partitions) partitions and \(tally.writes) writes "
                + "in \(tally.lives) stores; \(tally.refused) were refused, \(tally.failed) failed"
                + seconds(since: started))
    }

    private static func observe(_ options: Options) throws {
        guard options.observed > 0 else { return }
        let started = Clock.system.monotonicNanoseconds()
        var differences = ObservedDifferences(seed: options.seed)
        try differences.run(pairs: options.observed)
        let tally = differences.tally
        say(
            "\(tally.pairs) results of \(tally.observers) observers after \(tally.commits) commits "
                + "in \(tally.lives) stores; \(tally.deliveries) were delivered, \(tally.changes) with "
                + "changes: "
                + "\(tally.maintained) computed from changes, \(tally.rerun) from rerun statements"
                + seconds(since: started))
    }

    private static func damage(_ options: Options) throws {
        guard options.damaged > 0 else { return }
        let started = Clock.system.monotonicNanoseconds()
        var statements = DamagedStatements(seed: options.seed)
        try statements.run(options.damaged)
        let tally = statements.tally
        say(
            "\(tally.statements) corrupted statements: \(tally.run) run, \(tally.refused) refused, "
                + "the longest took \(tally.longestMilliseconds) ms" + seconds(since: started))
        for timing in tally.slowest.prefix(options.slowest) { say("\(timing)") }
    }

    /// Measures short and long statements and prints the slowest.
    private static func listSlowest(_ count: Int) -> Int32 {
        do {
            var statements = try StretchedStatements()
            for terms in [200, 4_000] { statements.run(terms: terms) }
            for timing in statements.timings.slowest(count) { say("\(timing)") }
            return 0
        } catch {
            say("sheaf-queries: \(error)")
            return 1
        }
    }

    private static func seconds(since started: UInt64) -> String {
        let tenths = (Clock.system.monotonicNanoseconds() - started) / 100_000_000
        return " in \(tenths / 10).\(tenths % 10) s"
    }

    private static func say(_ line: String) {
        SimulationCommand.write(line + "\n", to: 1)
    }

    private static func complain(_ message: String) -> Int32 {
        say("sheaf-queries: \(message)\n" + usage)
        return 64
    }
}
