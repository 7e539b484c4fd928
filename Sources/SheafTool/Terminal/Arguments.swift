import SheafBytes
import SheafQuery

/// An option of a command.
struct Option {
    let name: String
    /// The placeholder of the value in the help; nil for a flag.
    var value: String?
    /// Whether the option may be given several times; otherwise the last value applies.
    var isRepeatable = false
    /// The letter of the short form, such as `c` for `-c`.
    var letter: String?
    /// The values, if there are only a few.
    var words: [String] = []
    let summary: String

    /// The forms of the option on the command line, such as `-c` and `--command`.
    var forms: [String] { (letter.map { ["-" + $0] } ?? []) + ["--" + name] }

    static let json = Option(name: "json", summary: "print one JSON object per line")
    static let help = Option(name: "help", summary: "print this help and exit")
}

/// The parsed operands and options of a command.
struct Arguments {
    private(set) var operands: [String] = []
    private var values: [String: [String]] = [:]
    private var flags: Set<String> = []

    /// Parses `words`; every word after `--` is an operand.
    init(_ words: ArraySlice<String>, options: [Option]) throws(ToolError) {
        var rest = words
        var isEnded = false
        while let word = rest.popFirst() {
            guard !isEnded, word.utf8.first == UInt8(ascii: "-"), word != "-" else {
                operands.append(word)
                continue
            }
            if word == "--" {
                isEnded = true
                continue
            }
            try take(word, &rest, options)
        }
    }

    /// Whether a flag was given.
    func has(_ option: String) -> Bool {
        flags.contains(option)
    }

    /// Returns the value of an option, or nil if it was not given.
    func value(_ option: String) -> String? {
        values[option]?.last
    }

    /// Returns all values of a repeatable option, in order.
    func allValues(_ option: String) -> [String] {
        values[option] ?? []
    }

    /// Returns the value of a numeric option, or nil if it was not given.
    func number(_ option: String) throws(ToolError) -> UInt64? {
        guard let text = value(option) else { return nil }
        return try Self.number(text, of: "--\(option)")
    }

    /// Parses a number; `name` is the option or operand named in the error.
    static func number(_ text: String, of name: String) throws(ToolError) -> UInt64 {
        guard text.utf8.allSatisfy({ (48...57).contains($0) }), let number = UInt64(text) else {
            throw .usage("\(name) must be a non-negative integer, not '\(text.shortened)'")
        }
        return number
    }

    /// Reads an address and a port, such as `127.0.0.1:8080` or `[::1]:0`.
    static func address(
        _ text: String, of option: String
    ) throws(ToolError) -> (String, UInt16) {
        var host = text[...]
        guard let colon = text.lastIndex(of: ":"), colon > text.startIndex,
            let port = UInt16(text[text.index(after: colon)...])
        else {
            throw .usage(
                "\(option) requires an address and a port, such as 127.0.0.1:8080, not "
                    + "'\(text.shortened)'")
        }
        host = text[..<colon]
        if host.hasPrefix("["), host.hasSuffix("]") { host = host.dropFirst().dropLast() }
        return (String(host), port)
    }

    private mutating func take(
        _ word: String, _ rest: inout ArraySlice<String>, _ options: [Option]
    ) throws(ToolError) {
        if word == "-h" {
            flags.insert(Option.help.name)
            return
        }
        if let option = options.first(where: { $0.letter.map { "-" + $0 == word } ?? false }) {
            return try take("--" + option.name, &rest, options)
        }
        let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        let name = String(parts[0].drop { $0 == "-" })
        guard parts[0].hasPrefix("--"), let option = options.first(where: { $0.name == name })
        else {
            throw .usage(
                "unknown option '\(String(parts[0]).shortened)'"
                    + OptionSuggestion.text(for: name, among: options.map(\.name), prefix: "--"))
        }
        guard let placeholder = option.value else {
            guard parts.count == 1 else { throw .usage("option --\(name) takes no value") }
            flags.insert(name)
            return
        }
        guard let value = parts.count == 2 ? String(parts[1]) : rest.popFirst() else {
            throw .usage("option --\(name) requires a value: --\(name) \(placeholder)")
        }
        values[name, default: []].append(value)
    }
}

/// Suggestions for mistyped words.
enum OptionSuggestion {
    /// Returns `; did you mean '...'?`, or an empty text if no word is similar.
    static func text(for word: String, among words: [String], prefix: String = "") -> String {
        guard let near = Suggestion.nearest(to: word, among: words) else { return "" }
        return "; did you mean '\(prefix)\(near)'?"
    }
}
