import Sheaf
import SheafDocument
import SheafEngine
import SheafStorage
import SheafTestSupport
import Testing

/// Tests of the change feed: what commits record, and what is drained.
@Suite struct CommitFeedTests {
    private let clock = FakeClock()
    private let store: StoreEngine

    init() throws {
        store = try StoreEngine(opening: SimulatedVolume(seed: 1), options: Self.options(clock))
    }

    private static func options(_ clock: FakeClock) -> LogStoreOptions {
        var options = LogStoreOptions()
        options.clock = clock.clock
        return options
    }

    private func change(_ number: UInt8, _ commit: CommitID) -> CommitFeed.Change {
        CommitFeed.Change(
            key: DocumentKey([number]), before: nil, isEvicted: false, commit: commit,
            origin: nil, connection: nil, stamp: nil)
    }

    /// Returns the number of the document and the commit of each change.
    private func texts(_ changes: [CommitFeed.Change]) -> [String] {
        changes.map { "\($0.key.bytes) in \($0.commit)" }
    }

    @Test(arguments: 0..<6 as Range<UInt64>)
    func `changes are drained in the order of commits, and merged ones once for each document`(
        seed: UInt64
    ) {
        var random = SeededRandom(seed: seed, "commit feed")
        let feed = CommitFeed()
        feed.setRecording(true)
        var recorded: [(number: UInt8, commit: CommitID)] = []
        var commit: CommitID = 0
        for _ in 0..<150 {
            guard random.chance(1, in: 3) else {
                commit += 1
                // Within one commit each document occurs once.
                let first = random.below(5)
                let numbers = (first...first + random.below(3)).map { UInt8($0) }
                feed.record(numbers.map { change($0, commit) })
                for number in numbers { recorded.append((number: number, commit: commit)) }
                continue
            }
            let last = commit - min(commit, CommitID(random.below(4)))
            let taken = recorded.filter { $0.commit <= last }
            recorded.removeAll { $0.commit <= last }
            var expected = taken
            let isMerged = random.chance(1, in: 2)
            if isMerged {
                expected = []
                for one in taken where !expected.contains(where: { $0.number == one.number }) {
                    expected.append(one)
                }
            }
            let found = isMerged ? feed.drainMerged(through: last) : feed.drain(through: last)
            #expect(
                texts(found) == expected.map { "[\($0.number)] in \($0.commit)" }, "seed \(seed)")
        }
    }

    @Test func `a feed that does not record has no changes`() {
        let feed = CommitFeed()
        feed.record([change(1, 1)])
        feed.recordUnknown(through: 1)
        #expect(feed.drain(through: 9).isEmpty)
        #expect(!feed.drainUnknown(through: 9))
        feed.setRecording(true)
        feed.record([change(2, 2)])
        feed.recordUnknown(through: 2)
        // Recording again keeps what was recorded, and stopping discards it.
        feed.setRecording(true)
        #expect(texts(feed.drain(through: 2)) == ["[2] in 2"])
        feed.record([change(3, 3)])
        feed.setRecording(false)
        feed.setRecording(true)
        #expect(feed.drain(through: 9).isEmpty)
        #expect(!feed.drainUnknown(through: 9))
    }

    @Test func `unknown changes are reported once, when their commit is reached`() {
        let feed = CommitFeed()
        feed.setRecording(true)
        #expect(!feed.drainUnknown(through: 0))
        feed.recordUnknown(through: 5)
        #expect(!feed.drainUnknown(through: 4))
        #expect(feed.drainUnknown(through: 5))
        #expect(!feed.drainUnknown(through: 6))
        feed.recordUnknown(through: 7)
        #expect(feed.drainUnknown(through: 9))
    }

    // MARK: Commits of an engine

    @discardableResult
    private func commit(
        _ engine: DocumentEngine, from origin: CommitOrigin? = nil, _ changes: DocumentChange...
    ) throws -> DocumentReceipt {
        try engine.commit(changes, from: origin) { batch throws(StorageError) in
            try store.append(batch)
        }
    }

    private func insert(_ id: Value, _ object: Object) -> DocumentChange {
        DocumentChange("cars", id, .insert(object))
    }

    /// Returns the value of a field before a change; nil if the document was new.
    private func field(_ name: String, before change: CommitFeed.Change, _ engine: DocumentEngine)
        throws -> Value?
    {
        try change.before?.read { bytes in
            try EncodedDocument(bytes).value(engine.snapshot().names)?[name]
        }
    }

    @Test func `a change has the document before it, its commit, its stamp and its origin`() throws
    {
        let engine = try DocumentEngine(store)
        try commit(engine, insert(1, ["x": 1]), insert(2, ["x": 2]), insert(3, ["x": 3]))
        try store.flush()
        #expect(engine.startFeed() == 1)
        clock.advance(milliseconds: 5)
        let receipt = try commit(
            engine, DocumentChange("cars", 1, .edit([.set(path: ["x"], to: 7)])),
            DocumentChange("cars", 2, .evict), insert(4, ["x": 4]),
            // A document that is changed twice is in the feed once.
            DocumentChange("cars", 3, .delete), insert(3, ["x": 9]))
        let origin = CommitOrigin(
            stamp: Stamp(HybridTime(milliseconds: 1_780_000_000_000), Site(rawValue: 5)),
            peer: Site(rawValue: 6), commit: 77)
        try commit(engine, from: origin, insert(5, ["x": 5]))
        try store.flush()
        let changes = engine.drainFeed(through: 3)
        let ids = try changes.map { change in
            try DocumentID.id(of: Array(change.key.bytes.dropFirst(StoreKey.documentPrefixLength)))
        }
        let order = ids.indices.sorted { "\(ids[$0])" < "\(ids[$1])" }
        #expect(order.map { ids[$0] } == [1, 2, 3, 4, 5])
        let sorted = order.map { changes[$0] }
        let before = try sorted.map { try field("x", before: $0, engine) }
        #expect(before == [1, 2, 3, nil, nil] as [Value?])
        #expect(sorted.map(\.isEvicted) == [false, true, false, false, false])
        #expect(sorted.map(\.commit) == [2, 2, 2, 2, 3])
        #expect(sorted.map(\.origin) == [nil, nil, nil, nil, origin])
        #expect(sorted.map(\.connection) == [nil, nil, nil, nil, nil])
        let stamp = try #require(receipt.outcomes[0].stamp)
        #expect(sorted.map(\.stamp) == [stamp, stamp, stamp, stamp, origin.stamp])
        #expect(engine.drainFeed(through: 3).isEmpty)
        engine.stopFeed()
        try commit(engine, insert(6, ["x": 6]))
        #expect(engine.drainFeed(through: 4).isEmpty)
    }

    @Test func `the feed begins after the last commit, durable or not`() throws {
        do {
            let engine = try DocumentEngine(store)
            #expect(engine.startFeed() == 0)
            #expect(engine.setPeerFeedRecording(true) == 0)
            try commit(engine, insert(1, ["x": 1]))
            try commit(engine, insert(2, ["x": 1]))
            #expect(store.snapshot().commit == 0)
            #expect(engine.startFeed() == 2)
            #expect(engine.setPeerFeedRecording(true) == 2)
            try store.flush()
        }
        // A new engine has no pending documents.
        let engine = try DocumentEngine(store)
        #expect(engine.startFeed() == 2)
        #expect(engine.setPeerFeedRecording(true) == 2)
    }

    /// Commits documents that are encoded before, as an import and a first sync do.
    private func load(_ ids: Range<Int64>, _ engine: DocumentEngine) throws {
        var encoder = NewDocumentEncoder()
        var documents = NewDocuments()
        for id in ids {
            encoder.encode(["x": 1], without: "_id", NameTable())
            let key = StoreKey.document(collection: 0, id: SortKey.identity(of: .integer(id)))
            documents.append(encoder, key.bytes, row: UInt64(id))
        }
        documents.sort()
        _ = try engine.write(
            from: nil, append: { (batch) throws(StorageError) in try store.append(batch) }
        ) { (transaction) throws(EngineError) in
            documents.setCollection(try transaction.number(ofCollection: "cars"))
            _ = try transaction.selectNew(of: &documents)
            try transaction.insert(&documents)
        }
    }

    @Test func `a load of more new documents than the feed lists is omitted from that of peers`()
        throws
    {
        let engine = try DocumentEngine(store, maximumListed: 2)
        _ = engine.startFeed()
        _ = engine.setPeerFeedRecording(true)
        try load(0..<2, engine)
        try load(10..<13, engine)
        try load(20..<23, engine)
        // Local insertions are listed, however many there are.
        try commit(
            engine, insert(31, ["x": 1]), insert(32, ["x": 1]), insert(33, ["x": 1]))
        try load(40..<44, engine)
        try store.flush()
        let first = engine.drainPeerFeed(through: 1)
        #expect(first.changes.map(\.commit) == [1, 1] && first.untold == nil)
        let next = engine.drainPeerFeed(through: 4)
        #expect(next.changes.map(\.commit) == [4, 4, 4] && next.untold == 3)
        let last = engine.drainPeerFeed(through: 5)
        #expect(last.changes.isEmpty && last.untold == 5)
        #expect(engine.drainPeerFeed(through: 5).untold == nil)
        // Observers get all of them.
        #expect(engine.drainFeed(through: 5).count == 15)
        // Stopping forgets the omitted commits, too.
        try load(50..<54, engine)
        _ = engine.setPeerFeedRecording(false)
        #expect(engine.drainPeerFeed(through: 6).untold == nil)
    }
}
