import Synchronization

/// The send queue of one connection: filled by any thread, drained by `ConnectionSender`.
package final class OutgoingQueue: Sendable {
    /// The action required from the caller after a change of the queue.
    package enum Demand: Equatable, Sendable {
        case nothing
        /// The caller must wake the loop.
        case attention
    }

    private struct State {
        var chunks: [[UInt8]] = []
        /// The index of the first unsent chunk; `sent` is the number of its bytes already sent.
        var first = 0
        var sent = 0
        var length = 0
        var isClosing = false
        /// The reason passed to `close(because:)`; nil before that, or if none was passed.
        var closeReason: String?
        var isOverfull = false
        var isDead = false
        /// Whether the loop has been woken and has not processed the queue yet.
        var isReported = false

        /// Appends bytes; small ones are appended to the last chunk to avoid an allocation each.
        mutating func add(_ bytes: [UInt8]) {
            length += bytes.count
            if first < chunks.count,
                chunks[chunks.count - 1].count + bytes.count <= OutgoingQueue.smallLength
            {
                chunks[chunks.count - 1] += bytes
            } else {
                chunks.append(bytes)
            }
        }
    }

    private static let smallLength = 4_096

    private let state = Mutex(State())
    private let limit: Int

    package init(limit: Int) {
        self.limit = limit
    }

    /// The number of queued bytes.
    package var length: Int { state.withLock { $0.length } }
    /// Whether the connection closes once the queue is empty.
    package var isClosing: Bool { state.withLock { $0.isClosing } }
    /// The reason passed to `close(because:)`; nil before that, or if none was passed.
    package var closeReason: String? { state.withLock { $0.closeReason } }
    /// Whether the queue is closed and empty.
    package var isFinished: Bool { state.withLock { $0.isClosing && $0.length == 0 } }
    /// Whether an append exceeded the limit.
    package var isOverfull: Bool { state.withLock { $0.isOverfull } }

    /// Appends bytes unless the queue is closed; bytes beyond the limit mark it as overfull.
    package func append(_ bytes: [UInt8]) -> Demand {
        state.withLock { state in
            guard !bytes.isEmpty, !state.isDead, !state.isClosing, !state.isOverfull else {
                return .nothing
            }
            if bytes.count > limit - state.length {
                state.isOverfull = true
            } else {
                state.add(bytes)
            }
            return Self.report(&state)
        }
    }

    /// Refuses further bytes; the connection closes once the queue is empty.
    package func close(because reason: String? = nil) -> Demand {
        state.withLock { state in
            guard !state.isDead, !state.isClosing else { return .nothing }
            (state.isClosing, state.closeReason) = (true, reason)
            return Self.report(&state)
        }
    }

    /// Marks the queue as processed; the next change must wake the loop again.
    package func acknowledge() {
        state.withLock { $0.isReported = false }
    }

    /// Discards all queued and all later bytes; returns the number of queued bytes.
    @discardableResult
    package func die() -> Int {
        state.withLock { state in
            let rest = state.length
            state = State()
            state.isDead = true
            return rest
        }
    }

    /// Replaces all queued bytes, none of which may have been sent.
    package func replaceAll(with bytes: [UInt8]) {
        state.withLock { state in
            state.chunks = [bytes]
            (state.first, state.sent, state.length) = (0, 0, bytes.count)
            state.isOverfull = false
        }
    }

    /// Copies the next unsent bytes, as many as fit into `buffer`; returns their number.
    package func copyNext(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        state.withLock { state in
            var (filled, index, start) = (0, state.first, state.sent)
            while filled < buffer.count, index < state.chunks.count {
                let count = min(state.chunks[index].count - start, buffer.count - filled)
                state.chunks[index].withUnsafeBytes { chunk in
                    UnsafeMutableRawBufferPointer(rebasing: buffer[filled..<filled + count])
                        .copyMemory(
                            from: UnsafeRawBufferPointer(rebasing: chunk[start..<start + count]))
                }
                filled += count
                index += 1
                start = 0
            }
            return filled
        }
    }

    /// Removes bytes that were sent; returns whether that emptied the queue.
    package func advance(by count: Int) -> Bool {
        state.withLock { state in
            guard !state.isDead else { return false }
            state.length -= count
            state.sent += count
            while state.first < state.chunks.count,
                state.sent >= state.chunks[state.first].count
            {
                state.sent -= state.chunks[state.first].count
                state.chunks[state.first] = []
                state.first += 1
            }
            // Sent chunks are removed in groups, since removal moves the remaining ones.
            if state.first == state.chunks.count || state.first >= 1_024 {
                state.chunks.removeFirst(state.first)
                state.first = 0
            }
            return state.length == 0
        }
    }

    private static func report(_ state: inout State) -> Demand {
        defer { state.isReported = true }
        return state.isReported ? .nothing : .attention
    }
}
