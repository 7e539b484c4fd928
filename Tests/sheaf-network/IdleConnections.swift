import Sheaf
import SheafBytes
import SheafDocument
import SheafNetwork
import SheafSync
import SheafSystem
import SheafTestSupport
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The memory that a peer needs for each idle client, TLS included.
enum IdleConnections {
    /// Starts a peer, waits for clients, and prints the memory for each of them.
    static func serve(_ count: Int) async throws {
        var configuration = NetworkConfiguration(
            databaseID: NetworkCommand.databaseID, keyPair: try .generate(),
            identity: .development())
        configuration.limits.connections = count + 100
        configuration.limits.unknownConnections = 1_000
        configuration.limits.unknownConnectionsPerNetwork = 1_000
        configuration.limits.handshakeMilliseconds = 60_000
        let transport = try TCPTransport(configuration)
        let peer = try await Peer.inMemory(
            configuration: PeerConfiguration(
                databaseID: NetworkCommand.databaseID, key: configuration.keyPair.publicKey,
                transports: [transport]))
        let address = Monitor<String?>(nil)
        peer.presence.onTransportEvent { event in
            guard case .listening(let found) = event else { return }
            address.withLock { $0 = found }
            address.broadcast()
        }
        try peer.sync.start()
        address.wait { $0 == nil }
        print("listening \(address.withLock { $0 } ?? "")")
        let before = ProcessMemory.kibibytes("RssAnon")
        fflush(nil)
        while transport.connections.count < count { pause() }
        // Presence spreads for a while.
        for _ in 0..<50 { pause() }
        let bytes = (ProcessMemory.kibibytes("RssAnon") - before) << 10
        print("\(count) idle connections, \(bytes / count) bytes each")
        let start = processorNanoseconds
        for number in 0..<20 {
            try await peer.store.execute("INSERT INTO other DOCUMENTS ({'_id': \(number)})")
            pause()
        }
        print("\((processorNanoseconds - start) / 20_000) µs of all threads for each commit")
        try await peer.close()
    }

    /// The processor time that all threads of the process have used.
    private static var processorNanoseconds: Int {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return time.tv_sec * 1_000_000_000 + time.tv_nsec
    }

    /// Lets the other threads run for a while.
    private static func pause() {
        let end = Clock.system.monotonicNanoseconds() + 200_000_000
        Monitor(false).wait(until: end) { !$0 }
    }

    /// Connects clients with keys of their own, which subscribe, until the server ends.
    static func connect(_ address: String, _ count: Int) throws {
        var clients: [(IdleClient, TCPTransport)] = []
        for number in 0..<count {
            var configuration = NetworkConfiguration(
                databaseID: NetworkCommand.databaseID, keyPair: try .generate(),
                identity: .development(), listening: [], peers: [address])
            configuration.limits.handshakeMilliseconds = 60_000
            let client = IdleClient(configuration.keyPair.publicKey, UInt64(number))
            let transport = try TCPTransport(configuration)
            try transport.start(client)
            clients.append((client, transport))
            client.hasOpened.wait { !$0 }
        }
        for (client, _) in clients { client.hasClosed.wait { !$0 } }
    }
}

/// A client without a store.
private final class IdleClient: PeerTransportHost, PeerConnectionHandler {
    let hasOpened = Monitor(false)
    let hasClosed = Monitor(false)
    private let session: Mutex<SyncSession>
    private let connection = Mutex<(any PeerConnection)?>(nil)

    init(_ key: PeerKey, _ number: UInt64) {
        let hello = Hello(
            database: NetworkCommand.databaseID.hash, peerKey: key.bytes,
            site: Site(rawValue: number + 1), log: XXH3.Hash128(low: number, high: 1),
            nonce: number, wallMilliseconds: Clock.system.wallMilliseconds(), isServer: false,
            name: "client \(number)")
        session = Mutex(SyncSession(hello, at: Clock.system.monotonicNanoseconds()))
    }

    func connected(_ connection: any PeerConnection) -> (any PeerConnectionHandler)? {
        self.connection.withLock { $0 = connection }
        perform()
        return self
    }

    func report(_ event: PeerTransportEvent) {}

    func received(_ bytes: UnsafeRawBufferPointer) {
        session.withLock { $0.receive(bytes, at: Clock.system.monotonicNanoseconds()) }
        perform()
    }

    private func perform() {
        while let effect = session.withLock({ $0.nextEffect() }) {
            switch effect {
            case .send(let bytes): connection.withLock { $0 }?.send(bytes)
            case .greeted: subscribe()
            case .listOwn: session.withLock { $0.compare(with: VersionList()) }
            case .apply(let step): session.withLock { $0.grant(step.length) }
            case .presence: session.withLock { $0.takePresence() }
            default: break
            }
        }
    }

    private func subscribe() {
        guard let arguments = try? Insertion.initial(Object(), NameTable()) else { return }
        let query = SubscribedQuery(text: "SELECT * FROM cars", arguments: arguments)
        session.withLock { $0.subscribe(Subscribe(generation: 1, [query], at: 0)) }
        hasOpened.withLock { $0 = true }
        hasOpened.broadcast()
    }

    func drained() {}

    func closed(_ reason: String) {
        hasClosed.withLock { $0 = true }
        hasClosed.broadcast()
    }
}
