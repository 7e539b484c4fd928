import SheafDocumentLives
import SheafDocumentModel
import SheafSimulator
import SheafStorage
import SheafSystem

/// `sheaf-merges`: checks the laws of documents and their merges in random histories.
enum MergesCommand {
    private static let usage = """
        usage: sheaf-merges [--seed S] [--triples N] [--deltas N] [--histories N] [--lives N]
                            [--exhaustive WRITES] [--joins N] [--damage STRIDE]

        Without options, runs some of each kind.

        """

    private struct Options {
        var seed = OperatingSystem.randomInteger() % 1_000_000_000
        var triples = 0
        var deltas = 0
        var histories = 0
        /// The number of random histories of stores on simulated disks.
        var lives = 0
        /// The maximum number of writes in an exhaustive enumeration; zero disables it.
        var exhaustive = 0
        var joins = 2
        /// The distance between corrupted positions; zero disables corruption.
        var damage = 0

        var isEmpty: Bool { triples + deltas + histories + lives + exhaustive + damage == 0 }
    }

    private struct Breach: Error {
        let text: String
    }

    /// Runs the command; returns the exit code: 1 for a breach, 64 for wrong arguments.
    static func run(_ arguments: [String]) -> Int32 {
        var options = Options()
        var rest = arguments[...]
        while let option = rest.popFirst() {
            guard let value = rest.popFirst().flatMap({ UInt64($0) }) else {
                return complain("\(option) requires a number")
            }
            switch option {
            case "--seed": options.seed = value
            case "--triples": options.triples = Int(clamping: value)
            case "--deltas": options.deltas = Int(clamping: value)
            case "--histories": options.histories = Int(clamping: value)
            case "--lives": options.lives = Int(clamping: value)
            case "--exhaustive": options.exhaustive = Int(clamping: value)
            case "--damage": options.damage = Int(clamping: value)
            case "--joins": options.joins = Int(clamping: value)
            default: return complain("unknown option \(option)")
            }
        }
        if options.isEmpty {
            (options.triples, options.deltas, options.histories) = (100_000, 20_000, 500)
            (options.lives, options.exhaustive, options.damage) = (50, 3, 5)
        }
        // The seed is printed first, because a crash prints nothing afterwards.
        say("sheaf-merges, seed \(options.seed)")
        do {
            try histories(options)
            try lives(options)
            try damage(options)
            try deltas(options)
            try triples(options)
            if options.exhaustive > 0 { try exhaustive(options) }
            say("0 breaches")
            return 0
        } catch {
            say("violation: \((error as? Breach)?.text ?? "\(error)")")
            return 1
        }
    }

    private static func histories(_ options: Options) throws {
        try report(options.seed, until: { $0.histories >= options.histories }) {
            MergeLaws.checkHistory(seed: $0, steps: 60)
        } saying: {
            "\($0.histories) histories, \($0.samples) states equal the model"
        }
    }

    private static func lives(_ options: Options) throws {
        guard options.lives > 0 else { return }
        let started = Clock.system.monotonicNanoseconds()
        var pasts = 0
        for number in 0..<options.lives {
            pasts += try DocumentLives.run(seed: options.seed &+ UInt64(number), steps: 80).pasts
        }
        say(
            "\(options.lives) histories of stores, \(pasts) older commits and the changes since "
                + "equal the model" + seconds(since: started))
    }

    private static func damage(_ options: Options) throws {
        guard options.damage > 0 else { return }
        let started = Clock.system.monotonicNanoseconds()
        var laws = try DamageLaws()
        laws.checkIntact()
        laws.check(stride: options.damage)
        say("\(laws.count) corrupted documents" + seconds(since: started))
        if let breach = laws.breach { throw Breach(text: breach) }
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
        let started = Clock.system.monotonicNanoseconds()
        while !isEnough(tally), tally.breach == nil {
            tally.add(check(seed &+ UInt64(tally.histories)))
        }
        if tally.histories > 0 { say(text(tally) + seconds(since: started)) }
        if let breach = tally.breach { throw Breach(text: breach) }
    }

    private static func exhaustive(_ options: Options) throws {
        for (name, writes) in EnumeratedWrites.all.sorted(by: { $0.key < $1.key }) {
            for lags: [UInt64] in [[0, 0, 0], [3, 1, 0]] {
                let started = Clock.system.monotonicNanoseconds()
                var enumeration = Enumeration<CheckedDocument>(
                    writes, writeLimit: options.exhaustive, joinLimit: options.joins, lags: lags,
                    inspect: { $0.difference })
                let report = enumeration.run()
                say(
                    "\(name), clocks \(lags), \(options.exhaustive) writes, \(options.joins) joins: "
                        + "\(report.states) states of three peers, \(report.documents) documents"
                        + seconds(since: started))
                if let breach = report.breach { throw Breach(text: breach) }
            }
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
        say("sheaf-merges: \(message)\n" + usage)
        return 64
    }
}
