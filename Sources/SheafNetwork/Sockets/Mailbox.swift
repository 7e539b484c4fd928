import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// What other threads ask of the loop, and how they wake it.
final class Mailbox: Sendable {
    enum Letter: Sendable {
        /// A connection has something to send, or is to end.
        case flush(connection: UInt64)
        case add(NetworkAddress)
        case remove(NetworkAddress)
        case resolved(dialer: UInt64, Result<[SocketAddress], NetworkError>)
        /// The clock has moved.
        case look
        case stop
    }

    private struct State {
        var letters: [Letter] = []
        var isWaiting = false
        var isOpen = true
    }

    private let state = Mutex(State())
    /// Readable when somebody has knocked.
    let readEnd: Int32
    private let writeEnd: Int32

    init() throws(NetworkError) {
        var ends: [Int32] = [0, 0]
        guard pipe(&ends) == 0 else {
            throw NetworkError(.system, "the system has no pipe: \(systemMessage())")
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

    /// Leaves a letter; dropped where nobody reads any more.
    func post(_ letter: Letter) {
        state.withLock { state in
            guard state.isOpen else { return }
            state.letters.append(letter)
            knock(&state)
        }
    }

    /// All letters so far.
    func take() -> [Letter] {
        state.withLock { state in
            state.isWaiting = false
            let letters = state.letters
            state.letters.removeAll(keepingCapacity: true)
            return letters
        }
    }

    /// Says that the loop goes to wait; false if there is a letter already.
    func beginWaiting() -> Bool {
        state.withLock { state in
            state.isWaiting = state.letters.isEmpty
            return state.isWaiting
        }
    }

    /// Empties what the knocking has left.
    func answerKnocks() {
        var bytes = [UInt8](repeating: 0, count: 64)
        while read(readEnd, &bytes, bytes.count) == bytes.count {}
    }

    /// Takes no more letters; whoever still knows the mailbox keeps nothing open with it.
    func close() {
        state.withLock { state in
            guard state.isOpen else { return }
            state.isOpen = false
            state.letters = []
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
        // A pipe that is full wakes as well.
        _ = write(writeEnd, &byte, 1)
    }
}
