import SheafDocumentModel
import SheafDocumentSimulations

extension Verb {
    static let merges = Verb(
        name: "merges", summary: "laws of documents and their merges in random histories",
        options: [
            .seed,
            .number("--triples", "N", "join triples of states in every order"),
            .number("--deltas", "N", "join deltas and apply them to states"),
            .number("--histories", "N", "compare histories of peers with the model"),
            .number("--lives", "N", "compare histories of stores on simulated disks"),
            .number("--exhaustive", "WRITES", "enumerate all histories of at most WRITES writes"),
            .number("--joins", "N", "at most N joins in each enumerated history, 2 by default"),
            .number("--damage", "STRIDE", "corrupt documents at each STRIDE-th position"),
        ],
        details: "Without a number of any kind, runs some of each.", run: { Merges.run($0) })
}

/// The check of the laws of documents in random and enumerated histories.
private enum Merges {
    private struct Options {
        let seed: UInt64
        var triples = 0
        var deltas = 0
        var histories = 0
        /// The number of random histories of stores on simulated disks.
        var simulations = 0
        /// The maximum number of writes in an exhaustive enumeration; zero disables it.
        var exhaustive = 0
        let joins: Int
        /// The distance between corrupted positions; zero disables corruption.
        var damage = 0

        init(_ arguments: CheckArguments) {
            seed = arguments.seed
            joins = arguments.number("--joins") ?? 2
            triples = arguments.count("--triples")
            deltas = arguments.count("--deltas")
            histories = arguments.count("--histories")
            simulations = arguments.count("--lives")
            exhaustive = arguments.count("--exhaustive")
            damage = arguments.count("--damage")
            if [triples, deltas, histories, simulations, exhaustive, damage].allSatisfy({ $0 == 0 })
            {
                (triples, deltas, histories) = (100_000, 20_000, 500)
                (simulations, exhaustive, damage) = (50, 3, 5)
            }
        }
    }

    private struct Violation: Error {
        let text: String
    }

    static func run(_ arguments: CheckArguments) -> Int32 {
        let options = Options(arguments)
        // The seed is printed first, because a crash prints nothing afterwards.
        printLine("sheaf-check merges, seed \(options.seed)")
        do {
            try histories(options)
            try simulations(options)
            try damage(options)
            try deltas(options)
            try triples(options)
            if options.exhaustive > 0 { try exhaustive(options) }
            printLine("0 violations")
            return CheckExitCode.passed
        } catch {
            printLine("violation: \((error as? Violation)?.text ?? "\(error)")")
            return CheckExitCode.failed
        }
    }

    private static func histories(_ options: Options) throws {
        try report(options.seed, until: { $0.histories >= options.histories }) {
            MergeLaws.checkHistory(seed: $0, steps: 60)
        } saying: {
            "\($0.histories) histories, \($0.samples) states equal the model"
        }
    }

    private static func simulations(_ options: Options) throws {
        guard options.simulations > 0 else { return }
        let stopwatch = Stopwatch()
        var pasts = 0
        for number in 0..<options.simulations {
            pasts += try DocumentSimulations.run(seed: options.seed &+ UInt64(number), steps: 80)
                .pasts
        }
        printLine(
            "\(options.simulations) histories of stores, \(pasts) older commits and the changes since "
                + "equal the model in \(stopwatch)")
    }

    private static func damage(_ options: Options) throws {
        guard options.damage > 0 else { return }
        let stopwatch = Stopwatch()
        var laws = try DamageLaws()
        laws.checkIntact()
        laws.check(stride: options.damage)
        printLine("\(laws.count) intact and corrupted documents in \(stopwatch)")
        if let violation = laws.violation { throw Violation(text: violation) }
    }

    private static func triples(_ options: Options) throws {
        try report(options.seed, until: { $0.triples >= options.triples }) {
            MergeLaws.checkTriples(seed: $0, steps: 60, count: 200)
        } saying: {
            "\($0.triples) triples of states from \($0.histories) histories, "
                + "\($0.samples) joins equal the model"
        }
    }

    private static func deltas(_ options: Options) throws {
        try report(options.seed, until: { $0.deltas >= options.deltas }) {
            DeltaLaws.check(seed: $0, steps: 60)
        } saying: {
            "\($0.deltas) deltas of \($0.histories) histories, \($0.joinedDeltas) joins of deltas, "
                + "\($0.applications) applied to states, "
                + "\($0.samples) states equal the model"
        }
    }

    private static func report(
        _ seed: UInt64, until isEnough: (LawTally) -> Bool, _ check: (UInt64) -> LawTally,
        saying text: (LawTally) -> String
    ) throws {
        var tally = LawTally()
        let stopwatch = Stopwatch()
        while !isEnough(tally), tally.violation == nil {
            tally.add(check(seed &+ UInt64(tally.histories)))
        }
        if tally.histories > 0 { printLine(text(tally) + " in \(stopwatch)") }
        if let violation = tally.violation { throw Violation(text: violation) }
    }

    private static func exhaustive(_ options: Options) throws {
        for (name, writes) in EnumeratedWrites.all.sorted(by: { $0.key < $1.key }) {
            for lags: [UInt64] in [[0, 0, 0], [3, 1, 0]] {
                let stopwatch = Stopwatch()
                var enumeration = Enumeration<CheckedDocument>(
                    writes, writeLimit: options.exhaustive, joinLimit: options.joins, lags: lags,
                    inspect: { $0.difference })
                let report = enumeration.run()
                printLine(
                    "\(name), clocks \(lags), \(options.exhaustive) writes, \(options.joins) joins: "
                        + "\(report.states) states of three peers, \(report.documents) documents"
                        + " in \(stopwatch)")
                if let violation = report.violation { throw Violation(text: violation) }
            }
        }
    }
}
