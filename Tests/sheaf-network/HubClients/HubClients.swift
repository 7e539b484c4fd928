import Sheaf
import SheafNetwork
import SheafSystem
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Clients of hubs in one process, which follows commands on its standard input.
///
/// `write` lets all clients write until `quiet`; `insert COUNT BYTES` lets the first one insert;
/// `sums` prints the checksum of each group, and `list` what was written and what is there.
final class HubClients: Sendable {
    /// The behavior of the clients, from the arguments of the process.
    struct Role: Sendable {
        /// Number of the first client, and number of clients.
        var first = 0
        var count = 1
        /// Number of groups of clients that share documents.
        var groups = 1
        var seed: UInt64 = 1
        /// Mean milliseconds between two writes of a client.
        var pause: UInt64 = 100
        var losesStores = false
        var hubs: [String] = []
        /// The shared key, which has 32 characters.
        let key: SharedKey

        static let usage =
            "sheaf-network hub-clients key=TEXT hub=ADDRESS… [first=N] [count=N] [groups=N] "
            + "[seed=N] [pause=MILLISECONDS] [loses-stores]"

        init?(_ arguments: [String]) throws {
            var secret: [UInt8]?
            for argument in arguments {
                let parts = argument.split(separator: "=", maxSplits: 1).map(String.init)
                let number = parts.count == 2 ? Int(parts[1]) : nil
                switch (parts[0], number) {
                case ("key", _) where parts.count == 2: secret = Array(parts[1].utf8)
                case ("hub", _) where parts.count == 2: hubs.append(parts[1])
                case ("first", let number?): first = number
                case ("count", let number?): count = number
                case ("groups", let number?) where number > 0: groups = number
                case ("seed", let number?): seed = UInt64(clamping: number)
                case ("pause", let number?): pause = UInt64(clamping: number)
                case ("loses-stores", nil): losesStores = true
                default: return nil
                }
            }
            guard let secret, !hubs.isEmpty, count > 0 else { return nil }
            key = try SharedKey(secret)
        }
    }

    private let role: Role
    private let ledger = WriteLedger()
    private let clients: Mutex<[HubClient]>
    private let lostStores = Atomic(0)

    private init(_ role: Role) async throws {
        self.role = role
        var clients: [HubClient] = []
        for number in role.first..<(role.first + role.count) {
            clients.append(try await HubClient(number, role, ledger))
        }
        self.clients = Mutex(clients)
    }

    /// Opens the clients, and follows commands until `stop` or the end of the input.
    static func run(_ arguments: [String]) async throws {
        guard let role = try Role(arguments) else {
            print(Role.usage)
            exit(2)
        }
        try await HubClients(role).run()
    }

    private func run() async throws {
        PeerReport.print("opened")
        var writers: [Task<Void, any Error>] = []
        while let line = try await Thread.run(name: "input", { readLine() }), line != "stop" {
            let words = line.split(separator: " ").map(String.init)
            switch words.first {
            case "write":
                writers = (0..<role.count).map { index in Task { try await self.write(index) } }
                PeerReport.print("writing")
            case "quiet":
                for client in all { client.stop() }
                for writer in writers { try await writer.value }
                PeerReport.print("quiet", [("lostStores", lostStores.load(ordering: .relaxed))])
            case "insert" where words.count == 3:
                let (count, length) = (Int(words[1]) ?? 0, Int(words[2]) ?? 0)
                try await all[0].insert(count, each: length)
                PeerReport.print("inserted")
            case "sums": try reportSums()
            case "list":
                try await list()
                PeerReport.print("listed")
            default: PeerReport.print("unknown \(line)")
            }
        }
        for client in all { try await client.close() }
    }

    private var all: [HubClient] { clients.withLock { $0 } }

    /// Lets a client write; when it loses its store, another one with an empty store continues.
    private func write(_ index: Int) async throws {
        var life = 0
        while true {
            let client = clients.withLock { $0[index] }
            guard try await client.write() else { return }
            life += 1
            let next = try await HubClient(
                client.number, role, ledger, count: client.count, life: life)
            clients.withLock { $0[index] = next }
            lostStores.add(1, ordering: .relaxed)
            try await client.close()
        }
    }

    /// Prints for each group the checksums of its clients, separated by commas if they differ.
    private func reportSums() throws {
        var sums: [Int: Set<String>] = [:]
        for client in all { sums[client.group, default: []].insert("\(try client.checksum)") }
        let texts = sums.sorted { $0.key < $1.key }.map { group, sums in
            let joined = sums.sorted().joined(separator: ",").filter { $0 != " " }
            return "\(group):\(joined)"
        }
        PeerReport.print("sums \(texts.joined(separator: " "))")
    }

    /// Prints the ledger, and the documents of one client of each group.
    private func list() async throws {
        for line in ledger.lines { PeerReport.print("written \(line)") }
        var seen: Set<Int> = []
        for client in all where seen.insert(client.group).inserted {
            for line in try await client.lines { PeerReport.print("document \(line)") }
        }
    }
}
