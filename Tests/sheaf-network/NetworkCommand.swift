import Sheaf
import SheafNetwork
import SheafNetworkModel
import SheafStorage
import SheafSystem
import SheafTestSupport

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The subcommands of the program.
enum NetworkCommand {
    static let databaseID = DatabaseID("network")

    static func run(_ arguments: [String]) async {
        do {
            switch arguments.first {
            case "serve": try serve()
            case "send" where arguments.count == 3:
                try send(arguments[1], megabytes: Int(arguments[2]) ?? 0)
            case "stops": try stops(rounds: Int(arguments.dropFirst().first ?? "") ?? 20)
            case "file":
                try await passFile(megabytes: Int(arguments.dropFirst().first ?? "") ?? 100)
            case "packets": try fuzz(packets: Int(arguments.dropFirst().first ?? "") ?? 100_000)
            case "idle": try idle(Array(arguments.dropFirst()))
            case "idle-server" where arguments.count == 2:
                try await IdleConnections.serve(Int(arguments[1]) ?? 0)
            case "idle-clients" where arguments.count == 3:
                try IdleConnections.connect(arguments[1], Int(arguments[2]) ?? 0)
            case "first-sync": try await syncFirst(Array(arguments.dropFirst()))
            case "hub-clients": try await HubClients.run(Array(arguments.dropFirst()))
            case "empty-hub": try await fillHub(Array(arguments.dropFirst()))
            case "first-sync-peer": try await FirstSyncPeer.run(Array(arguments.dropFirst()))
            default:
                print(
                    "sheaf-network serve | send ADDRESS MEGABYTES | stops ROUNDS | file MEGABYTES "
                        + "| idle PEERS [SEED] | packets COUNT | first-sync DOCUMENTS "
                        + "| idle-server COUNT | idle-clients ADDRESS COUNT | hub-clients "
                        + "| empty-hub DOCUMENTS")
                exit(2)
            }
        } catch {
            print("failed: \(error)")
            exit(1)
        }
    }

    static func transport(peers: [String] = []) throws -> TCPTransport {
        var configuration = NetworkConfiguration(
            databaseID: databaseID, keyPair: try .generate(), identity: .development())
        configuration.peers = peers
        return try TCPTransport(configuration)
    }

    private static func fillHub(_ arguments: [String]) async throws {
        guard let hub = EmptyHub(arguments) else {
            print(EmptyHub.usage)
            exit(2)
        }
        try await hub.run()
    }

    private static func syncFirst(_ arguments: [String]) async throws {
        guard var sync = FirstSync(arguments) else {
            print(FirstSync.usage)
            exit(2)
        }
        try await sync.run()
    }

    /// Passes damaged packets of multicast DNS to a peer that discovers others.
    private static func fuzz(packets count: Int) throws {
        let seed = UInt64.random(in: 0..<1_000_000_000)
        print("seed \(seed)")
        var fuzz = try PacketFuzz(seed: seed)
        if let breach = fuzz.run(packets: count) {
            print(breach)
            exit(1)
        }
        print("\(count) packets, nothing found")
    }

    /// Counts the packets of idle peers in a simulated hour, at most one in a second.
    private static func idle(_ arguments: [String]) throws {
        let count = arguments.first.flatMap(Int.init) ?? 50
        let seed =
            arguments.dropFirst().first.flatMap(UInt64.init)
            ?? UInt64.random(in: 0..<1_000_000_000)
        let idle = try IdlePeers(count, seed: seed)
        let greatest = idle.packetsPerMinute.max() ?? 0
        print(
            "seed \(seed): \(count) idle peers sent \(idle.packetsPerMinute.reduce(0, +)) packets in "
                + "an hour, \(greatest) in a minute, and found \(idle.found.sorted())")
        if greatest > 60 || idle.found != [count - 1] { exit(1) }
    }

    /// Listens until the first connection ends; prints the address, received bytes and memory use.
    private static func serve() throws {
        let host = CountingTransportHost()
        let transport = try transport()
        try transport.start(host)
        let address = host.address()
        let before = ProcessMemory.kibibytes("VmRSS")
        print("listening \(address)")
        fflush(nil)
        guard host.wait(while: { $0.closed == 0 }) else { exit(1) }
        print("received \(host.state.withLock { $0.received })")
        print("grown \(ProcessMemory.kibibytes("VmHWM") - before) KiB")
        transport.stop()
    }

