import Sheaf
import SheafNetwork
import SheafStatements
import SheafStorage
import SheafStore
import SheafSystem
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The peer of a child process: reports what happens, and follows commands on its standard input.
final class FirstSyncPeer: Sendable {
    /// The store and the tasks of the peer, from the arguments of the process.
    struct Role: Sendable {
        /// Path of the store; the key pair is beside it.
        var path = ""
        /// Address to listen on; nil for the receiver.
        var listening: String?
        /// Address of the server; nil for the server.
        var server: String?
        /// Whether the peer reports the number of visible documents as it changes.
        var isWatching = false
        /// Whether the server commits documents during the sync, or the receiver observes them.
        var isLive = false

        init(_ arguments: [String]) {
            for argument in arguments {
                let value = argument.firstIndex(of: "=").map {
                    String(argument[argument.index(after: $0)...])
                }
                switch argument.prefix(while: { $0 != "=" }) {
                case "path": path = value ?? ""
                case "listen": listening = value
                case "connect": server = value
                case "watch": isWatching = true
                case "live": isLive = true
                default: preconditionFailure("Unknown argument \(argument).")
                }
            }
        }
    }

    let role: Role
    let peer: Peer
    private let transport: CountingTransport
    private let isStopped = Atomic(false)
    private let isQuiet = Atomic(false)

    private init(_ role: Role) async throws {
        self.role = role
        let keys = try PeerKeyPair.loadOrGenerate(at: role.path + ".key")
        var configuration = NetworkConfiguration(
            databaseID: NetworkCommand.databaseID, keyPair: keys, identity: .development(),
            listening: role.listening.map { [$0] } ?? [], peers: role.server.map { [$0] } ?? [])
        configuration.limits.firstRetryMilliseconds = 5
        configuration.limits.longestRetryMilliseconds = 50
        transport = CountingTransport(try TCPTransport(configuration))
        peer = try await Peer.open(
            at: role.path,
            configuration: PeerConfiguration(
                databaseID: NetworkCommand.databaseID, key: keys.publicKey,
                transports: [transport]))
    }

    /// Opens the peer, and follows commands until `stop` or the end of the input.
    static func run(_ arguments: [String]) async throws {
        let child = try await FirstSyncPeer(Role(arguments))
        try await child.run()
    }

    private func run() async throws {
        peer.presence.onTransportEvent { [weak self] event in self?.report(event) }
        var observers: [StoreObserver] = []
        if role.server != nil {
            for collection in role.isLive ? FirstSyncStores.collections : ["cars"] {
                try peer.sync.registerSubscription(
                    DQL(verbatim: "SELECT * FROM \(collection)"))
                if role.isLive { observers.append(try observeLive(collection)) }
            }
        }
        let progress = role.isWatching ? try Thread(name: "progress") { self.watch() } : nil
        try peer.sync.start()
        while let line = try await Thread.run(name: "input", { readLine() }), line != "stop" {
            if line == "report" { try await reportTraffic() }
            if line == "check" { try reportDocuments() }
            if line == "quiet" { isQuiet.store(true, ordering: .relaxed) }
        }
        isStopped.store(true, ordering: .relaxed)
        progress?.join()
        withExtendedLifetime(observers) {}
        try await peer.close()
    }

    private var isRunning: Bool { !isStopped.load(ordering: .relaxed) }
    /// Whether the server still commits documents.
    var isWriting: Bool { isRunning && !isQuiet.load(ordering: .relaxed) }

    private func report(_ event: PeerTransportEvent) {
        switch event {
        case .listening(let address): PeerReport.print("listening \(address)")
        case .connected(let identity):
            PeerReport.print("connected", [("cpu", Self.processorNanoseconds)])
            guard role.listening != nil else { return }
            reportAcknowledgment(of: identity.key)
            guard role.isLive else { return }
            do { try startWriting() } catch { PeerReport.print("failed \(error)") }
        case .disconnected(_, let reason): PeerReport.print("disconnected \(reason)")
        default: break
        }
    }

    /// Reports when the other peer has all documents of this one.
    private func reportAcknowledgment(of key: PeerKey) {
        let commit = Int64(clamping: peer.store.queries.snapshot().log.commit)
        Task { [peer] in
            do {
                try await peer.sync.wait(for: commit, on: key)
                PeerReport.print("acknowledged")
            } catch {
                PeerReport.print("unacknowledged \(error)")
            }
        }
    }

    /// Reports the number of visible documents and the received bytes as they change.
    private func watch() {
        var last = (visible: -1, received: 0)
        while isRunning {
            let now = (visible: visibleCount(), received: transport.documentBytes)
            if now != last {
                PeerReport.print(
                    "progress", [("visible", now.visible), ("received", now.received)])
                last = now
            }
            let next = Clock.system.monotonicNanoseconds() + Self.sampleNanoseconds
            Monitor(()).wait(until: next, while: { true })
        }
    }

    /// Interval between two counts of the visible documents.
    private static let sampleNanoseconds: UInt64 = 5_000_000

    private func visibleCount() -> Int {
        var count = 0
        try? peer.store.transactionBlocking(isReadOnly: true) { transaction in
            let result = try transaction.executeBlocking("SELECT COUNT(*) AS n FROM cars")
            count = FirstSyncStores.integer(try result.items.first?["n"]) ?? 0
            return .commit
        }
        return count
    }

    /// Reports CPU time and bytes of the connection, which `system:presence` counts.
    private func reportTraffic() async throws {
        let processorTime = Self.processorNanoseconds
        var bytes: [(String, Int)] = []
        let rows = try await peer.store.execute(
            "SELECT connections FROM system:presence WHERE kind = 'local'")
        let row = try rows.items.first?["connections"]
        if case .array(let connections)? = row, case .object(let connection)? = connections.first {
            for name in ["bytesSent", "bytesReceived"] {
                bytes.append((name, FirstSyncStores.integer(connection[name]) ?? 0))
            }
        }
        let wire = transport.traffic
        PeerReport.print(
            "traffic",
            [("cpu", processorTime)] + bytes + [
                ("wireSent", Int(wire.sentBytes)), ("wireReceived", Int(wire.receivedBytes)),
            ] + transport.frames)
    }

    /// Reports the documents and the size of the tree of the store.
    private func reportDocuments() throws {
        var pages = 0
        peer.store.queries.snapshot().log.tree.exportPages { _ in pages += 1 }
        let checksum = try peer.sync.checksum(of: "SELECT * FROM cars")
        PeerReport.print(
            "documents \(checksum)",
            [("visible", visibleCount()), ("tree", pages * BTree.pageSize)]
        )
    }

    /// The CPU time of this process.
    private static var processorNanoseconds: Int {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return time.tv_sec * 1_000_000_000 + time.tv_nsec
    }
}
