import Synchronization

/// Where the bytes of one connection leave: the loop sends what waits, and whoever has a few more sends them
/// himself, if nothing is before them: to wake the loop takes longer than to encrypt them.
final class Outlet: Sendable {
    /// What became of sending.
    enum Outcome {
        case sent(hasEmptied: Bool)
        /// The same bytes have to be sent again when the socket takes some.
        case blocked
        case ended
        case failed(NetworkError)
    }

    private struct State {
        /// Over which others than the loop may send.
        var session: TLSSession?
        /// How many bytes have to be written again, as the library has begun with them.
        var unfinished: Int?
    }

    let queue: OutgoingQueue
    private let traffic: TrafficMeter
    private let state = Mutex(State())

    init(_ queue: OutgoingQueue, _ traffic: TrafficMeter) {
        self.queue = queue
        self.traffic = traffic
    }

    /// Lets others than the loop send.
    func open(_ session: TLSSession) {
        state.withLock { $0.session = session }
    }

    /// Lets them no more; none of them is about to when this returns.
    func close() {
        state.withLock { $0.session = nil }
    }

    /// Other bytes are in the place of those that were begun with.
    func beginAnew() {
        state.withLock { $0.unfinished = nil }
    }

    /// Sends what waits, so many records of it.
    func send(over session: TLSSession, records: Int) -> Outcome {
        state.withLock { send(over: session, records: records, &$0) }
    }

    /// Sends what waits if it is one record and the socket takes it; false where the loop has to.
    func sendAtOnce() -> Bool {
        withoutPipeSignal { trySending() }
    }

    private func trySending() -> Bool {
        let isSent = state.withLockIfAvailable { state in
            guard let session = state.session, state.unfinished == nil else { return false }
            queue.heard()
            guard queue.length <= TLSSession.recordLength, !queue.isOverfull, !queue.isClosing,
                case .sent(hasEmptied: true) = send(over: session, records: 1, &state)
            else { return false }
            return true
        }
        return isSent ?? false
    }

    private func send(over session: TLSSession, records: Int, _ state: inout State) -> Outcome {
        defer { traffic.note(session.traffic) }
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
            case .wantsToWrite, .wantsToRead:
                state.unfinished = count
                return .blocked
            case .ended: return .ended
            case .failed(let error): return .failed(error)
            }
        }
        return .sent(hasEmptied: hasEmptied)
    }
}
