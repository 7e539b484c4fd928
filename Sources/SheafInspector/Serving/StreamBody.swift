import Synchronization

/// The body of a response that grows while it is sent, with a limit for its unsent bytes.
package final class StreamBody: Sendable {
    private struct State: Sendable {
        /// The unsent bytes, from `start` on.
        var bytes: [UInt8] = []
        var start = 0
        var isEnded = false
        /// Resumes the connection; nil unless it is suspended until there are bytes.
        var resume: (@Sendable () -> Void)?
    }

    /// Number of unsent bytes above which no more should be written.
    private static let capacity = 256 << 10

    private let state = Mutex(State())
    /// Called when the bytes have been sent, or the connection is closed.
    private let drained: @Sendable () -> Void

    /// Creates an empty body; `drained` is called on the thread of all connections.
    package init(drained: @escaping @Sendable () -> Void) {
        self.drained = drained
    }

    /// Whether there is room for more bytes.
    package var hasRoom: Bool {
        state.withLock { !$0.isEnded && $0.bytes.count - $0.start < Self.capacity }
    }

    /// Whether the body has ended, or its connection.
    package var isEnded: Bool { state.withLock { $0.isEnded } }

    /// Appends bytes.
    package func write(_ bytes: [UInt8]) {
        continueSending { state in
            guard !state.isEnded else { return }
            if state.start == state.bytes.count {
                (state.bytes, state.start) = (bytes, 0)
            } else {
                state.bytes += bytes
            }
        }
    }

    /// Ends the body after the unsent bytes.
    package func end() {
        continueSending { $0.isEnded = true }
    }

    private func continueSending(_ change: (inout State) -> Void) {
        state.withLock { state in
            change(&state)
            // Within the lock: the connection must not be suspended again in between.
            state.resume?()
            state.resume = nil
        }
    }

    /// The next bytes of a body.
    package enum Step {
        case bytes(Int)
        case waiting
        case ended
    }

    /// Copies unsent bytes; without any, calls `suspend`, which returns how to resume.
    package func read(
        into buffer: UnsafeMutableRawBufferPointer, suspend: () -> @Sendable () -> Void
    ) -> Step {
        let (step, isDrained) = state.withLock { state -> (Step, Bool) in
            let count = min(buffer.count, state.bytes.count - state.start)
            guard count > 0 else {
                if state.isEnded { return (.ended, false) }
                state.resume = suspend()
                return (.waiting, false)
            }
            buffer.copyBytes(from: state.bytes[state.start..<state.start + count])
            state.start += count
            guard state.start == state.bytes.count else { return (.bytes(count), false) }
            (state.bytes, state.start) = ([], 0)
            return (.bytes(count), true)
        }
        if isDrained { drained() }
        return step
    }

    /// Discards the unsent bytes, because the connection is closed.
    package func close() {
        state.withLock { $0 = State(isEnded: true) }
        drained()
    }
}
