import SheafTransport
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The queue of events posted to the network loop by other threads; it wakes the loop.
final class Mailbox: Sendable {
    enum Message: Sendable {
        /// Bytes were queued on a connection, or its close was requested.
        case flush(connection: UInt64)
        /// Accepts no more connections.
        case stopAccepting
        /// The host begins or stops the reading from a connection.
        case read(connection: UInt64)
        case add(NetworkAddress)
        case remove(NetworkAddress)
        case discover(PeerDiscovery)
        case propose([PeerKey: [PeerAddress]])
        case resolved(dialer: UInt64, Result<[SocketAddress], NetworkError>)
        /// A simulated clock was advanced.
        case clockAdvanced
        case stop
    }

    private struct State {
        var events: [Message] = []
        var isWaiting = false
        var isOpen = true
    }

    private let state = Mutex(State())
    /// The end of the pipe that the loop polls; readable after a wakeup.
    let readEnd: Int32
    private let writeEnd: Int32

    init() throws(NetworkError) {
        var ends: [Int32] = [0, 0]
        guard pipe(&ends) == 0 else {
            throw NetworkError(.system, "cannot create a pipe: \(systemMessage())")
        }
        for end in ends {
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
        }
        (readEnd, writeEnd) = (ends[0], ends[1])
    }

    deinit {
        close()
    }

    /// Appends an event and wakes the loop if it waits; does nothing after `close()`.
    func post(_ letter: Message) {
        state.withLock { state in
            guard state.isOpen else { return }
            state.events.append(letter)
            knock(&state)
        }
    }

    /// Removes and returns all queued events.
    func drain() -> [Message] {
        state.withLock { state in
            state.isWaiting = false
            let events = state.events
            state.events.removeAll(keepingCapacity: true)
            return events
        }
    }

    /// Marks the loop as waiting unless events are queued; returns whether it may wait.
    func beginWaiting() -> Bool {
        state.withLock { state in
            state.isWaiting = state.events.isEmpty
            return state.isWaiting
        }
    }

    /// Discards the bytes written to the pipe by wakeups.
    func answerKnocks() {
        var bytes = [UInt8](repeating: 0, count: 64)
        while read(readEnd, &bytes, bytes.count) == bytes.count {}
    }

    /// Discards all events and closes the pipe; later events are ignored.
    func close() {
        state.withLock { state in
            guard state.isOpen else { return }
            state.isOpen = false
            state.events = []
            Self.close(readEnd)
            Self.close(writeEnd)
        }
    }

    private static func close(_ descriptor: Int32) {
        #if canImport(Glibc)
            _ = Glibc.close(descriptor)
        #elseif canImport(Musl)
            _ = Musl.close(descriptor)
        #else
            _ = Darwin.close(descriptor)
        #endif
    }

    private func knock(_ state: inout State) {
        guard state.isOpen, state.isWaiting else { return }
        state.isWaiting = false
        var byte: UInt8 = 1
        // If the pipe is full, the write fails, but the pipe is readable and the loop wakes.
        _ = write(writeEnd, &byte, 1)
    }
}
