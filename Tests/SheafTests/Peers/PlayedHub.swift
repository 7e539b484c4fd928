import Sheaf
import SheafBytes
import SheafDocument
import SheafEngine
import SheafHubLog
import SheafMesh
import SheafReplication
import SheafStatements
import SheafStorage
import SheafSync
import SheafTestSupport

/// A hub without clients, whose log a test plays request by request.
final class PlayedHub {
    static let log = HubLogID(low: 7, high: 8)
    static let second: UInt64 = 1_000_000_000

    let key: [UInt8]
    let clock = FakeClock()
    let store: SceneStore
    let replicator: Replicator
    private let map: ShardMap
    private(set) var now: UInt64 = 1_000_000_000
    /// Number of entries of each shard.
    private var counts: [UInt16: UInt64] = [:]
    private var requests: [HubEffect] = []
    /// The jobs that the hub has requested, and that did not run.
    private(set) var jobs: [WriteJob] = []

    init(
        _ map: ShardMap = .single, _ limits: HubFeedLimits = HubFeedLimits(), key byte: UInt8 = 5
    ) throws {
        self.map = map
        key = [UInt8](repeating: byte, count: 32)
        var options = LogStoreOptions()
        options.clock = clock.clock
        store = try SceneStore(SimulatedVolume(seed: UInt64(byte)), options)
        let source = SeededSource(seed: UInt64(byte))
        replicator = Replicator(
            store.queries,
            Replicator.Identity(database: Hello.DatabaseID(low: 1, high: 2), peerKey: key),
            random: { source.next() })
        var configuration = HubFeedConfiguration(log: Self.log, map: map)
        configuration.limits = limits
        try replicator.share(configuration, at: now)
        takeEffects()
    }

    private func takeEffects() {
        for effect in replicator.drainEffects() {
            switch effect {
            case .hub(let request): requests.append(request)
            case .write(let job): jobs.append(job)
            default: break
            }
        }
    }

    // MARK: Requests

    /// Removes and returns the requests since the last call.
    func takeRequests() -> [HubEffect] {
        defer { requests = [] }
        return requests
    }

    /// Removes the requests, and returns the messages to append.
    func takeAppended() -> [HubMessageChain.Encoded] {
        var messages: [HubMessageChain.Encoded] = []
        for case .append(let message, _) in takeRequests() { messages.append(message) }
        return messages
    }

    /// Removes the requests, and returns the lengths of the processed entries.
    func takeConsumed() -> [Int] {
        var lengths: [Int] = []
        for case .consumed(let length, _) in takeRequests() { lengths.append(length) }
        return lengths
    }

    /// Removes the requests, and returns the entries to read again.
    func takeRereads() -> [ClosedRange<UInt64>] {
        var ranges: [ClosedRange<UInt64>] = []
        for case .reread(let range, _) in takeRequests() { ranges.append(range) }
        return ranges
    }

    /// Removes the requests, and returns the beats.
    func takeBeats() throws -> [HubBroadcast.Beat] {
        var beats: [HubBroadcast.Beat] = []
        for case .broadcast(let bytes) in takeRequests() {
            let broadcast = try bytes.withUnsafeBytes {
                try HubBroadcast(decoding: $0, log: Self.log)
            }
            if case .beat(let beat) = broadcast.contents { beats.append(beat) }
        }
        return beats
    }

    func decoded(_ message: HubMessageChain.Encoded) throws -> HubMessage {
        try message.bytes.withUnsafeBytes {
            try HubMessage(decoding: $0, log: Self.log, shard: message.id.shard)
        }
    }

    /// Returns the documents of a group of one message.
    func documents(_ message: HubMessage) throws -> [DocumentAddress] {
        var reader = HubGroupReader(
            commit: message.extent.commit, shard: message.shard, in: map)
        return try reader.read(message.payload, isLast: true).map {
            DocumentAddress(collection: $0.collection, id: $0.id)
        }
    }

    static func address(
        _ id: String, in collection: String = "cars"
    ) throws -> DocumentAddress {
        DocumentAddress(collection: collection, id: try DocumentID.key(of: .string(id)))
    }

    // MARK: Events

    func receive(_ event: HubEvent) {
        replicator.receive(event, at: now)
        takeEffects()
    }

    /// Delivers the next entry of a shard, and returns its number.
    @discardableResult
    func deliver(_ bytes: [UInt8], to shard: UInt16 = 0) -> UInt64 {
        let number = (counts[shard] ?? 0) + 1
        counts[shard] = number
        redeliver(number, bytes, to: shard)
        return number
    }

    func redeliver(_ number: UInt64, _ bytes: [UInt8], to shard: UInt16 = 0) {
        receive(.received([HubLogEntry(number, bytes)], shard: HubShard(shard, of: Self.log)))
    }

    func acknowledge(_ message: HubMessageChain.Encoded, as entry: UInt64) {
        receive(.stored(message.id, entry: entry))
    }

    /// Stores and delivers all that the hub appends, until it appends nothing.
    func settle() {
        while true {
            let messages = takeAppended()
            guard !messages.isEmpty else { return }
            for message in messages {
                acknowledge(message, as: deliver(message.bytes, to: message.id.shard))
            }
        }
    }

    /// Receives a broadcast of another hub.
    func receive(
        _ contents: HubBroadcast.Contents, of author: HubAuthor,
        key: [UInt8] = [UInt8](repeating: 9, count: 32)
    ) {
        let broadcast = HubBroadcast(log: Self.log, hub: key, author: author, contents)
        receive(.broadcast(broadcast.bytes))
    }

    func tick(after nanoseconds: UInt64) {
        now += nanoseconds
        clock.advance(milliseconds: nanoseconds / 1_000_000)
        replicator.tick(at: now)
        takeEffects()
    }

    /// Inserts documents in one commit, and returns it.
    @discardableResult
    func commit(_ ids: [String], in collection: String = "cars") throws -> UInt64 {
        let insertion = DocumentChange.Action.insert(["n": 1], onConflict: .merge)
        try store.change(ids.map { DocumentChange(collection, .string($0), insertion) })
        replicator.processPublished(at: now)
        takeEffects()
        return newestCommit
    }

    var newestCommit: UInt64 { store.queries.documents.snapshot().log.commit }

    /// Runs the first job, and makes its commit durable.
    @discardableResult
    func runJob() throws -> WriteJob {
        let job = jobs.removeFirst()
        let outcome = store.write(job)
        try store.flush()
        replicator.handleOutcome(outcome)
        replicator.processPublished(at: now)
        takeEffects()
        return job
    }
}
