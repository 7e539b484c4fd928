import SheafBytes
import SheafDocument

/// The client side of the control socket of a running peer.
enum ControlClient {
    /// Sends a request to the peer on the store at `path`; calls `body` with each response line.
    ///
    /// Calls `note` with each note.
    static func send(
        _ request: Object, ofStore path: String, note: (String) -> Void = { _ in },
        _ body: (String) -> Void
    ) throws(ToolError) {
        let socket = try ControlSocket.connecting(toStore: path)
        // A peer that stops sends its error even if it has not read the whole request.
        _ = socket.write(Value.object(request).json)
        var lines = ControlLines(socket)
        while let line = lines.next() {
            switch line.first {
            case "=": body(String(line.dropFirst()))
            case "#": note(String(line.dropFirst()))
            case ".": return
            default: throw failure(String(line.dropFirst()))
            }
        }
        throw .failed(
            "the peer on \(path.shortened(to: ErrorText.limit)) stopped before it had responded")
    }

    /// Requests one object; also returns the line that contained it.
    static func object(
        _ request: Object, ofStore path: String
    ) throws(ToolError) -> (Object, line: String) {
        var found: (Object, line: String)?
        try send(request, ofStore: path) { line in
            if case .object(let object)? = try? Value(json: line) { found = (object, line) }
        }
        guard let found else {
            throw .failed("the peer on \(path.shortened(to: ErrorText.limit)) sent no response")
        }
        return found
    }

    /// Returns the error that a response describes.
    static func failure(_ text: String) -> ToolError {
        guard case .object(let object)? = try? Value(json: text),
            case .string(let message)? = object["message"],
            case .integer(let code)? = object["code"]
        else { return .failed("the peer sent an invalid response") }
        switch ExitCode(rawValue: Int32(truncatingIfNeeded: code)) {
        case .usage: return .usage(message)
        case .damaged: return .damaged(message)
        default: return .failed(message)
        }
    }
}
