import SheafDocument
import SheafStorage
import SheafSystem

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The server side of the control socket of a running peer; each request has its own thread.
///
/// A request is one line with a JSON object. The response is any number of lines with `=` and JSON,
/// and with `#` and a note, then a line with `.`, or with `!` and a JSON object that describes the
/// error.
final class ControlServer: Sendable {
    /// A handler of a request.
    typealias Handler = @Sendable (Object, ControlResponse) throws(ToolError) -> Void

    private struct State: Sendable {
        var conversations: [Int32: ControlSocket] = [:]
        var isStopping = false
    }

    /// Maximum number of concurrent requests; further ones wait.
    private static let maximumConnections = 16
    /// Time that a client has to send its request, and to receive each part of the response.
    private static let patienceSeconds = 10
    /// Time for sending the remaining errors to clients when the peer stops.
    private static let lastWordsNanoseconds: UInt64 = 250_000_000

    private let listener: ControlSocket
    private let path: String
    private let handler: Handler
    private let state = Monitor(State())

    /// Starts listening on the control socket of the store at `path`.
    init(forStore path: String, _ handler: @escaping Handler) throws(ToolError) {
        listener = try ControlSocket.listening(forStore: path)
        self.path = ControlSocket.path(ofStore: path)
        self.handler = handler
        do throws(ThreadRefused) {
            _ = try Thread(name: "sheaf-control") { [self] in listen() }
        } catch {
            throw .failed("cannot create a thread (error \(error.code))")
        }
    }

    /// Refuses new requests and waits for the current ones; disconnects clients that do not read.
    func stop() {
        unlink(path)
        let conversations = state.withLock { state in
            state.isStopping = true
            return Array(state.conversations.values)
        }
        state.broadcast()
        listener.end()
        for conversation in conversations { conversation.endReading() }
        let deadline = Clock.system.monotonicNanoseconds() + Self.lastWordsNanoseconds
        state.wait(until: deadline) { !$0.conversations.isEmpty }
        for conversation in conversations { conversation.end() }
        state.wait { !$0.conversations.isEmpty }
    }

    private func listen() {
        while true {
            let isStopping = state.wait(
                while: { $0.conversations.count >= Self.maximumConnections && !$0.isStopping },
                then: { $0.isStopping })
            guard !isStopping else { return }
            let number = accept(listener.descriptor, nil, nil)
            guard number >= 0 else {
                if errno == EINTR || errno == ECONNABORTED { continue }
                // Probably no descriptor is free, so the thread tries again after a second.
                guard !state.wait(until: Self.deadline(seconds: 1), while: { !$0.isStopping })
                else { return }
                continue
            }
            begin(ControlSocket(number))
        }
    }

    private static func deadline(seconds: UInt64) -> UInt64 {
        Clock.system.monotonicNanoseconds() + seconds * 1_000_000_000
    }

    private func begin(_ socket: ControlSocket) {
        socket.setPatience(seconds: Self.patienceSeconds)
        let begins = state.withLock { state in
            guard !state.isStopping else { return false }
            state.conversations[socket.descriptor] = socket
            return true
        }
        guard begins else { return }
        do throws(ThreadRefused) {
            _ = try Thread(name: "sheaf-answer") { [self] in
                answer(socket)
                end(socket)
            }
        } catch {
            end(socket)
        }
    }

    private func end(_ socket: ControlSocket) {
        socket.end()
        state.withLock { $0.conversations[socket.descriptor] = nil }
        state.broadcast()
    }

    private func answer(_ socket: ControlSocket) {
        var lines = ControlLines(socket)
        do throws(ToolError) {
            guard let line = lines.next() else {
                guard state.withLock({ $0.isStopping }) else { return }
                throw .failed("the peer is stopping")
            }
            guard case .object(let request)? = try? Value(json: line) else {
                throw .failed("the request is not a JSON object")
            }
            try handler(request, ControlResponse(socket))
            _ = socket.write(".")
        } catch {
            let failure: Object = [
                "code": .integer(Int64(error.exitCode.rawValue)), "message": .string(error.message),
            ]
            _ = socket.write("!" + Value.object(failure).json)
        }
    }
}

/// The response to a request, whose functions return whether the client is still connected.
struct ControlResponse {
    private let socket: ControlSocket

    init(_ socket: ControlSocket) {
        self.socket = socket
    }

    /// Sends a line of JSON.
    func write(_ line: String) -> Bool { socket.write("=" + line) }

    /// Sends a note.
    func note(_ text: String) -> Bool { socket.write("#" + text) }

    /// Blocks until the client has ended its connection, or the server is stopping.
    func waitForEnd() {
        socket.waitForEnd()
    }
}
