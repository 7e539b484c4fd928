import BenchHarness
import SheafDocument

/// The counters and IDs that the generators of a file share.
struct GeneratorContext {
    var sequenceCount = 0
    /// Collections with generated IDs, and whether these rise.
    var risingIDs: [String: Bool] = [:]
    /// Collections whose IDs are used.
    var uses: [(collection: String, location: WorkloadFileError.Location)] = []
}

/// A recursive-descent parser of one generator: JSON in which functions stand for random values.
struct GeneratorParser {
    private enum Token: Equatable {
        case name(String)
        case string(String)
        case number(Generator.Bound, text: String)
        case symbol(Character)
        case end
    }

    /// Maximum nesting of arrays, objects and calls.
    private static let maximumDepth = 32

    private let value: LocatedText
    private let characters: [Character]
    private let lines: [Substring]
    private var position = 0
    private var token = Token.end
    /// The start of the current token.
    private(set) var tokenStart = 0
    private var depth = 0
    var context: GeneratorContext

    init(_ value: LocatedText, lines: [Substring], _ context: GeneratorContext) {
        self.value = value
        self.lines = lines
        self.context = context
        characters = Array(value.text)
    }

    /// Parses the complete text.
    mutating func parse() throws(WorkloadFileError) -> Generator {
        try advance()
        let generator = try self.generator()
        guard token == .end else { throw expected("the end of the value") }
        return generator
    }

    func error(
        _ message: String, hint: String? = nil, at offset: Int
    ) -> WorkloadFileError {
        WorkloadFileError(message, hint: hint, at: value.location(of: offset), in: lines)
    }

    func location(of offset: Int) -> WorkloadFileError.Location { value.location(of: offset) }

    private func expected(_ what: String) -> WorkloadFileError {
        error("expected \(what), not \(description(of: token))", at: tokenStart)
    }

    private func description(of token: Token) -> String {
        switch token {
        case .name(let name): WorkloadFileError.shortened(name, to: 40)
        case .string: "a text"
        case .number(_, let text): WorkloadFileError.shortened(text, to: 40)
        case .symbol(let character): WorkloadFileError.shortened(String(character))
        case .end: "the end of the value"
        }
    }

    // MARK: Grammar

    private mutating func generator() throws(WorkloadFileError) -> Generator {
        depth += 1
        defer { depth -= 1 }
        guard depth <= Self.maximumDepth else {
            throw error("more than \(Self.maximumDepth) levels of nesting", at: tokenStart)
        }
        switch token {
        case .string(let text):
            try advance()
            return .constant(.string(text))
        case .number(let bound, let text):
            let start = tokenStart
            try advance()
            guard bound.decimals == nil else { return .constant(.float(bound.value)) }
            guard let number = Int64(text) else {
                throw error("the integer has more than 64 bits", at: start)
            }
            return .constant(.integer(number))
        case .symbol("["):
            try advance()
            let elements = try list(until: "]") { (parser) throws(WorkloadFileError) in
                try parser.generator()
            }
            return .array(elements)
        case .symbol("{"):
            try advance()
            return .object(try fields())
        case .name(let name):
            let start = tokenStart
            try advance()
            switch name {
            case "true": return .constant(true)
            case "false": return .constant(false)
            case "null": return .constant(.null)
            default: return try call(name, at: start)
            }
        default: throw expected("a value, such as 5, \"text\", {…} or uniform(1, 100)")
        }
    }

    private mutating func fields() throws(WorkloadFileError) -> [(name: String, value: Generator)] {
        var names: Set<String> = []
        return try list(until: "}") { (parser) throws(WorkloadFileError) in
            let name: String
            switch parser.token {
            case .string(let text), .name(let text): name = text
            default: throw parser.expected("the name of a field")
            }
            guard names.insert(name).inserted else {
                throw parser.error(
                    "the object has two fields \(WorkloadFileError.shortened(name))",
                    at: parser.tokenStart)
            }
            try parser.advance()
            guard parser.token == .symbol(":") else { throw parser.expected("`:`") }
            try parser.advance()
            return (name, try parser.generator())
        }
    }

    /// Parses elements with commas between them, and optionally after the last one.
    private mutating func list<Element>(
        until end: Character,
        _ element: (inout GeneratorParser) throws(WorkloadFileError) -> Element
    ) throws(WorkloadFileError) -> [Element] {
        var elements: [Element] = []
        while token != .symbol(end) {
            elements.append(try element(&self))
            if token == .symbol(",") {
                try advance()
            } else if token != .symbol(end) {
                throw expected("`,` or `\(end)`")
            }
        }
        try advance()
        return elements
    }

