import Synchronization

/// The sending side of one connection, used by the loop and by threads that send.
///
/// If the queued bytes fit into one record, the thread that appended them also sends them: waking
/// the loop takes longer than encrypting them.
final class ConnectionSender: Sendable {
    /// The result of sending.
    package enum Outcome {
        case sent(hasEmptied: Bool)
        /// The socket is full; the same bytes must be written again.
        case blocked
        case ended
        case failed(NetworkError)
    }

    private struct State {
        /// The session over which threads other than the loop may send; nil if they may not.
        var session: TLSSession?
        /// The number of bytes passed to an incomplete TLS write, which must be repeated with them.
        var unfinished: Int?
    }

    /// Whether the loop reads from the connection.
    var isReading: Bool { reading.load(ordering: .relaxed) }

    let queue: OutgoingQueue
    private let reading = Atomic<Bool>(true)
    private let traffic: TrafficMeter
    private let state = Mutex(State())

    init(_ queue: OutgoingQueue, _ traffic: TrafficMeter) {
        self.queue = queue
        self.traffic = traffic
    }

    /// Begins or stops reading; returns whether that is a change.
    func setReading(_ isReading: Bool) -> Bool {
        reading.exchange(isReading, ordering: .relaxed) != isReading
    }

    /// Allows threads other than the loop to send.
    func open(_ session: TLSSession) {
        state.withLock { $0.session = session }
    }

    /// Stops threads other than the loop from sending; none is sending when this returns.
    func close() {
        state.withLock { $0.session = nil }
    }

    /// Discards an incomplete write after the queued bytes were replaced.
    func restart() {
        state.withLock { $0.unfinished = nil }
    }

    /// Sends up to `records` TLS records from the queue.
    func send(over session: TLSSession, records: Int) -> Outcome {
        state.withLock { send(over: session, records: records, &$0) }
    }

    /// Sends the queued bytes if they fit into one record; returns whether all were sent.
    func sendAtOnce() -> Bool {
        withoutPipeSignal { trySending() }
    }

    private func trySending() -> Bool {
        let isSent = state.withLockIfAvailable { state in
            guard let session = state.session, state.unfinished == nil else { return false }
            queue.acknowledge()
            guard queue.length <= TLSSession.recordLength, !queue.isOverfull, !queue.isClosing,
                case .sent(hasEmptied: true) = send(over: session, records: 1, &state)
            else { return false }
            return true
        }
        return isSent ?? false
    }

    private func send(over session: TLSSession, records: Int, _ state: inout State) -> Outcome {
        defer { traffic.record(session.traffic) }
        let buffer = UnsafeMutableRawBufferPointer.allocate(
            byteCount: min(max(queue.length, 1), TLSSession.recordLength), alignment: 16)
        defer { buffer.deallocate() }
        var hasEmptied = false
        for _ in 0..<records {
            let length = state.unfinished ?? buffer.count
            let count = queue.copyNext(
                into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<length]))
            guard count > 0 else { break }
            switch session.write(UnsafeRawBufferPointer(rebasing: buffer[..<count])) {
            case .done(let written):
                state.unfinished = nil
                hasEmptied = queue.advance(by: written)
            case .needsWrite, .needsRead:
                state.unfinished = count
                return .blocked
            case .ended: return .ended
            case .failed(let error): return .failed(error)
            }
        }
        return .sent(hasEmptied: hasEmptied)
    }
}
