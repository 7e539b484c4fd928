package import SheafStorage
import Synchronization

/// The vectors of `format-spec/vectors`: named bytes and numbers that every implementation shares.
///
/// `format-spec/README.md` describes the lines of a vector file.
package struct FormatVectors: Sendable {
    /// An invalid line of a vector file, or a missing name, with line 0.
    package struct SyntaxError: Error {
        package let file: String
        package let line: Int
        package let reason: String
    }

    package let file: String
    private var bytes: [String: [UInt8]] = [:]
    private var numbers: [String: UInt64] = [:]
    /// All names, in file order.
    package private(set) var names: [String] = []
    /// The first component of each name, in file order.
    package private(set) var cases: [String] = []

    /// The files that were read; each test of a suite needs its file again.
    private static let known = Mutex<[String: FormatVectors]>([:])

    /// Returns the path of the directory of vectors.
    package static func directory(_ path: String = #filePath) -> String {
        let root = path.split(separator: "/", omittingEmptySubsequences: false).dropLast(3)
        return root.joined(separator: "/") + "/format-spec/vectors"
    }

    /// Reads a vector file; its name may contain a folder.
    package init(_ file: String) throws {
        if let known = Self.known.withLock({ $0[file] }) {
            self = known
            return
        }
        let parts = file.split(separator: "/")
        let folder = ([Self.directory()] + parts.dropLast().map(String.init))
            .joined(separator: "/")
        let volume = try PosixVolume(path: folder, creatingDirectory: false)
        try self.init(volume.bytes(of: parts.last.map(String.init) ?? ""), file: file)
        let read = self
        Self.known.withLock { $0[file] = read }
    }

    /// Parses the text of a vector file.
    package init(_ text: [UInt8], file: String) throws {
        self.file = file
        var current: String?
        let lines = String(decoding: text, as: UTF8.self).split(
            separator: "\n", omittingEmptySubsequences: false)
        for (index, line) in lines.enumerated() {
            do throws(VectorSyntax.Refusal) {
                try read(line, &current)
            } catch {
                throw SyntaxError(file: file, line: index + 1, reason: error.reason)
            }
        }
    }

    /// Returns the bytes called `name`.
    package func bytes(_ name: String) throws -> [UInt8] {
        guard let found = bytes[name] else {
            throw SyntaxError(file: file, line: 0, reason: "missing bytes: \(name)")
        }
        return found
    }

    /// Returns the bytes called `name`, decoded as UTF-8.
    package func text(_ name: String) throws -> String {
        String(decoding: try bytes(name), as: UTF8.self)
    }

    /// Returns the number called `name`.
    package func number(_ name: String) throws -> UInt64 {
        guard let found = numbers[name] else {
            throw SyntaxError(file: file, line: 0, reason: "missing number: \(name)")
        }
        return found
    }

    /// Returns the number called `name`, clamped to `Int`.
    package func integer(_ name: String) throws -> Int { Int(clamping: try number(name)) }

    /// Whether bytes or a number have this name.
    package func has(_ name: String) -> Bool { bytes[name] != nil || numbers[name] != nil }

    /// Calls `body` with the bytes `case.name` of each case that has them; throws if none has.
    package func forEach(
        _ name: String, _ body: (_ case: String, [UInt8]) throws -> Void
    ) throws {
        let known = cases.filter { has("\($0).\(name)") }
        guard !known.isEmpty else {
            throw SyntaxError(file: file, line: 0, reason: "no case has \(name)")
        }
        for start in known { try body(start, bytes("\(start).\(name)")) }
    }

    private mutating func read(
        _ line: Substring, _ current: inout String?
    ) throws(VectorSyntax.Refusal) {
        let tokens = try VectorSyntax.tokens(of: line)
        guard let first = tokens.first else { return }
        if line.first == " " {
            guard let name = current else {
                throw VectorSyntax.Refusal(reason: "continuation line without a preceding name")
            }
            for token in tokens { bytes[name, default: []] += try VectorSyntax.bytes(of: token) }
            return
        }
        if first.hasSuffix(":") {
            let name = String(first.dropLast())
            try record(name)
            current = name
            bytes[name] = []
            for token in tokens.dropFirst() {
                bytes[name, default: []] += try VectorSyntax.bytes(of: token)
            }
            return
        }
        guard tokens.count == 3, tokens[1] == "=", let number = VectorSyntax.number(tokens[2])
        else {
            throw VectorSyntax.Refusal(reason: "expected NAME: BYTES or NAME = NUMBER")
        }
        try record(first)
        current = nil
        numbers[first] = number
    }

    private mutating func record(_ name: String) throws(VectorSyntax.Refusal) {
        guard !has(name) else { throw VectorSyntax.Refusal(reason: "duplicate name: \(name)") }
        names.append(name)
        let start = String(name.prefix { $0 != "." })
        if cases.last != start { cases.append(start) }
    }
}

/// The tokens of a line in a vector file.
enum VectorSyntax {
    struct Refusal: Error { let reason: String }

    /// Maximum length of a repeated byte.
    private static let maximumRun = 1 << 24

    /// Returns the tokens of a line up to its comment; a quoted text is one token.
    static func tokens(of line: Substring) throws(Refusal) -> [String] {
        var tokens: [String] = []
        var word = ""
        var isQuoted = false
        for character in line {
            if character == "\"" { isQuoted.toggle() }
            if !isQuoted, character == "#" { break }
            guard !isQuoted, character == " " else {
                word.append(character)
                continue
            }
            if !word.isEmpty { tokens.append(word) }
            word = ""
        }
        guard !isQuoted else { throw Refusal(reason: "unterminated quote") }
        if !word.isEmpty { tokens.append(word) }
        return tokens
    }

    /// Returns a decimal number, or a log position written as `segment:offset`.
    static func number(_ token: String) -> UInt64? {
        let halves = token.split(separator: ":", omittingEmptySubsequences: false)
        guard halves.count == 2 else { return UInt64(token) }
        guard let segment = UInt32(halves[0]), let offset = UInt32(halves[1]) else { return nil }
        return UInt64(segment) << 32 | UInt64(offset)
    }

    /// Returns the bytes of a token: quoted text, hexadecimal digits, or a repeated byte.
    static func bytes(of token: String) throws(Refusal) -> [UInt8] {
        if token.count >= 2, token.hasPrefix("\""), token.hasSuffix("\"") {
            return Array(token.dropFirst().dropLast().utf8)
        }
        let halves = token.split(separator: "*", omittingEmptySubsequences: false)
        let digits = halves[0]
        guard digits.utf8.count % 2 == 0, !digits.isEmpty else {
            throw Refusal(reason: "invalid hexadecimal bytes: \(token)")
        }
        var bytes: [UInt8] = []
        var rest = digits[...]
        while !rest.isEmpty {
            guard let byte = UInt8(rest.prefix(2), radix: 16) else {
                throw Refusal(reason: "invalid hexadecimal bytes: \(token)")
            }
            bytes.append(byte)
            rest = rest.dropFirst(2)
        }
        guard halves.count > 1 else { return bytes }
        guard halves.count == 2, bytes.count == 1, let count = Int(halves[1]),
            0...maximumRun ~= count
        else { throw Refusal(reason: "invalid repeated byte: \(token)") }
        return [UInt8](repeating: bytes[0], count: count)
    }
}

extension PosixVolume {
    /// Returns all bytes of a small file.
    package func bytes(of name: String) throws(VolumeError) -> [UInt8] {
        let file = try open(name, .read)
        defer { file.close() }
        return try file.readAll(limit: 16 << 20)
    }
}
