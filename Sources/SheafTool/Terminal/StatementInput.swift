import SheafBytes
import SheafDocument
import SheafQuery

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

extension Option {
    /// The option `--arg`, whose values `StatementInput.arguments` parses.
    static let argument = Option(
        name: "arg", value: "NAME=JSON", isRepeatable: true, summary: "set the parameter :NAME")
}

/// The statement and the parameter values on the command line.
enum StatementInput {
    /// Returns the operand itself, or standard input if the operand is `-`.
    static func text(_ operand: String) throws(ToolError) -> String {
        guard operand == "-" else { return operand }
        let limit = QueryLimits.maximumLength
        let bytes = try standardInput(upTo: limit + 1)
        guard bytes.count <= limit else {
            throw .usage("the statement on standard input has more than \(limit) bytes")
        }
        // Invalid UTF-8 is refused: a repaired statement could write unintended data.
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw .usage("the statement on standard input is not valid UTF-8")
        }
        return text
    }

    /// Parses parameter values of the form `color="blue"`.
    static func arguments(_ words: [String]) throws(ToolError) -> [String: Value] {
        var arguments: [String: Value] = [:]
        for word in words {
            let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let name = String(parts[0])
            guard parts.count == 2, !name.isEmpty else {
                throw .usage(
                    "--arg requires NAME=JSON, such as 'color=\"blue\"', not '\(word.shortened)'"
                )
            }
            guard arguments[name] == nil else {
                throw .usage("--arg sets '\(name.shortened)' twice")
            }
            arguments[name] = try value(String(parts[1]), of: name)
        }
        return arguments
    }

    private static func value(_ text: String, of name: String) throws(ToolError) -> Value {
        do throws(JSONError) {
            return try Value(json: text)
        } catch {
            // The usual mistake is that the shell has removed the quotes.
            let isWord = text.utf8.first.map { $0 | 0x20 }.map { (97...122).contains($0) } ?? false
            throw .usage(
                "the value of --arg \(name.shortened) is not valid JSON: \(error)"
                    + (isWord
                        ? "; quote strings for the shell: '\(name.shortened)=\"...\"'" : ""))
        }
    }

    /// Returns at most `limit` bytes of standard input.
    private static func standardInput(upTo limit: Int) throws(ToolError) -> [UInt8] {
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 64 << 10)
        while bytes.count < limit {
            let length = min(piece.count, limit - bytes.count)
            let count = piece.withUnsafeMutableBytes { read(STDIN_FILENO, $0.baseAddress, length) }
            if count == 0 { break }
            guard count > 0 else {
                if errno == EINTR { continue }
                throw .failed("cannot read standard input: \(String(cString: strerror(errno)))")
            }
            bytes += piece.prefix(count)
        }
        return bytes
    }
}
