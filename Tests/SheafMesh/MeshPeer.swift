import SheafAttachments
import SheafBytes
import SheafDocument
import SheafEngine
import SheafQuery
import SheafReplication
import SheafStatements
import SheafStorage
import SheafSync
import SheafSystem
import SheafTestSupport
import SheafTransport

/// A peer on a simulated disk, with its own clock.
final class MeshPeer {
    let number: Int
    let clock: FakeClock
    let key: [UInt8]
    private(set) var volume: SimulatedVolume
    private(set) var store: StoreEngine
    private(set) var queries: QueryEngine
    private(set) var replicator: Replicator
    /// Number of reopenings of the store; events from before the last one are ignored.
    private(set) var opening = 0
    var subscriptions: [String] = []
    /// The queries of `contents(matching:)`, which are parsed once.
    private var parsed: [String: SubscriptionQuery] = [:]
    /// The newest commit in the log; `durableCommit` is the newest one that a flush made durable.
    private var appendedCommit: UInt64 = 0
    var newestCommit: UInt64 { appendedCommit }
    private(set) var durableCommit: UInt64 = 0
    /// Whether a flush is scheduled.
    var isFlushing = false
    /// The volume of attachments, which loses nothing in a power cut.
    private let files = MemoryVolume()
    private(set) var attachments: AttachmentStore
    /// The files that the peer fetches.
    var wantedFiles: Set<AttachmentID> = []
    /// Whether a tick for unfinished work is scheduled.
    var isServing = false
    /// The published metadata, as JSON.
    var metadata = Array("{}".utf8)
    private let source: SeededSource
    private let limits: ReplicatorLimits
    /// The rights of the peer at all other peers; nil: unlimited.
    let rights: PeerRights?
    /// Whether the frames of the peer are mangled.
    let isStranger: Bool
    /// Whether the clock was set back since the last repair.
    private(set) var wasSetBack = false
    /// Whether the clock was ever set back, so a backup may have stamps ahead of it.
    private var wasEverSetBack = false

    /// The offset of the clock from the correct time, in milliseconds.
    private(set) var skew: Int
    private static let start = 10_000_000

    static let database = Hello.DatabaseID(low: 1, high: 2)

    init(
        _ number: Int, seed: UInt64, _ member: MeshPlan.Member, _ limits: ReplicatorLimits
    ) throws {
        var limits = limits
        if member.isOlder { limits.versions = 3...3 }
        self.limits = limits
        self.number = number
        (rights, isStranger) = (member.rights, member.isStranger)
        source = SeededSource(seed: seed)
        key = Array(repeating: UInt8(number + 1), count: 32)
        clock = FakeClock()
        skew = member.skewMilliseconds
        clock.setWall(milliseconds: UInt64(Int(clock.clock.wallMilliseconds()) + Self.start + skew))
        volume = SimulatedVolume(seed: seed)
        store = try StoreEngine(opening: volume, options: Self.options(number, clock, source))
        queries = try QueryEngine(opening: store, maximumListed: Self.maximumListed(number))
        attachments = AttachmentStore(in: files)
        replicator = Self.makeReplicator(queries, key, attachments, limits, source)
    }

    /// Returns the maximum number of new documents in a listed commit, small for every other peer.
    private static func maximumListed(_ number: Int) -> Int { number % 2 == 0 ? 2 : 4_096 }

    private static func options(
        _ number: Int, _ clock: FakeClock, _ source: SeededSource
    ) -> LogStoreOptions {
        var options = LogStoreOptions()
        // Changes beyond this length are written before their transaction commits.
        if number % 3 == 1 { options.stagingThreshold = 100 }
        options.segmentLength = 16_000
        options.runsMaintenance = false
        options.history = HistoryHorizon(commits: 30, bytes: .max)
        options.clock = clock.clock
        options.random = { source.next() }
        return options
    }

    private static func makeReplicator(
        _ queries: QueryEngine, _ key: [UInt8], _ attachments: AttachmentStore,
        _ limits: ReplicatorLimits, _ source: SeededSource
    ) -> Replicator {
        Replicator(
            queries, Replicator.Identity(database: database, peerKey: key),
            attachments: attachments, limits: limits, random: { source.next() })
    }

    var documents: DocumentEngine { queries.documents }

    // MARK: Opening

    /// Reopens the store on another disk.
    func reopen(on volume: SimulatedVolume) throws {
        opening += 1
        isFlushing = false
        self.volume = volume
        store = try StoreEngine(opening: volume, options: Self.options(number, clock, source))
        queries = try QueryEngine(opening: store, maximumListed: Self.maximumListed(number))
        attachments = AttachmentStore(in: files)
        replicator = Self.makeReplicator(queries, key, attachments, limits, source)
        parsed = [:]
        durableCommit = documents.snapshot().log.commit
        appendedCommit = durableCommit
        try subscribe(subscriptions)
        replicator.present(metadata: metadata)
        for id in wantedFiles.sorted(by: { $0.description < $1.description }) {
            replicator.fetch(id, at: 0)
        }
    }

    /// Replaces the subscriptions.
    func subscribe(_ texts: [String]) throws {
        subscriptions = texts
        try replicator.subscribe(texts.map { try SubscriptionQuery($0, queries) })
    }

    // MARK: The clock

    /// The wall clock time, in milliseconds.
    var wall: UInt64 { clock.clock.wallMilliseconds() }

    /// Sets the clock to the correct time, or later.
    func setClock(laterBy milliseconds: Int = 0) {
        let right = Int(wall) - skew + milliseconds
        if right < Int(wall) { (wasSetBack, wasEverSetBack) = (true, true) }
        clock.setWall(milliseconds: UInt64(right))
        skew = milliseconds
    }

    /// Records that the disk is a backup, in which stamps may be ahead of the clock again.
    func recordRestored() {
        wasSetBack = wasEverSetBack
    }

    /// Restamps all documents with stamps ahead of the clock.
    func repairClock() throws {
        _ = try documents.repairClock { (batch) throws(StorageError) in
            try append(batch)
        } flush: { () throws(StorageError) in
            while try store.flush() {}
        }
        // The repair has flushed without updating `durableCommit`.
        try flush()
        wasSetBack = false
        replicator.processPublished()
    }

    // MARK: Documents

    func commit(_ changes: [DocumentChange]) throws {
        _ = try documents.commit(changes) { batch throws(StorageError) in
            try append(batch)
        }
    }

    func run(_ job: WriteJob) -> WriteJob.Outcome {
        job.run(queries) { batch throws(StorageError) in try append(batch) }
    }

    private func append(_ batch: WriteBatch) throws(StorageError) -> CommitID {
        appendedCommit = try store.append(batch)
        return appendedCommit
    }

    /// Flushes all written commits.
    func flush() throws {
        let commit = appendedCommit
        while try store.flush() {}
        durableCommit = commit
    }

    func compact() throws {
        store.compactEverything()
        while try store.compactionStep() {}
    }

    /// Returns all matching documents, with field names spelled out.
    func contents(matching texts: [String]) throws -> [DocumentAddress: [UInt8]] {
        let queries = try texts.map { text -> SubscriptionQuery in
            if let known = parsed[text] { return known }
            let query = try SubscriptionQuery(text, self.queries)
            parsed[text] = query
            return query
        }
        return try documents.snapshot().spelledContents(
            matching: SubscriptionMatcher(queries, self.queries))
    }
}
