import Sheaf
import SheafStorage
import SheafSystem

/// A host that counts received bytes and closed connections.
final class CountingTransportHost: PeerTransportHost {
    package struct State: Sendable {
        var address: String?
        var connections: [any PeerConnection] = []
        var received = 0
        var closed = 0
    }

    let state = Monitor(State())

    func connected(_ connection: any PeerConnection) -> (any PeerConnectionHandler)? {
        state.withLock { $0.connections.append(connection) }
        state.broadcast()
        return CountingConnectionHandler(host: self)
    }

    func report(_ event: PeerTransportEvent) {
        guard case .listening(let address) = event else { return }
        state.withLock { $0.address = address }
        state.broadcast()
    }

    /// Waits up to a minute; returns whether the predicate became false.
    func wait(while predicate: (State) -> Bool) -> Bool {
        let deadline = Clock.system.monotonicNanoseconds() + 60_000_000_000
        return state.wait(until: deadline, while: predicate)
    }

    /// Waits up to a minute for the listener, and returns its address.
    func address() -> String {
        _ = wait { $0.address == nil }
        return state.withLock { $0.address ?? "" }
    }
}

/// A connection handler that reports to a counting host.
final class CountingConnectionHandler: PeerConnectionHandler {
    private let host: CountingTransportHost

    init(host: CountingTransportHost) {
        self.host = host
    }

    func received(_ bytes: UnsafeRawBufferPointer) {
        host.state.withLock { $0.received += bytes.count }
        host.state.broadcast()
    }

    func drained() {
        host.state.broadcast()
    }

    func closed(_ reason: String) {
        host.state.withLock { $0.closed += 1 }
        host.state.broadcast()
    }
}