    /// Sends the given number of megabytes in 64 KiB pieces and prints the rate.
    private static func send(_ address: String, megabytes: Int) throws {
        let host = CountingTransportHost()
        let transport = try transport(peers: [address])
        try transport.start(host)
        guard host.wait(while: { $0.connections.isEmpty }),
            let connection = host.state.withLock({ $0.connections.first })
        else { exit(1) }
        print("sending")
        fflush(nil)
        let piece = [UInt8](repeating: 0xA5, count: 64 << 10)
        let start = Clock.system.monotonicNanoseconds()
        for _ in 0..<megabytes * 16 {
            let isPresent = host.wait { $0.closed == 0 && connection.queuedLength > 4 << 20 }
            guard isPresent, host.state.withLock({ $0.closed }) == 0 else { exit(1) }
            connection.send(piece)
        }
        connection.close(because: "test is done")
        guard host.wait(while: { $0.closed == 0 }) else { exit(1) }
        let nanoseconds = Clock.system.monotonicNanoseconds() - start
        print("rate \(UInt64(megabytes) << 20 * 1_000 / max(nanoseconds, 1)) MB/s")
        transport.stop()
    }

    /// Starts and stops connected pairs; prints the open descriptors and threads before and after.
    private static func stops(rounds: Int) throws {
        // Sanitizers start a thread of their own along with the first one of a program.
        try Thread(name: "first") {}.join()
        let threads = OpenResources.now().threads
        var before = OpenResources.now()
        for round in 0..<rounds + 1 {
            let (server, client) = (CountingTransportHost(), CountingTransportHost())
            let listener = try transport()
            try listener.start(server)
            let dialer = try transport(peers: [server.address(), "127.0.0.1:1"])
            try dialer.start(client)
            guard client.wait(while: { $0.connections.isEmpty }) else { exit(1) }
            client.state.withLock { $0.connections }.first?.send([1, 2, 3])
            guard server.wait(while: { $0.received < 3 }) else { exit(1) }
            // The transports stop in either order.
            if round % 2 == 0 { dialer.stop() }
            listener.stop()
            dialer.stop()
            // Lazily created process-wide resources exist after the first round.
            if round == 0 {
                before = OpenResources(
                    descriptors: OpenResources.now().descriptors, threads: threads)
            }
        }
        print("before \(before)")
        // The system lists a thread for a moment after it has ended.
        let deadline = Clock.system.monotonicNanoseconds() + 10_000_000_000
        while OpenResources.now() != before, Clock.system.monotonicNanoseconds() < deadline {}
        print("after \(OpenResources.now())")
    }
}

/// The open descriptors and running threads of this process.
struct OpenResources: Equatable, CustomStringConvertible {
    let descriptors: Int
    let threads: Int

    static func now() -> OpenResources {
        #if os(Linux)
            OpenResources(descriptors: count("/proc/self/fd"), threads: ownThreads())
        #else
            OpenResources(descriptors: count("/dev/fd"), threads: 0)
        #endif
    }

    var description: String { "\(descriptors) descriptors, \(threads) threads" }

    private static func count(_ path: String) -> Int { names(path).count }

    /// Returns the number of threads started by transports, recognized by their names.
    private static func ownThreads() -> Int {
        names("/proc/self/task").count { name in
            guard Int32(name).map({ $0 != getpid() }) == true,
                let file = fopen("/proc/self/task/\(name)/comm", "r")
            else { return false }
            defer { fclose(file) }
            var letters = [UInt8](repeating: 0, count: 32)
            let count = fread(&letters, 1, letters.count, file)
            return String(decoding: letters.prefix(count), as: UTF8.self).hasPrefix("sheaf-")
        }
    }

    private static func names(_ path: String) -> [String] {
        guard let stream = opendir(path) else { return [] }
        defer { closedir(stream) }
        var names: [String] = []
        while let entry = readdir(stream) {
            let offset = MemoryLayout<dirent>.offset(of: \dirent.d_name) ?? 0
            let letters = (UnsafeRawPointer(entry) + offset).assumingMemoryBound(to: CChar.self)
            names.append(String(cString: letters))
        }
        return names
    }
}
