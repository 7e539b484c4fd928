import SheafQueryModel

extension Verb {
    static let past = Verb(
        name: "past", summary: "statements AS OF each commit of random histories",
        options: [.seed, .number("--histories", "N", "run N histories, 1,000 by default")],
        details: """
            Each history changes documents and indexes, compacts and reopens its store. AS OF must
            return the results that statements had after each commit.
            """,
        run: { Past.run($0) })
}

/// The comparison of results AS OF commits with those recorded after each commit.
private enum Past {
    static func run(_ arguments: CheckArguments) -> Int32 {
        let histories = arguments.number("--histories") ?? 1_000
        printLine("sheaf-check past, seed \(arguments.seed)")
        let stopwatch = Stopwatch()
        do {
            var differences = PastDifferences(seed: arguments.seed)
            try differences.run(histories: histories)
            let tally = differences.tally
            printLine(
                "\(tally.statements) statements about \(tally.commits) states of "
                    + "\(tally.histories) histories; \(tally.forgotten) states were compacted "
                    + "in \(stopwatch)")
            printLine("0 differences")
            return CheckExitCode.passed
        } catch {
            printLine("difference: \(error)")
            return CheckExitCode.failed
        }
    }
}
