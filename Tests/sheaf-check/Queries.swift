import SheafQueryModel

extension Verb {
    static let queries = Verb(
        name: "queries", summary: "random statements, compared with a naive evaluator",
        options: [
            .seed,
            .number("--queries", "N", "compare the results of SELECT statements"),
            .number("--partition", "N", "check that results of conditions partition the documents"),
            .number("--observed", "N", "compare the results of observers"),
            .number("--end-to-end", "N", "run corrupted statements, each with a time limit"),
            .number("--slowest", "N", "list the slowest statements per KiB of text"),
        ],
        details: """
            Without a number of any kind, runs some of each. --slowest measures statements with very
            long parts, or with --end-to-end the corrupted statements.
            """,
        run: { Queries.run($0) })
}

/// The comparison of random statements with a naive evaluator.
private enum Queries {
    private struct Options {
        let seed: UInt64
        /// The number of SELECT statements compared with the naive evaluator.
        var queries = 0
        /// The number of conditions whose four results must partition the documents.
        var partitions = 0
        /// The number of observer results compared.
        var observed = 0
        /// The number of corrupted statements, each of which must end within a time limit.
        var damaged = 0
        /// The number of slowest statements listed.
        let slowest: Int

        init(_ arguments: CheckArguments) {
            seed = arguments.seed
            slowest = arguments.count("--slowest")
            queries = arguments.count("--queries")
            partitions = arguments.count("--partition")
            observed = arguments.count("--observed")
            damaged = arguments.count("--end-to-end")
        }
    }

    static func run(_ arguments: CheckArguments) -> Int32 {
        var options = Options(arguments)
        if options.slowest > 0, options.damaged == 0 { return listSlowest(options.slowest) }
        if options.queries == 0, options.partitions == 0, options.damaged == 0,
            options.observed == 0
        {
            (options.queries, options.partitions, options.damaged) = (200_000, 10_000, 20_000)
            options.observed = 100_000
        }
        // The seed is printed first, because a crash prints nothing afterwards.
        printLine("sheaf-check queries, seed \(options.seed)")
        do {
            try compare(options)
            try observe(options)
            try damage(options)
            printLine("0 differences")
            return CheckExitCode.passed
        } catch {
            printLine("difference: \(error)")
            return CheckExitCode.failed
        }
    }

    private static func compare(_ options: Options) throws {
        guard options.queries + options.partitions > 0 else { return }
        let stopwatch = Stopwatch()
        var differences = QueryDifferences(seed: options.seed)
        try differences.run(queries: options.queries, partitions: options.partitions)
        let tally = differences.tally
        printLine(
            "\(tally.queries) queries, \(tally.partitions) partitions and \(tally.writes) writes "
                + "in \(tally.simulations) stores; \(tally.refused) were refused, \(tally.failed) failed"
                + " in \(stopwatch)")
    }

    private static func observe(_ options: Options) throws {
        guard options.observed > 0 else { return }
        let stopwatch = Stopwatch()
        var differences = ObservedDifferences(seed: options.seed)
        try differences.run(pairs: options.observed)
        let tally = differences.tally
        printLine(
            "\(tally.pairs) results of \(tally.observers) observers after \(tally.commits) commits "
                + "in \(tally.simulations) stores; \(tally.deliveries) were delivered, \(tally.changes) with "
                + "changes: "
                + "\(tally.maintained) computed from changes, \(tally.rerun) from rerun statements"
                + " in \(stopwatch)")
    }

    private static func damage(_ options: Options) throws {
        guard options.damaged > 0 else { return }
        let stopwatch = Stopwatch()
        var statements = DamagedStatements(seed: options.seed)
        try statements.run(options.damaged)
        let tally = statements.tally
        printLine(
            "\(tally.statements) corrupted statements: \(tally.run) run, \(tally.refused) refused, "
                + "the longest took \(tally.longestMilliseconds) ms in \(stopwatch)")
        for timing in tally.slowest.prefix(options.slowest) { printLine("\(timing)") }
    }

    /// Measures short and long statements and prints the slowest.
    private static func listSlowest(_ count: Int) -> Int32 {
        do {
            var statements = try LongStatementTiming()
            for terms in [200, 4_000] { statements.run(terms: terms) }
            for timing in statements.timings.slowest(count) { printLine("\(timing)") }
            return CheckExitCode.passed
        } catch {
            printLine("\(error)")
            return CheckExitCode.failed
        }
    }
}
