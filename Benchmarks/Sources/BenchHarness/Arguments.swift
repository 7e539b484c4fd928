/// The command line, read.
package struct Arguments: Equatable {
    /// What a run is to do.
    package enum Action: Equatable {
        case measure, list, help, version
    }

    package var action = Action.measure
    /// Workloads, or cases as `WORKLOAD/CASE`; none means all.
    package var names: [String] = []
    package var isJSON = false
    package var isQuick = false
    package var rounds: Int?
    package var directory: String?
    package var baseline: String?
    /// The share by which a figure may be worse than in the baseline; none never fails.
    package var failOver: Double?

    /// A command line that makes no sense, in a sentence.
    package struct Misuse: Error, Equatable, CustomStringConvertible {
        package let description: String

        /// The sentence, without its full stop.
        package init(_ description: String) {
            self.description = description
        }
    }

    /// More rounds than anybody waits for.
    private static let maximumRounds = 1_000
    private static let options = [
        "--json", "--quick", "--rounds", "--directory", "--baseline", "--fail-over", "--list",
        "--help", "--version",
    ]

    /// Reads the words after the program's name.
    package init(parsing words: [String]) throws(Misuse) {
        var rest = words[...]
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
                    throw Misuse("\(option) needs \(what)")
                }
                return text
            }
            switch option {
            case "--json": isJSON = true
            case "--quick": isQuick = true
            case "--rounds": rounds = try Self.rounds(try value("a number"))
            case "--directory": directory = try value("a path")
            case "--baseline": baseline = try value("a file")
            case "--fail-over": failOver = try Self.share(try value("a percentage"))
            case "--list": action = .list
            case "--help", "-h": action = .help
            case "--version": action = .version
            default:
                let hint = Nearest.hint(for: option, among: Self.options)
                throw Misuse("there is no option \(option)\(hint)")
            }
            guard attached == nil else {
                throw Misuse("\(option) takes no value")
            }
        }
        guard failOver == nil || baseline != nil else {
            throw Misuse("--fail-over compares with a --baseline")
        }
    }

    private static func rounds(_ text: String) throws(Misuse) -> Int {
        guard let rounds = Int(text), (1...maximumRounds).contains(rounds) else {
            throw Misuse(
                "--rounds is a number from 1 to \(maximumRounds), not \(text)")
        }
        return rounds
    }

    private static func share(_ text: String) throws(Misuse) -> Double {
        let digits = text.hasSuffix("%") ? String(text.dropLast()) : text
        guard let percent = Double(digits), percent >= 0, percent < 100 else {
            throw Misuse("--fail-over is a percentage below 100, not \(text)")
        }
        return percent / 100
    }
}
