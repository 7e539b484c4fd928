import Sheaf
import SheafNetwork
import Synchronization

/// The TCP transport of a database, with addresses that can be changed at any time.
///
/// A handler can accept or deny connections.
final class DittoNetwork: PeerTransport {
    private struct State: Sendable {
        var config = DittoTransportConfig()
        var running: TCPTransport?
        /// The gate of the running transport, which holds its host weakly.
        var gate: ConnectionGate?
        /// The peers whose addresses other peers have reported.
        var proposals: [PeerKey: [PeerAddress]] = [:]
    }

    private let databaseID: DatabaseID
    private let keyPair: PeerKeyPair
    private let identity: NetworkIdentity
    private let state = Mutex(State())
    /// The lock that serializes changes of the running transport, which block on its thread.
    private let changing = Mutex(())
    let requests = ConnectionRequests()

    init(_ config: DittoConfig, _ keyPair: PeerKeyPair) throws {
        databaseID = DatabaseID(config.databaseID)
        self.keyPair = keyPair
        identity = try config.connect.networkIdentity()
    }

    var config: DittoTransportConfig { state.withLock(\.config) }

    func start(_ host: any PeerTransportHost) throws {
        try changing.withLock { _ in
            let config = config
            try config.check()
            for name in config.ineffective {
                DittoLogger.write(
                    .warning, "\(name) has no effect: peers connect to addresses over TCP")
            }
            if let note = config.loneliness { DittoLogger.write(.info, note) }
            if case .development = identity {
                DittoLogger.write(
                    .warning,
                    "any peer that knows the database id can connect; use a shared key to prevent "
                        + "this")
            }
            try begin(try transport(config), ConnectionGate(host, requests))
        }
    }

    func stop() {
        changing.withLock { _ in end() }
    }

    var addresses: [PeerAddress] { state.withLock(\.running)?.addresses ?? [] }

    func propose(_ peers: [PeerKey: [PeerAddress]]) {
        // Under the lock, so that a transport that begins gets the newest ones.
        state.withLock { state in
            state.proposals = peers
            state.running?.propose(peers)
        }
    }

    /// Changes the configuration; a running transport applies it immediately.
    ///
    /// If it throws, the configuration is unchanged and a running transport keeps it.
    func update(_ config: DittoTransportConfig) throws {
        try changing.withLock { _ in
            let (old, running, gate) = state.withLock { ($0.config, $0.running, $0.gate) }
            if let running, let gate, old != config {
                try config.check()
                if old.listening == config.listening,
                    old.connect.retryInterval == config.connect.retryInterval
                {
                    try change(running, from: old.connect.tcpServers, to: config.connect.tcpServers)
                    running.setDiscovery(config.discovery)
                } else {
                    try restart(config, gate, orRestore: old)
                }
            }
            state.withLock { $0.config = config }
        }
    }

    /// Changes the addresses to connect to; none of them changes if one is invalid.
    private func change(
        _ running: TCPTransport, from old: Set<String>, to new: Set<String>
    ) throws {
        var added: [String] = []
        do {
            for address in new.subtracting(old).sorted() {
                try running.add(address)
                added.append(address)
            }
        } catch {
            for address in added { try running.remove(address) }
            throw error
        }
        for address in old.subtracting(new).sorted() { try running.remove(address) }
    }

    /// Restarts the transport with `config`; if it cannot start, it runs with `old` again.
    private func restart(
        _ config: DittoTransportConfig, _ gate: ConnectionGate, orRestore old: DittoTransportConfig
    ) throws {
        // An invalid address is found before the running transport ends.
        let transport = try transport(config)
        // Both may listen on the same port, so the running transport ends first.
        end()
        do { try begin(transport, gate) } catch {
            do { try begin(try self.transport(old), gate) } catch {
                DittoLogger.write(.error, "the transport cannot be restarted: \(error)")
            }
            throw error
        }
    }

    private func transport(_ config: DittoTransportConfig) throws -> TCPTransport {
        var network = NetworkConfiguration(
            databaseID: databaseID, keyPair: keyPair, identity: identity)
        network.listening = config.listening
        network.peers = config.connect.tcpServers.sorted()
        let longest = max(100, Int(min(config.connect.retryInterval, 3_600) * 1_000))
        network.limits.longestRetryMilliseconds = longest
        network.limits.firstRetryMilliseconds = min(
            network.limits.firstRetryMilliseconds, longest)
        let transport = try TCPTransport(network)
        transport.setDiscovery(config.discovery)
        return transport
    }

    private func begin(_ transport: TCPTransport, _ gate: ConnectionGate) throws {
        try transport.start(gate)
        state.withLock { state in
            (state.running, state.gate) = (transport, gate)
            transport.propose(state.proposals)
        }
        gate.addressesChanged()
    }

    private func end() {
        let running = state.withLock { state in
            defer { state.running = nil }
            return state.running
        }
        running?.stop()
    }
}
