import Sheaf
import SheafStorage
import SheafSystem
import SheafTestSupport

/// A host that records connections and events, and lets tests wait for them.
final class TestHost: PeerTransportHost {
    package struct State: Sendable {
        var listening: [String] = []
        var refusals: [String] = []
        /// Addresses whose connection attempts have ended.
        var reached: [String] = []
        var unreachable: [(address: String, reason: String, milliseconds: Int)] = []
        var connections: [TestConnectionHandler] = []
        var takes = true
        /// The time that each connection takes to process received bytes.
        var lagNanoseconds: UInt64 = 0
    }

    let state = Monitor(State())
    let busyPollMicroseconds: Int

    init(busyPollMicroseconds: Int = 0) {
        self.busyPollMicroseconds = busyPollMicroseconds
    }

    func connected(_ connection: any PeerConnection) -> (any PeerConnectionHandler)? {
        defer { state.broadcast() }
        return state.withLock { state in
            guard state.takes else { return nil }
            let handler = TestConnectionHandler(connection, lagNanoseconds: state.lagNanoseconds)
            state.connections.append(handler)
            return handler
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
            case .connected, .disconnected, .discoveryFailed: break
            }
        }
        state.broadcast()
    }

    /// Waits up to five minutes; returns whether the predicate became true.
    func wait(until predicate: (State) -> Bool) -> Bool {
        state.wait(until: deadline(), while: { !predicate($0) })
    }

    /// The first address that the transport listens on.
    var address: String {
        _ = wait { !$0.listening.isEmpty }
        return state.withLock { $0.listening.first ?? "nowhere" }
    }

    /// Waits up to five minutes for the connection with this number.
    func connection(_ number: Int = 0) -> TestConnectionHandler? {
        guard wait(until: { $0.connections.count > number }) else { return nil }
        return state.withLock { $0.connections[number] }
    }

    /// The reasons of all refused connections.
    var refusals: [String] { state.withLock { $0.refusals } }
    /// The reasons of all failed connection attempts.
    var failures: [String] { state.withLock { $0.unreachable.map(\.reason) } }
}

/// A connection handler that records everything.
final class TestConnectionHandler: PeerConnectionHandler {
    package struct State: Sendable {
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

    /// Waits up to five minutes; returns whether the predicate became true.
    func wait(until predicate: (State) -> Bool) -> Bool {
        state.wait(until: deadline(), while: { !predicate($0) })
    }
}

/// Returns the deadline of a wait, five minutes ahead.
func deadline() -> UInt64 { Clock.testDeadline() }