    private mutating func call(
        _ name: String, at start: Int
    ) throws(WorkloadFileError) -> Generator {
        guard let function = GeneratorFunction(rawValue: name) else {
            let known = GeneratorFunction.allCases.map(\.rawValue)
            let hint = Nearest.hint(for: name, among: known + ["true", "false", "null"])
            throw error(
                "unknown generator \(WorkloadFileError.shortened(name, to: 40))\(hint)",
                hint: hint.isEmpty ? "generators are \(known.joined(separator: ", "))" : nil,
                at: start)
        }
        var arguments: [GeneratorFunction.Argument] = []
        if token == .symbol("(") {
            try advance()
            arguments = try list(until: ")") { (parser) throws(WorkloadFileError) in
                let start = parser.tokenStart
                if case .number(let bound, _) = parser.token {
                    try parser.advance()
                    let value: Value =
                        bound.decimals == nil && abs(bound.value) < 0x1p53
                        ? .integer(Int64(bound.value)) : .float(bound.value)
                    return .init(generator: .constant(value), bound: bound, offset: start)
                }
                return .init(generator: try parser.generator(), bound: nil, offset: start)
            }
        }
        return try function.generator(arguments, at: start, &self)
    }

    // MARK: Tokens

    private mutating func advance() throws(WorkloadFileError) {
        while position < characters.count, characters[position].isWhitespace { position += 1 }
        tokenStart = position
        guard position < characters.count else {
            token = .end
            return
        }
        let first = characters[position]
        switch first {
        case "[", "]", "{", "}", "(", ")", ",", ":":
            position += 1
            token = .symbol(first)
        case "\"", "'": token = .string(try quoted(by: first))
        case "-", "0"..."9": token = try number()
        case _ where first.isLetter || first == "_":
            var end = position
            while end < characters.count,
                characters[end].isLetter || characters[end].isNumber || characters[end] == "_"
            {
                end += 1
            }
            token = .name(String(characters[position..<end]))
            position = end
        default:
            throw error(
                "unexpected character \(WorkloadFileError.shortened(String(first)))", at: position)
        }
    }

    private mutating func number() throws(WorkloadFileError) -> Token {
        let start = position
        while position < characters.count,
            characters[position].isASCII,
            characters[position].isNumber || characters[position].isLetter
                || "+-._".contains(characters[position])
        {
            position += 1
        }
        let text = String(characters[start..<position].filter { $0 != "_" })
        guard let value = Double(text), value.isFinite, !text.contains("x") else {
            throw error("invalid number \(WorkloadFileError.shortened(text, to: 40))", at: start)
        }
        let fraction = text.firstIndex(of: ".").map { text[$0...].dropFirst() }
        let isInteger = fraction == nil && !text.contains { $0 == "e" || $0 == "E" }
        let decimals = isInteger ? nil : fraction.map { $0.prefix { $0.isNumber }.count } ?? 0
        return .number(.init(value: value, decimals: decimals), text: text)
    }

    private mutating func quoted(by quote: Character) throws(WorkloadFileError) -> String {
        let start = position
        position += 1
        var text = ""
        while position < characters.count, characters[position] != quote {
            guard !characters[position].isNewline else { break }
            guard characters[position] == "\\" else {
                text.append(characters[position])
                position += 1
                continue
            }
            text.append(try escape())
        }
        guard position < characters.count, characters[position] == quote else {
            throw error("the text has no closing \(quote)", at: start)
        }
        position += 1
        return text
    }

    private mutating func escape() throws(WorkloadFileError) -> Character {
        let start = position
        let escapes: [Character: Character] = [
            "n": "\n", "t": "\t", "r": "\r", "b": "\u{8}", "f": "\u{C}", "\\": "\\", "\"": "\"",
            "'": "'", "/": "/",
        ]
        position += 1
        let letter = position < characters.count ? characters[position] : " "
        position += 1
        if letter == "u" {
            let digits = String(characters[min(position, characters.count)...].prefix(4))
            position += digits.count
            if digits.count == 4,
                let scalar = UInt32(digits, radix: 16).flatMap(Unicode.Scalar.init)
            {
                return Character(scalar)
            }
        } else if let character = escapes[letter] {
            return character
        }
        throw error("unknown escape", hint: "write \\\\ for a backslash", at: start)
    }
}
