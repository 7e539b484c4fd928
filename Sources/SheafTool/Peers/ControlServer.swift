import SheafDocument
import SheafStorage

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Answers the commands that ask a peer that runs, each on a thread of its own.
///
/// A command sends one line, which is a JSON object. The answer is `=` and a line of JSON, any number of
/// times, and then `.`, or `!` and a JSON object that says what was wrong.
final class ControlServer: Sendable {
    /// Answers one request, line by line; an answer that nobody reads any more returns false.
    typealias Handler =
        @Sendable (Object, (String) -> Bool) throws(ToolError) -> Void

    private struct State: Sendable {
        var conversations: [Int32: ControlSocket] = [:]
        var isStopping = false
    }

    /// More at a time wait for their turn.
    private static let mostConversations = 16
    /// So long somebody may take to say what he wants, or to read on.
    private static let patienceSeconds = 10
    /// For so long errors are sent to commands when the peer stops.
    private static let lastWordsNanoseconds: UInt64 = 250_000_000

    private let listener: ControlSocket
    private let path: String
    private let handler: Handler
    private let state = Monitor(State())

    /// Begins to listen beside the store at `path`.
    init(forStore path: String, _ handler: @escaping Handler) throws(ToolError) {
        listener = try ControlSocket.listening(forStore: path)
        self.path = ControlSocket.path(ofStore: path)
        self.handler = handler
        do throws(ThreadRefused) {
            _ = try Thread(name: "sheaf-control") { [self] in listen() }
        } catch {
            throw .failed("the system has no room for a thread (error \(error.code))")
        }
    }

    /// Whether the peer is being closed, so that nobody should wait for it.
    var isStopping: Bool { state.withLock(\.isStopping) }

    /// Refuses further commands, and waits for those that are being answered; one that does not read what is
    /// sent to it is cut off.
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
                while: { $0.conversations.count >= Self.mostConversations && !$0.isStopping },
                then: { $0.isStopping })
            guard !isStopping else { return }
            let number = accept(listener.descriptor, nil, nil)
            guard number >= 0 else {
                if errno == EINTR || errno == ECONNABORTED { continue }
                // There is no room for one more: those who are here make some.
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
        guard let line = lines.next() else { return }
        do throws(ToolError) {
            guard case .object(let request)? = try? Value(json: line) else {
                throw .failed("the request is no JSON object")
            }
            try handler(request) { socket.write("=" + $0) }
            _ = socket.write(".")
        } catch {
            let failure: Object = [
                "code": .integer(Int64(error.exitCode.rawValue)), "message": .string(error.message),
            ]
            _ = socket.write("!" + Value.object(failure).json)
        }
    }
}
