/// The parsed command line.
package struct BenchmarkArguments: Equatable {
    /// The action of a run.
    package enum Action: Equatable {
        case measure, check, list, chart, table, help, version
    }

    package var action = Action.measure
    /// Workloads, or cases as `WORKLOAD/CASE`; empty means all.
    package var names: [String] = []
    /// The workload file of `run FILE`.
    package var file: String?
    package var isJSON = false
    /// The directory for charts of the figures.
    package var plot: String?
    /// Whether the rounds of the engine are profiled.
    package var isProfiled = false
    package var isQuick = false
    /// Whether the times of the single queries of a case are printed.
    package var showsQueries = false
    package var rounds: Int?
    package var directory: String?
    /// The JSON lines of an earlier run, which are drawn instead of measuring.
    package var results: String?
    package var baseline: String?
    /// The accepted loss against the baseline, as a fraction; nil accepts any loss.
    package var failOver: Double?

    /// Invalid usage, described in a sentence.
    package struct Misuse: Error, Equatable, CustomStringConvertible {
        package let description: String

        /// Creates an error from a sentence without its full stop.
        package init(_ description: String) {
            self.description = description
        }
    }

    /// The maximum number of rounds.
    private static let maximumRounds = 1_000
    private static let options = [
        "--json", "--quick", "--queries", "--rounds", "--directory", "--baseline", "--fail-over",
        "--list",
        "--published", "--chart", "--table", "--plot", "--profile", "--check", "--help",
        "--version",
    ]

    /// Parses the arguments after the program name.
    package init(parsing words: [String]) throws(Misuse) {
        let isRun = words.first == "run"
        var rest = words[(isRun ? 1 : 0)...]
        while let word = rest.popFirst() {
            guard word.hasPrefix("-") else {
                names.append(word)
                continue
            }
            let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let option = String(parts[0])
            var attached = parts.count == 2 ? String(parts[1]) : nil
            func value(_ what: String) throws(Misuse) -> String {
                if let text = attached {
                    attached = nil
                    return text
                }
                guard let text = rest.popFirst() else {
                    throw Misuse("\(option) requires \(what)")
                }
                return text
            }
            switch option {
            case "--json": isJSON = true
            case "--quick": isQuick = true
            case "--queries": showsQueries = true
            case "--rounds": rounds = try Self.rounds(try value("a number"))
            case "--directory": directory = try value("a path")
            case "--baseline": baseline = try value("a file")
            case "--fail-over": failOver = try Self.share(try value("a percentage"))
            case "--plot": plot = try value("a directory")
            case "--profile": isProfiled = true
            case "--check": action = .check
            case "--published": names += PublishedGroup.all.flatMap(\.rows).map(\.path)
            case "--list": action = .list
            case "--chart": (action, results) = (.chart, try value("a file"))
            case "--table": (action, results) = (.table, try value("a file"))
            case "--help", "-h": action = .help
            case "--version": action = .version
            default:
                let hint = Nearest.hint(for: option, among: Self.options)
                throw Misuse("unknown option \(option)\(hint)")
            }
            guard attached == nil else {
                throw Misuse("\(option) takes no value")
            }
        }
        // The help and the version need no other arguments.
        if action == .help || action == .version { return }
        try checkCombination(isRun: isRun)
    }

    /// Takes the workload file of `run`, and refuses options that exclude each other.
    private mutating func checkCombination(isRun: Bool) throws(Misuse) {
        if isRun {
            guard names.count == 1 else {
                throw Misuse("run requires one workload file, not \(names.count)")
            }
            file = names.removeLast()
        }
        guard action != .check || isRun else { throw Misuse("--check requires run FILE") }
        guard !isProfiled || baseline == nil else {
            throw Misuse("--profile slows the rounds down, so they cannot have a --baseline")
        }
        guard failOver == nil || baseline != nil else {
            throw Misuse("--fail-over requires --baseline FILE")
        }
    }

    private static func rounds(_ text: String) throws(Misuse) -> Int {
        guard let rounds = Int(text), (1...maximumRounds).contains(rounds) else {
            throw Misuse(
                "--rounds must be 1 to \(maximumRounds), not \(text)")
        }
        return rounds
    }

    private static func share(_ text: String) throws(Misuse) -> Double {
        let digits = text.hasSuffix("%") ? String(text.dropLast()) : text
        guard let percent = Double(digits), percent >= 0, percent < 100 else {
            throw Misuse("--fail-over must be a percentage below 100, not \(text)")
        }
        return percent / 100
    }
}
