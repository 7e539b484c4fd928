import SheafBytes
import SheafDocument

/// A command that asks a peer that runs.
enum ControlClient {
    /// Sends a request to the peer on the store at `path`, and hands on each line of its answer.
    static func ask(
        _ request: Object, ofStore path: String, _ body: (String) -> Void
    ) throws(ToolError) {
        let socket = try ControlSocket.connecting(toStore: path)
        guard socket.write(Value.object(request).json) else {
            throw .failed("the peer on \(path.shortened(to: ErrorText.limit)) does not listen")
        }
        var lines = ControlLines(socket)
        while let line = lines.next() {
            switch line.first {
            case "=": body(String(line.dropFirst()))
            case ".": return
            default: throw failure(String(line.dropFirst()))
            }
        }
        throw .failed(
            "the peer on \(path.shortened(to: ErrorText.limit)) has ended before it had answered")
    }

    /// Asks for one object, and gives the line in which it came, too.
    static func object(
        _ request: Object, ofStore path: String
    ) throws(ToolError) -> (Object, line: String) {
        var found: (Object, line: String)?
        try ask(request, ofStore: path) { line in
            if case .object(let object)? = try? Value(json: line) { found = (object, line) }
        }
        guard let found else {
            throw .failed("the peer on \(path.shortened(to: ErrorText.limit)) gave no answer")
        }
        return found
    }

    private static func failure(_ text: String) -> ToolError {
        guard case .object(let object)? = try? Value(json: text),
            case .string(let message)? = object["message"],
            case .integer(let code)? = object["code"]
        else { return .failed("the peer gave an answer that cannot be read") }
        switch ExitCode(rawValue: Int32(truncatingIfNeeded: code)) {
        case .usage: return .usage(message)
        case .damaged: return .damaged(message)
        default: return .failed(message)
        }
    }
}
