import Sheaf
import SheafDocument
import SheafEngine
import SheafHub
import SheafHubEngine
import SheafHubLog
import SheafReplication
import SheafStatements
import SheafStore
import SheafSystem
import SheafTestSupport
import SheafTransfer
import SheafTransport

/// How long an empty hub needs to get all documents, from a snapshot in memory to a store on disk.
struct EmptyHub {
    static let usage = "sheaf-network empty-hub DOCUMENTS"
    private static let limitSeconds = 60.0

    let count: Int
    private let temporary = TemporaryDirectory()
    private let engine = MemoryHubEngine()

    init?(_ arguments: [String]) {
        guard arguments.count == 1, let count = Int(arguments[0]), count > 0 else { return nil }
        self.count = count
    }

    func run() async throws {
        let stores = FirstSyncStores(directory: temporary.path)
        try await stores.fill(count)
        let (first, firstLog) = try await open(stores.server)
        let started = Clock.system.monotonicNanoseconds()
        try configure(firstLog)
        var settings = HubSettings()
        settings.bytesPerSecond = .max
        var maintenance = HubMaintenance(first, file(firstLog), key: first.key.bytes, settings)
        _ = try maintenance.replace(isForced: true)
        print("snapshot written, and verified, in \(seconds(since: started)) s")
        let opened = Clock.system.monotonicNanoseconds()
        let (second, secondLog) = try await open(stores.receiver("empty"))
        var loading = HubMaintenance(second, file(secondLog), key: second.key.bytes, settings)
        _ = try loading.step()
        let loaded = seconds(since: opened)
        while try second.ask({ $0.hubView?.hasCaughtUp }) != true { Thread.yield() }
        let time = seconds(since: opened)
        print("\(count) documents loaded in \(loaded) s, ready after \(time) s")
        print("memory at most \(ProcessMemory.kibibytes("VmHWM") >> 10) MiB, of both hubs")
        let checksums = try [first, second].map {
            try StoreChecksum(of: $0.store.queries.snapshot(), withStates: true).total
        }
        try await first.close()
        try await second.close()
        guard checksums[0] == checksums[1], checksums[0].documentCount > count else {
            throw FirstSyncFailure("the empty hub has other documents")
        }
        guard time <= Self.limitSeconds else {
            throw FirstSyncFailure("more than \(Self.limitSeconds) s")
        }
    }

    private func seconds(since start: UInt64) -> Double {
        let milliseconds = (Clock.system.monotonicNanoseconds() - start) / 1_000_000
        return Double(milliseconds) / 1_000
    }

    private func open(_ path: String) async throws -> (Peer, MemoryHubLog) {
        let log = MemoryHubLog(engine)
        var configuration = PeerConfiguration(
            databaseID: NetworkCommand.databaseID, key: .random(), transports: [])
        configuration.hubLog = SharedHubLog(log, nil)
        return (try await Peer.open(at: path, configuration: configuration), log)
    }

    private func configure(_ log: MemoryHubLog) throws {
        _ = try file(log).loadOrCreate(shardCount: 1, format: HubMessage.version) {
            OperatingSystem.randomInteger()
        }
    }

    private func file(_ log: MemoryHubLog) -> ConfigurationFile {
        ConfigurationFile(log, of: NetworkCommand.databaseID.hash)
    }
}
