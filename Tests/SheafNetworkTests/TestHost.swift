import Sheaf
import SheafStorage

/// A host that notes everything, and lets tests wait for it.
final class TestHost: PeerTransportHost {
    struct State: Sendable {
        var listening: [String] = []
        var refusals: [String] = []
        /// Addresses that need no further attempt.
        var reached: [String] = []
        var unreachable: [(address: String, reason: String, milliseconds: Int)] = []
        var links: [TestLink] = []
        var takes = true
        /// How long its links take for what came.
        var lagNanoseconds: UInt64 = 0
    }

    let state = Monitor(State())

    func connected(_ connection: any PeerConnection) -> (any PeerLink)? {
        defer { state.broadcast() }
        return state.withLock { state in
            guard state.takes else { return nil }
            let link = TestLink(connection, lagNanoseconds: state.lagNanoseconds)
            state.links.append(link)
            return link
        }
    }

    func report(_ event: PeerTransportEvent) {
        state.withLock { state in
            switch event {
            case .listening(let address): state.listening.append(address)
            case .refused(_, let reason): state.refusals.append(reason)
            case .unreachable(let address, let reason, let milliseconds):
                state.unreachable.append((address, reason, milliseconds))
            case .attemptsEnded(let address): state.reached.append(address)
            case .connected, .disconnected: break
            }
        }
        state.broadcast()
    }

    /// Waits for a minute at most; says whether it became so.
    func wait(until predicate: (State) -> Bool) -> Bool {
        state.wait(until: deadline(), while: { !predicate($0) })
    }

    /// Where it listens first.
    var address: String {
        _ = wait { !$0.listening.isEmpty }
        return state.withLock { $0.listening.first ?? "nowhere" }
    }

    /// The link with this number, when it is there.
    func link(_ number: Int = 0) -> TestLink? {
        guard wait(until: { $0.links.count > number }) else { return nil }
        return state.withLock { $0.links[number] }
    }

    /// Everything that it was told, as text.
    var refusals: [String] { state.withLock { $0.refusals } }
    /// Why nobody was reached, each time.
    var failures: [String] { state.withLock { $0.unreachable.map(\.reason) } }
}

/// A link that notes everything.
final class TestLink: PeerLink {
    struct State: Sendable {
        var received: [UInt8] = []
        var drained = 0
        var closed = 0
        var reason: String?
    }

    let connection: any PeerConnection
    let state = Monitor(State())

    private let lagNanoseconds: UInt64

    init(_ connection: any PeerConnection, lagNanoseconds: UInt64 = 0) {
        self.connection = connection
        self.lagNanoseconds = lagNanoseconds
    }

    func received(_ bytes: UnsafeRawBufferPointer) {
        let end = Clock.system.monotonicNanoseconds() + lagNanoseconds
        while Clock.system.monotonicNanoseconds() < end {}
        state.withLock { $0.received.append(contentsOf: bytes) }
        state.broadcast()
    }

    func drained() {
        state.withLock { $0.drained += 1 }
        state.broadcast()
    }

    func closed(_ reason: String) {
        state.withLock { state in
            state.closed += 1
            state.reason = reason
        }
        state.broadcast()
    }

    /// Waits for a minute at most; says whether it became so.
    func wait(until predicate: (State) -> Bool) -> Bool {
        state.wait(until: deadline(), while: { !predicate($0) })
    }
}

/// A minute from now: what has not happened then does not happen.
func deadline() -> UInt64 { Clock.system.monotonicNanoseconds() + 60_000_000_000 }
