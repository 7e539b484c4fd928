import SheafSystem

/// Invalid usage, described in a sentence without its full stop.
struct UsageError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}

/// An option of a verb.
struct CheckOption: Sendable {
    /// The value that must follow the option, with its placeholder in the help.
    package enum Value {
        case none
        case number(String)
        case text(String)
    }

    let name: String
    var value = Value.none
    let summary: String

    static let help = CheckOption(name: "--help", summary: "print this help and exit")
    static let seed = CheckOption.number("--seed", "S", "the seed of the run; random by default")

    /// Creates an option with a number.
    static func number(_ name: String, _ placeholder: String, _ summary: String) -> CheckOption {
        CheckOption(name: name, value: .number(placeholder), summary: summary)
    }

    /// The option and its placeholder.
    var term: String {
        switch value {
        case .none: name
        case .number(let placeholder), .text(let placeholder): "\(name) \(placeholder)"
        }
    }

    /// Whether `word` is the option.
    func isNamed(_ word: String) -> Bool {
        word == name || word == "-h" && name == CheckOption.help.name
    }
}

/// The parsed operands and options of a verb.
struct CheckArguments {
    private(set) var operands: [String] = []
    /// The value of `--seed`, or a random number.
    private(set) var seed = OperatingSystem.randomInteger() % 1_000_000_000
    private var flags: Set<String> = []
    private var numbers: [String: UInt64] = [:]
    private var texts: [String: String] = [:]

    /// Parses the words after the name of the verb.
    init(_ words: ArraySlice<String>, of verb: Verb) throws(UsageError) {
        let options = verb.options + [.help]
        var rest = words
        while let word = rest.popFirst() {
            guard word.hasPrefix("-") else {
                try verb.operands.check(word, after: operands)
                operands.append(word)
                continue
            }
            guard let option = options.first(where: { $0.isNamed(word) }) else {
                let names = options.map(\.name).joined(separator: ", ")
                throw UsageError("unknown option '\(word)'; the options are \(names)")
            }
            switch option.value {
            case .none: flags.insert(option.name)
            case .number:
                guard let value = rest.popFirst().flatMap({ UInt64($0) }) else {
                    throw UsageError("\(option.name) requires a number")
                }
                numbers[option.name] = value
            case .text(let placeholder):
                guard let value = rest.popFirst() else {
                    throw UsageError("\(option.name) requires \(placeholder)")
                }
                texts[option.name] = value
            }
        }
        seed = numbers[CheckOption.seed.name] ?? seed
    }

    /// Whether a flag was given.
    func has(_ option: String) -> Bool { flags.contains(option) }

    /// Returns the text of an option, or nil if it was not given.
    func text(_ option: String) -> String? { texts[option] }

    /// Returns the number of an option, or nil if it was not given.
    func number(_ option: String) -> Int? { numbers[option].map { Int(clamping: $0) } }

    /// Returns the number of an option, or zero if it was not given.
    func count(_ option: String) -> Int { number(option) ?? 0 }
}
