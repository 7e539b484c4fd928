import SheafAttachments
import SheafBytes
import SheafDocument
import SheafEngine
import SheafHub
import SheafHubLog
import SheafMesh
import SheafQuery
import SheafReplication
import SheafStatements
import SheafStorage
import SheafSync
import SheafSystem
import SheafTransfer

/// A node of a scene that is a hub, with what the maintenance of its log needs.
final class SceneHub: HubPeer {
    private unowned let scene: DocumentScene
    let number: Int
    /// Number of writes that succeed before the hub counts as dead; nil for all.
    var remainingWrites: Int?

    init(_ scene: DocumentScene, _ number: Int) {
        (self.scene, self.number) = (scene, number)
    }

    var node: DocumentScene.Node { scene.nodes[number] }
    var queries: QueryEngine { node.store.queries }
    var attachments: AttachmentStore { node.store.attachments }

    func ask<Answer: Sendable>(
        _ question: @escaping @Sendable (Replicator) -> Answer
    ) throws(SnapshotFailure) -> Answer {
        // Jobs of the log have outcomes only while the scene runs.
        if node.replicator.isWritingFromLog { try? scene.run() }
        let answer = question(node.replicator)
        try? scene.perform(number)
        return answer
    }

    func share(_ configuration: HubFeedConfiguration) throws(SnapshotFailure) {
        do throws(EngineError) {
            try node.replicator.share(configuration, at: scene.now)
        } catch {
            throw .store(error)
        }
        try? scene.perform(number)
    }

    func write(
        _ body: (
            _ append: (WriteBatch) throws(StorageError) -> CommitID
        ) throws(EngineError) -> Void
    ) throws(EngineError) {
        let store = node.store
        if let remaining = remainingWrites {
            guard remaining > 0 else { throw .stopped }
            remainingWrites = remaining - 1
        }
        try body { (batch) throws(StorageError) in try store.engine.append(batch) }
        do throws(StorageError) { try store.flush() } catch { throw .storage(error) }
        try? scene.published(number)
    }
}

/// The work of the threads of a hub, one step after the other.
struct SceneMaintenance {
    var log: HubMaintenance
    var snapshots: HubSnapshots

    init(
        _ hub: SceneHub, _ file: ConfigurationFile, key: [UInt8], _ settings: HubSettings
    ) {
        log = HubMaintenance(hub, file, key: key, settings)
        snapshots = HubSnapshots(hub, file, settings)
    }

    mutating func step() throws(SnapshotFailure) -> [HubMaintenance.Event] {
        var events = try log.step()
        for event in try snapshots.step() { events.append(.snapshot(event)) }
        return events
    }

    mutating func replace(
        isForced: Bool = false
    ) throws(SnapshotFailure) -> [HubMaintenance.Event] {
        try log.replace(isForced: isForced)
    }
}

/// Hubs of a scene that follow the configuration in the object store.
extension DocumentScene {
    static let second: UInt64 = 1_000

    /// Settings with which a test sees soon what takes hours otherwise.
    static var quickSettings: HubSettings {
        var settings = HubSettings()
        settings.listMilliseconds = 0
        settings.snapshotLength = 1
        settings.leastMilliseconds = 0
        settings.bytesPerSecond = .max
        settings.trimMilliseconds = 60 * second
        settings.cleaningMilliseconds = 0
        return settings
    }

    /// Stores the first configuration.
    func configure(_ map: ShardMap = .single) throws {
        guard let objects = log?.objects else { return }
        try objects.create(Self.logID, shardCount: map.shardCount)
        let configuration = HubConfiguration(
            database: .init(low: 1, high: 2), log: Self.logID, number: 1, map: map,
            snapshots: Array(repeating: .init(), count: map.shardCount))
        _ = try objects.replace(
            HubObjectName.configuration, with: configuration.bytes, at: nil)
    }

    /// The configuration of the hubs, in the objects of the log.
    var file: ConfigurationFile {
        ConfigurationFile(log?.objects ?? ObjectDouble(), of: .init(low: 1, high: 2))
    }

    /// The configuration of the hubs.
    var configuration: HubConfiguration? {
        get throws { try file.load()?.configuration }
    }

    /// Returns the maintenance of a hub.
    func maintenance(_ hub: Int, _ settings: HubSettings = DocumentScene.quickSettings)
        -> SceneMaintenance
    {
        SceneMaintenance(SceneHub(self, hub), file, key: nodes[hub].key, settings)
    }

    /// Makes nodes hubs of a log that the object store describes; returns their maintenance.
    func beginHubs(
        _ log: LogDouble, _ numbers: [Int], _ map: ShardMap = .single,
        _ settings: HubSettings = DocumentScene.quickSettings
    ) throws -> [SceneMaintenance] {
        (self.log, hubs) = (log, numbers)
        try configure(map)
        var hubs = numbers.map { maintenance($0, settings) }
        for index in hubs.indices { _ = try hubs[index].step() }
        try run(seconds: 12)
        return hubs
    }

    /// Runs for a time, with a step of each maintenance in each second; returns what they have
    /// done.
    @discardableResult
    func run(seconds: UInt64, _ hubs: inout [SceneMaintenance]) throws -> [HubMaintenance.Event] {
        var events: [HubMaintenance.Event] = []
        for _ in 0..<seconds {
            try run(seconds: 1)
            for index in hubs.indices { events += try hubs[index].step() }
        }
        try run(seconds: 1)
        return events
    }

    /// Returns the checksum of all states of a node, tombstones included.
    func states(of number: Int) throws -> String {
        let snapshot = nodes[number].store.queries.documents.snapshot()
        let total = try StoreChecksum(of: snapshot, withStates: true).total
        return "\(total.documentCount) \(total.tombstoneCount) \(total.states)"
    }
}
