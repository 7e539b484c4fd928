import BenchHarness
import SheafDocument
import SheafQuery

/// A parser of workload files.
///
/// A file consists of sections, whose keys have values. Indented lines, and lines that begin with a
/// closing bracket, continue the value of the previous line.
package struct WorkloadFileParser {
    /// Maximum size of a file in bytes.
    package static let maximumSize = 1 << 20
    /// Maximum number of setup steps and operations.
    private static let maximumSteps = 1_000

    let lines: [Substring]
    var file: WorkloadFile
    private var section = Section.none
    /// Whether a round has a duration or a number of operations.
    var hasLimit = false
    var context = GeneratorContext()
    /// The keys of the current section, apart from statements and arguments.
    private var keys: Set<String> = []
    /// The position of the header of the current section.
    private var header = WorkloadFileError.Location(line: 1, column: 1)

    private enum Section: Equatable {
        case none, run, setup, mix

        var keys: [String] {
            switch self {
            case .none: []
            case .run:
                [
                    "tasks", "duration", "operations", "warm-up", "rounds", "durability", "rows",
                    "seed",
                ]
            case .setup: ["times", "batch", "statement"]
            case .mix: ["weight", "times", "statement"]
            }
        }
    }

    private init(_ text: String, name: String) {
        lines = text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
        file = WorkloadFile(name: name)
    }

    /// Parses the text of a file; `name` becomes the name of the workload.
    package static func parse(
        _ text: String, name: String
    ) throws(WorkloadFileError) -> WorkloadFile {
        var parser = WorkloadFileParser(text, name: name)
        guard text.utf8.count <= maximumSize else {
            throw parser.error(
                "the file has \(text.utf8.count) bytes; the maximum is \(maximumSize)",
                at: .init(line: 1, column: 1))
        }
        try parser.readLines()
        return parser.file
    }

    func error(
        _ message: String, hint: String? = nil, at location: WorkloadFileError.Location
    ) -> WorkloadFileError {
        WorkloadFileError(message, hint: hint, at: location, in: lines)
    }

    private mutating func readLines() throws(WorkloadFileError) {
        var index = 0
        while index < lines.count {
            let line = lines[index]
            let start = WorkloadFileError.Location(line: index + 1, column: 1)
            index += 1
            guard let first = line.first(where: { !$0.isWhitespace }), first != "#" else {
                continue
            }
            guard let letter = line.first, !letter.isWhitespace, !"}])".contains(letter) else {
                throw error(
                    "this line continues no value",
                    hint: "begin keys and sections in the first column", at: start)
            }
            if letter == "[" {
                try finishSection()
                try begin(line, at: start)
                continue
            }
            guard let equals = line.firstIndex(of: "=") else {
                throw error("expected KEY = VALUE or [SECTION]", at: start)
            }
            let key = trimmed(line[..<equals])
            let rest = line[line.index(after: equals)...]
            let value = rest.drop { $0.isWhitespace }
            let column = line.distance(from: line.startIndex, to: value.startIndex) + 1
            var text = String(value)
            while index < lines.count, continues(lines[index]) {
                text += "\n" + (isComment(lines[index]) ? "" : lines[index])
                index += 1
            }
            while text.last?.isWhitespace ?? false { text.removeLast() }
            try set(
                key, LocatedText(text: text, start: .init(line: start.line, column: column)),
                at: start)
        }
        try finishSection()
        try finish()
    }

    private func continues(_ line: Substring) -> Bool {
        guard let letter = line.first, line.contains(where: { !$0.isWhitespace }) else {
            return false
        }
        return letter.isWhitespace || "}])".contains(letter)
    }

    private func isComment(_ line: Substring) -> Bool {
        line.first { !$0.isWhitespace } == "#"
    }

    private func trimmed(_ text: Substring) -> String {
        var text = text.drop { $0.isWhitespace }
        while text.last?.isWhitespace ?? false { text.removeLast() }
        return String(text)
    }

    // MARK: Sections

    private mutating func begin(
        _ line: Substring, at start: WorkloadFileError.Location
    ) throws(WorkloadFileError) {
        let text = trimmed(line)
        guard text.hasSuffix("]") else {
            throw error("the section has no ]", hint: "write [run] or [mix NAME]", at: start)
        }
        let words = text.dropFirst().dropLast().split(whereSeparator: \.isWhitespace)
        let kind = words.first.map(String.init) ?? ""
        keys = []
        header = start
        switch (kind, words.count) {
        case ("run", 1):
            guard section == .none else {
                throw error("[run] must be the first section, and occur once", at: start)
            }
            section = .run
        case ("setup", 2):
            section = .setup
            file.setup.append(.init(name: try name(words[1], among: file.setup, at: start)))
        case ("mix", 2):
            section = .mix
            file.mix.append(.init(name: try name(words[1], among: file.mix, at: start)))
        case ("setup", _), ("mix", _):
            throw error("expected one name in [\(kind) NAME]", at: start)
        case ("run", _): throw error("[run] has no name", at: start)
        default:
            let hint = Nearest.hint(for: kind, among: ["run", "setup", "mix"])
            throw error(
                "unknown section [\(WorkloadFileError.shortened(kind))]\(hint)",
                hint: hint.isEmpty ? "sections are [run], [setup NAME] and [mix NAME]" : nil,
                at: start)
        }
        guard file.setup.count + file.mix.count <= Self.maximumSteps else {
            throw error("more than \(Self.maximumSteps) sections", at: start)
        }
    }

    private func name(
        _ word: Substring, among steps: [WorkloadFile.Step], at start: WorkloadFileError.Location
    ) throws(WorkloadFileError) -> String {
        let isValid = word.utf8.allSatisfy {
            (0x61...0x7A).contains($0) || (0x30...0x39).contains($0) || $0 == 0x2D
        }
        guard isValid, word.count <= 40, word != "all" else {
            throw error(
                "invalid name \(WorkloadFileError.shortened(word))",
                hint: "use lower-case letters, digits and -, at most 40; `all` is reserved",
                at: start)
        }
        guard !steps.contains(where: { $0.name == word }) else {
            throw error("a second section of this kind has the name \(word)", at: start)
        }
        return String(word)
    }

    /// Checks the step of the section that ends.
    private mutating func finishSection() throws(WorkloadFileError) {
        guard section == .setup || section == .mix,
            let step = section == .setup ? file.setup.last : file.mix.last
        else { return }
        guard !step.statements.isEmpty else {
            throw error("the section has no statement", hint: "add statement = …", at: header)
        }
        let used = Set(step.statements.flatMap(\.parameters))
        let known = Set(step.arguments.map(\.name))
        if let name = used.subtracting(known).min() {
            throw error(
                "the statement uses :\(name), which has no generator",
                hint: "add a line such as :\(name) = uniform(1, 100)", at: header)
        }
        if let name = known.subtracting(used).min() {
            throw error(
                "no statement of the section uses :\(name)", hint: "use it, or remove it",
                at: header)
        }
    }

    private mutating func finish() throws(WorkloadFileError) {
        guard !file.mix.isEmpty else {
            throw error(
                "the file has no operation to measure", hint: "add a section [mix NAME]",
                at: .init(line: max(1, lines.count), column: 1))
        }
        if let use = context.uses.first(where: { context.risingIDs[$0.collection] == nil }) {
            throw error(
                "no document of the file has new_id(\"\(use.collection)\")",
                hint: "use it as the _id of inserted documents", at: use.location)
        }
        file.sequenceCount = context.sequenceCount
        file.risingIDs = context.risingIDs
    }

    // MARK: Keys

    private mutating func set(
        _ key: String, _ value: LocatedText, at start: WorkloadFileError.Location
    ) throws(WorkloadFileError) {
        guard section != .none else {
            throw error(
                "this key precedes all sections", hint: "begin with [run] or [setup NAME]",
                at: start)
        }
        if key.hasPrefix(":"), section != .run {
            return try setArgument(String(key.dropFirst()), value, at: start)
        }
        guard section.keys.contains(key) else {
            let hint = Nearest.hint(for: key, among: section.keys)
            let known = section.keys + (section == .run ? [] : [":ARGUMENT"])
            throw error(
                "unknown key \(WorkloadFileError.shortened(key))\(hint)",
                hint: hint.isEmpty ? "keys here are \(known.joined(separator: ", "))" : nil,
                at: start)
        }
        guard !value.text.isEmpty else {
            throw error("\(key) has no value", at: value.start)
        }
        guard key == "statement" || keys.insert(key).inserted else {
            throw error("\(key) is set twice", at: start)
        }
        guard section != .run else { return try setRun(key, value) }
        var step = section == .setup ? file.setup.removeLast() : file.mix.removeLast()
        switch key {
        case "statement": step.statements.append(try statement(value))
        case "times": step.times = try integer(key, value, 1...1_000_000_000)
        case "batch": step.batch = try integer(key, value, 1...1_000_000)
        default: step.weight = try weight(value)
        }
        if section == .setup { file.setup.append(step) } else { file.mix.append(step) }
    }

    private mutating func setArgument(
        _ name: String, _ value: LocatedText, at start: WorkloadFileError.Location
    ) throws(WorkloadFileError) {
        let isName =
            name.utf8.first.map { !(0x30...0x39).contains($0) } ?? false
            && name.unicodeScalars.allSatisfy {
                $0 == "_" || ($0.isASCII && $0.properties.isAlphabetic)
                    || ("0"..."9").contains($0)
            }
        guard isName else {
            throw error(
                "invalid argument :\(WorkloadFileError.shortened(name))",
                hint: "use letters, digits and _, as in the statement", at: start)
        }
        var step = section == .setup ? file.setup.removeLast() : file.mix.removeLast()
        guard !step.arguments.contains(where: { $0.name == name }) else {
            throw error(":\(name) is set twice", at: start)
        }
        var parser = GeneratorParser(value, lines: lines, context)
        let generator = try parser.parse()
        if case .maybe = generator {
            throw error(
                "an argument cannot be left out", hint: "use maybe within an object or array",
                at: value.start)
        }
        step.arguments.append((name, generator))
        context = parser.context
        if section == .setup { file.setup.append(step) } else { file.mix.append(step) }
    }

    private func statement(_ value: LocatedText) throws(WorkloadFileError) -> Statement {
        do {
            let statement = try Parser.parse(value.text)
            switch statement.body {
            case .select, .insert, .update, .delete, .createIndex, .dropIndex: return statement
            default:
                throw error(
                    "this statement is not measured",
                    hint: "write SELECT, INSERT, UPDATE, DELETE, EVICT or CREATE INDEX",
                    at: value.start)
            }
        } catch let failure as StoreError {
            let location = failure.location.map { value.location(line: $0.line, column: $0.column) }
            throw error(failure.message, hint: failure.hint, at: location ?? value.start)
        } catch let failure as WorkloadFileError {
            throw failure
        } catch {
            throw self.error("\(error)", at: value.start)
        }
    }
}
