import SheafStorage
package import SheafSystem
public import SheafTransport
import Synchronization

/// A transport over TCP and TLS 1.3 between peers of one database that have proven their keys.
///
/// It listens, connects and reconnects on one thread. It holds its host weakly, so the caller of
/// `start` must retain the host. `format-spec/network.md` specifies the wire format.
public final class TCPTransport: PeerTransport {
    private enum Phase: Sendable {
        case idle
        case running(NetworkLoop.Share, Thread)
        case stopping
    }

    private struct State: Sendable {
        var phase = Phase.idle
        var peers: [NetworkAddress]
        var discovery = PeerDiscovery.off
        var proposals: [PeerKey: [PeerAddress]] = [:]
    }

    private let configuration: NetworkConfiguration
    private let credentials: Credentials
    private let listening: [NetworkAddress]
    private let tls: TLSContext
    private let clock: Clock
    private let random: @Sendable () -> UInt64
    private let state: Monitor<State>

    /// Validates the configuration; nothing is opened before `start`.
    public convenience init(_ configuration: NetworkConfiguration) throws {
        try self.init(configuration, clock: .system) { UInt64.random(in: 0...UInt64.max) }
    }

    /// Creates a transport with the given clock and random numbers.
    package init(
        _ configuration: NetworkConfiguration, clock: Clock,
        random: @escaping @Sendable () -> UInt64
    ) throws {
        self.configuration = configuration
        self.clock = clock
        self.random = random
        credentials = try Credentials(configuration)
        listening = try configuration.listening.map { try NetworkAddress($0) }
        tls = try TLSContext(configuration.keyPair)
        state = Monitor(State(peers: try configuration.peers.map { try NetworkAddress($0) }))
    }

    deinit {
        stop()
    }

    /// Opens the listening sockets and begins to connect; throws if an address is in use.
    public func start(_ host: any PeerTransportHost) throws {
        try state.withLock { state in
            guard case .idle = state.phase else {
                throw NetworkError(.running, "the transport is already running; stop it first")
            }
            let share = try NetworkLoop.Share()
            let setup = NetworkLoop.Setup(
                credentials: credentials, limits: configuration.limits, clock: clock,
                random: random, tls: tls,
                listeners: NetworkLoop.Listeners(try listening.map { try listener(at: $0) }),
                peers: state.peers, discovery: state.discovery,
                proposals: state.proposals)
            do throws(ThreadRefused) {
                let thread = try Thread(name: "sheaf-network") { [weak host] in
                    NetworkLoop(setup, share, host: host).run()
                }
                state.phase = .running(share, thread)
            } catch {
                throw NetworkError(
                    .system, "cannot create a thread: \(systemMessage(error.code))")
            }
        }
    }

    /// Closes all connections and waits for the thread; called on that thread, it returns early.
    public func stop() {
        let running = state.wait(
            while: { if case .stopping = $0.phase { true } else { false } },
            then: { state -> (NetworkLoop.Share, Thread)? in
                guard case .running(let share, let thread) = state.phase else { return nil }
                state.phase = .stopping
                return (share, thread)
            })
        guard let (share, thread) = running else { return }
        share.isStopped.store(true, ordering: .releasing)
        share.mailbox.post(.stop)
        thread.join()
        state.withLock { $0.phase = .idle }
        state.broadcast()
    }

    /// Closes the listening sockets, until the next start; open connections remain.
    ///
    /// Connections that have not proven a key yet are closed.
    public func stopAccepting() {
        state.withLock { post(.stopAccepting, $0) }
    }

    /// Turns discovery on the local network on or off.
    ///
    /// In development mode it has no effect, unless other machines are allowed.
    public func setDiscovery(_ discovery: PeerDiscovery) {
        state.withLock { state in
            guard state.discovery != discovery else { return }
            state.discovery = discovery
            post(.discover(discovery), state)
        }
    }

    /// Where other machines can connect to this peer: the addresses of the interfaces.
    ///
    /// They are known while the transport is running and discovery is on. Loopback addresses and
    /// addresses of a single link are not among them.
    public var addresses: [PeerAddress] {
        state.withLock { state in
            guard case .running(let share, _) = state.phase else { return [] }
            return share.addresses.withLock { $0 }
        }
    }

    /// Replaces the peers whose addresses other peers have reported.
    public func propose(_ peers: [PeerKey: [PeerAddress]]) {
        state.withLock { state in
            state.proposals = peers
            post(.propose(peers), state)
        }
    }

    /// Keeps a connection to one more address, immediately and after each start.
    public func add(_ address: String) throws {
        let address = try NetworkAddress(address)
        state.withLock { state in
            guard !state.peers.contains(address) else { return }
            state.peers.append(address)
            post(.add(address), state)
        }
    }

    /// Closes the connection to an address and stops reconnecting.
    public func remove(_ address: String) throws {
        let address = try NetworkAddress(address)
        state.withLock { state in
            state.peers.removeAll { $0 == address }
            post(.remove(address), state)
        }
    }

    /// The open connections, and the addresses that the transport tries to connect to.
    public var connections: [NetworkConnectionStatus] {
        state.withLock { state in
            guard case .running(let share, _) = state.phase else { return [] }
            return share.connectionStates.connections(at: clock.monotonicNanoseconds())
        }
    }

    /// Wakes the thread after a simulated clock was advanced.
    package func wakeAfterClockChange() {
        state.withLock { post(.clockAdvanced, $0) }
    }

    private func post(_ letter: Mailbox.Message, _ state: State) {
        guard case .running(let share, _) = state.phase else { return }
        share.mailbox.post(letter)
    }

    private func listener(at address: NetworkAddress) throws(NetworkError) -> Socket {
        // Only numeric addresses are accepted: "localhost" may resolve to any address.
        guard let found = (try? SocketAddress.all(of: address, numeric: true))?.first else {
            throw NetworkError(.address, "cannot listen on \(address.quoted): it is not numeric")
        }
        guard !credentials.identity.isOnlyLocal || found.isLoopback else {
            throw NetworkError(
                .loopback,
                "cannot listen on \(address.quoted) in development mode: other machines can reach it; "
                    + "use 127.0.0.1, or a shared key or an authority as identity")
        }
        return try Socket.listening(at: found)
    }
}
