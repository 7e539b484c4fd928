public import Sheaf
package import SheafStorage
import Synchronization

/// Carries what peers say over TCP and TLS 1.3, between peers of one database that have proven their keys.
///
/// It listens and connects, and connects again where a connection breaks, on one thread of its own.
/// The host is not kept: who starts a transport has to hold its host. `format-spec/network.md` says what
/// goes over the wire.
public final class TCPTransport: PeerTransport {
    private enum Phase: Sendable {
        case idle
        case running(NetworkLoop.Share, Thread)
        case stopping
    }

    private struct State: Sendable {
        var phase = Phase.idle
        var peers: [NetworkAddress]
    }

    private let configuration: NetworkConfiguration
    private let credentials: Credentials
    private let listening: [NetworkAddress]
    private let tls: TLSContext
    private let clock: Clock
    private let random: @Sendable () -> UInt64
    private let state: Monitor<State>

    /// Checks what is wanted; nothing is opened before `start`.
    public convenience init(_ configuration: NetworkConfiguration) throws {
        try self.init(configuration, clock: .system) { UInt64.random(in: 0...UInt64.max) }
    }

    /// The same with a clock and random numbers of somebody else.
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

    public func start(_ host: any PeerTransportHost) throws {
        try state.withLock { state in
            guard case .idle = state.phase else {
                throw NetworkError(.running, "the transport runs already; stop it first")
            }
            let share = try NetworkLoop.Share()
            let setup = NetworkLoop.Setup(
                credentials: credentials, limits: configuration.limits, clock: clock,
                random: random, tls: tls, listeners: try listening.map { try listener(at: $0) },
                peers: state.peers)
            do throws(ThreadRefused) {
                let thread = try Thread(name: "sheaf-network") { [weak host] in
                    NetworkLoop(setup, share, host: host).run()
                }
                state.phase = .running(share, thread)
            } catch {
                throw NetworkError(
                    .system, "there is no room for a thread: \(systemMessage(error.code))")
            }
        }
    }

    /// Ends all connections, and waits until it is done; from within a call of the transport it only begins.
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

    /// Connects with one more address, from now on and after each start.
    public func add(_ address: String) throws {
        let address = try NetworkAddress(address)
        state.withLock { state in
            guard !state.peers.contains(address) else { return }
            state.peers.append(address)
            post(.add(address), state)
        }
    }

    /// Ends the connection with an address, and makes none again.
    public func remove(_ address: String) throws {
        let address = try NetworkAddress(address)
        state.withLock { state in
            state.peers.removeAll { $0 == address }
            post(.remove(address), state)
        }
    }

    /// What connections there are, and which are tried.
    public var links: [NetworkLink] {
        state.withLock { state in
            guard case .running(let share, _) = state.phase else { return [] }
            return share.board.links(at: clock.monotonicNanoseconds())
        }
    }

    /// Tells the thread that the clock was moved.
    package func lookAtClock() {
        state.withLock { post(.look, $0) }
    }

    private func post(_ letter: Mailbox.Letter, _ state: State) {
        guard case .running(let share, _) = state.phase else { return }
        share.mailbox.post(letter)
    }

    private func listener(at address: NetworkAddress) throws(NetworkError) -> Socket {
        // "localhost" may be anything that somebody has written into a file.
        guard let found = try SocketAddress.all(of: address, numeric: true).first else {
            throw NetworkError(.address, "\(address.quoted) is no address to listen at")
        }
        guard !credentials.identity.isOnlyLocal || found.isLoopback else {
            throw NetworkError(
                .loopback,
                "a transport in the mode development does not listen at \(address.quoted), which other machines can reach; "
                    + "127.0.0.1 is right, or allowsOtherMachines has to be set")
        }
        return try Socket.listening(at: found)
    }
}
