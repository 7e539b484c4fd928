import Synchronization

/// What waits to be sent on one connection: filled by any thread, emptied by the loop.
final class OutgoingQueue: Sendable {
    /// What has to be done about what was asked for.
    enum Demand: Equatable {
        case nothing
        /// The loop has to be told.
        case attention
    }

    private struct State {
        var chunks: [[UInt8]] = []
        /// The first chunk that is not sent wholly, and how much of it is.
        var first = 0
        var sent = 0
        var length = 0
        var isClosing = false
        /// The reason passed to `close(because:)`; nil before that, or if none was passed.
        var closeReason: String?
        var isOverfull = false
        var isDead = false
        /// Whether the loop knows that there is something to do.
        var isTold = false

        /// Adds bytes; small ones go together, as each array of its own has a price.
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

    init(limit: Int) {
        self.limit = limit
    }

    /// How many bytes wait.
    var length: Int { state.withLock { $0.length } }
    /// Whether the connection is to end when all is sent.
    var isClosing: Bool { state.withLock { $0.isClosing } }
    /// The reason passed to `close(because:)`; nil before that, or if none was passed.
    var closeReason: String? { state.withLock { $0.closeReason } }
    /// Whether all is sent, and nothing more will come: looked at together, as others may send meanwhile.
    var isFinished: Bool { state.withLock { $0.isClosing && $0.length == 0 } }
    /// Whether more was to be sent than may wait.
    var isOverfull: Bool { state.withLock { $0.isOverfull } }

    /// Adds bytes behind all others.
    func append(_ bytes: [UInt8]) -> Demand {
        state.withLock { state in
            guard !bytes.isEmpty, !state.isDead, !state.isClosing, !state.isOverfull else {
                return .nothing
            }
            if bytes.count > limit - state.length {
                state.isOverfull = true
            } else {
                state.add(bytes)
            }
            return Self.tell(&state)
        }
    }

    /// Takes nothing more; the connection ends when what there is was sent.
    func close(because reason: String? = nil) -> Demand {
        state.withLock { state in
            guard !state.isDead, !state.isClosing else { return .nothing }
            (state.isClosing, state.closeReason) = (true, reason)
            return Self.tell(&state)
        }
    }

    /// The loop has come: it has to be told of what follows.
    func heard() {
        state.withLock { $0.isTold = false }
    }

    /// Drops everything, now and from now on; says how much was left.
    @discardableResult
    func die() -> Int {
        state.withLock { state in
            let rest = state.length
            state = State()
            state.isDead = true
            return rest
        }
    }

    /// Puts other bytes in the place of all that wait; none of them has been sent.
    func replaceAll(with bytes: [UInt8]) {
        state.withLock { state in
            state.chunks = [bytes]
            (state.first, state.sent, state.length) = (0, 0, bytes.count)
            state.isOverfull = false
        }
    }

    /// Copies what comes next, as much as there is room for.
    func copyNext(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        state.withLock { state in
            var (filled, place, start) = (0, state.first, state.sent)
            while filled < buffer.count, place < state.chunks.count {
                let count = min(state.chunks[place].count - start, buffer.count - filled)
                state.chunks[place].withUnsafeBytes { chunk in
                    UnsafeMutableRawBufferPointer(rebasing: buffer[filled..<filled + count])
                        .copyMemory(
                            from: UnsafeRawBufferPointer(rebasing: chunk[start..<start + count]))
                }
                filled += count
                place += 1
                start = 0
            }
            return filled
        }
    }

    /// Forgets bytes that were sent; true if none are left.
    func advance(by count: Int) -> Bool {
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
            // What was sent is removed now and then, and not one by one.
            if state.first == state.chunks.count || state.first >= 1_024 {
                state.chunks.removeFirst(state.first)
                state.first = 0
            }
            return state.length == 0
        }
    }

    private static func tell(_ state: inout State) -> Demand {
        defer { state.isTold = true }
        return state.isTold ? .nothing : .attention
    }
}
