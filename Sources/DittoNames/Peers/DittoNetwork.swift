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
    }

    private let databaseID: String
    private let keyPair: PeerKeyPair
    private let identity: NetworkIdentity
    private let state = Mutex(State())
    /// The lock that serializes changes of the running transport, which block on its thread.
    private let changing = Mutex(())
    let requests = ConnectionRequests()

    init(_ config: DittoConfig, _ keyPair: PeerKeyPair) throws {
        databaseID = config.databaseID
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
            try begin(config, ConnectionGate(host, requests))
        }
    }

    func stop() {
        changing.withLock { _ in end() }
    }

    /// Changes the configuration; a running transport applies it immediately.
    func update(_ config: DittoTransportConfig) throws {
        try changing.withLock { _ in
            let (old, running, gate) = state.withLock { state in
                defer { state.config = config }
                return (state.config, state.running, state.gate)
            }
            guard let running, let gate, old != config else { return }
            try config.check()
            guard old.listen == config.listen,
                old.connect.retryInterval == config.connect.retryInterval
            else {
                end()
                return try begin(config, gate)
            }
            for address in old.connect.tcpServers.subtracting(config.connect.tcpServers).sorted() {
                try running.remove(address)
            }
            for address in config.connect.tcpServers.subtracting(old.connect.tcpServers).sorted() {
                try running.add(address)
            }
        }
    }

    private func begin(_ config: DittoTransportConfig, _ gate: ConnectionGate) throws {
        var network = NetworkConfiguration(
            databaseID: PeerConfiguration.databaseBytes(of: databaseID), keyPair: keyPair,
            identity: identity)
        let address = config.listen.tcp.interfaceIP
        let host = address.contains(":") && !address.hasPrefix("[") ? "[\(address)]" : address
        network.listening = config.listen.tcp.isEnabled ? ["\(host):\(config.listen.tcp.port)"] : []
        network.peers = config.connect.tcpServers.sorted()
        let longest = max(100, Int(min(config.connect.retryInterval, 3_600) * 1_000))
        network.limits.longestRetryMilliseconds = longest
        network.limits.firstRetryMilliseconds = min(
            network.limits.firstRetryMilliseconds, longest)
        let transport = try TCPTransport(network)
        try transport.start(gate)
        state.withLock { ($0.running, $0.gate) = (transport, gate) }
    }

    private func end() {
        let running = state.withLock { state in
            defer { state.running = nil }
            return state.running
        }
        running?.stop()
    }
}
