import SheafTestSupport
import Testing

/// A connection to a server on this machine, for requests that no correct client sends.
///
/// A server that refuses the connection or does not answer is an issue of the test; the connection
/// has no further bytes then.
final class RawClient {
    /// The connection; nil once the server has refused it or has not answered.
    private var connection: LoopbackConnection?
    /// Received bytes that no response has used.
    private var received: [UInt8] = []

    /// Connects to a port of 127.0.0.1.
    init(port: UInt16) {
        do throws(LoopbackConnection.Failure) {
            connection = try LoopbackConnection(port: port)
        } catch {
            Issue.record(error, "The inspector accepts no connection.")
        }
    }

    /// Sends bytes; returns false if the server has closed the connection.
    @discardableResult
    func send(_ bytes: [UInt8]) -> Bool { connection?.send(bytes) ?? false }

    /// Sends a text.
    @discardableResult
    func send(_ text: String) -> Bool { send(Array(text.utf8)) }

    /// Returns the next line without its end; nil at the end of the connection.
    func line() -> String? {
        while true {
            if let end = received.firstIndex(of: 0x0A) {
                defer { received.removeFirst(end + 1) }
                var line = received[..<end]
                if line.last == 0x0D { line.removeLast() }
                return String(decoding: line, as: UTF8.self)
            }
            guard receive() else { return nil }
        }
    }

    /// Returns the next bytes; nil if the connection ends before.
    func bytes(_ count: Int) -> [UInt8]? {
        while received.count < count { guard receive() else { return nil } }
        defer { received.removeFirst(count) }
        return Array(received[..<count])
    }

    /// Whether the server has closed the connection, after bytes that are discarded.
    var isAtEnd: Bool {
        while receive() { received = [] }
        return connection != nil
    }

    /// Whether nothing was received that has not been read, not even the end of the connection.
    var isQuiet: Bool { received.isEmpty && connection?.isQuiet == true }

    private func receive() -> Bool {
        do throws(LoopbackConnection.Failure) {
            guard let part = try connection?.receive(), !part.isEmpty else { return false }
            received += part
            return true
        } catch {
            Issue.record(error, "The inspector did not answer.")
            connection = nil
            return false
        }
    }
}

/// A response of the server.
struct RawResponse {
    let status: Int
    /// The fields with names in lower case.
    let header: [String: String]
    let body: [UInt8]

    var text: String { String(decoding: body, as: UTF8.self) }

    /// Reads a complete response; nil if the connection ends before.
    init?(from client: RawClient) {
        guard let head = RawHead(from: client) else { return nil }
        (status, header) = (head.status, head.header)
        if let length = header["content-length"].flatMap({ Int($0) }) {
            guard let bytes = client.bytes(length) else { return nil }
            body = bytes
        } else {
            body = []
        }
    }
}

/// The status and the header of a response.
struct RawHead {
    let status: Int
    let header: [String: String]

    init?(from client: RawClient) {
        guard let start = client.line()?.split(separator: " "), start.count > 1,
            let status = Int(start[1])
        else { return nil }
        self.status = status
        var header: [String: String] = [:]
        while let line = client.line(), !line.isEmpty {
            guard let colon = line.firstIndex(of: ":") else { continue }
            let value = line[line.index(after: colon)...].drop { $0 == " " }
            header[line[..<colon].lowercased()] = String(value)
        }
        self.header = header
    }
}
