import SheafQueryModel
import SheafSimulator
import SheafStorage

/// `sheaf-queries`: statements held against a naive evaluator, for as long as there is time.
enum QueriesCommand {
    private static let usage = """
        usage: sheaf-queries [--seed S] [--queries N] [--partition N] [--end-to-end N] [--observed N]
               sheaf-queries --slowest N [--end-to-end N]

        Without any of them, some of each. --slowest stretches each part of statements as far as it
        goes, or damages statements, and lists those that took the longest for each KiB of text.

        """

    private struct Options {
        var seed = OperatingSystem.randomInteger() % 1_000_000_000
        /// Statements that read, each with the naive evaluator and with the engine.
        var queries = 0
        /// Conditions whose answers part the documents.
        var partitions = 0
        /// Results of observers, each after some commits.
        var observed = 0
        /// Damaged statements, which have to end one way or the other.
        var damaged = 0
        /// So many of the slowest statements are listed.
        var slowest = 0
    }

    /// Runs the command; returns the exit code: 1 for a difference, 64 for wrong arguments.
    static func run(_ arguments: [String]) -> Int32 {
        var options = Options()
        var rest = arguments[...]
        while let option = rest.popFirst() {
            guard let value = rest.popFirst().flatMap({ UInt64($0) }) else {
                return complain("\(option) takes a number")
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
        // The seed comes first: what crashes prints nothing afterwards.
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
                + "in \(tally.lives) stores; \(tally.deliveries) were delivered: "
                + "\(tally.maintained) times changes told, \(tally.rerun) times a statement was run"
                + seconds(since: started))
    }

    private static func damage(_ options: Options) throws {
        guard options.damaged > 0 else { return }
        let started = Clock.system.monotonicNanoseconds()
        var statements = DamagedStatements(seed: options.seed)
        try statements.run(options.damaged)
        let tally = statements.tally
        say(
            "\(tally.statements) damaged statements: \(tally.run) run, \(tally.refused) refused, "
                + "the longest took \(tally.longestMilliseconds) ms" + seconds(since: started))
        for timing in tally.slowest.prefix(options.slowest) { say("\(timing)") }
    }

    /// Runs what is short and what is long.
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
