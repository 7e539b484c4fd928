import SheafBytes
import SheafDocument
import SheafHub
import SheafHubEngine
import SheafHubLog
import Synchronization
import Testing

/// Tests of the removal of objects that a log and its hubs no longer need.
@Suite struct ObjectCleaningTests {
    private static let start: UInt64 = 1_780_000_000_000
    private static let log = HubLogID(low: 1, high: 2)
    private static let database = XXH3.Hash128(low: 3, high: 4)

    private let objects = MemoryHubLog(MemoryHubEngine())

    /// A stored manifest with one part.
    private struct Snapshot {
        let hash: XXH3.Hash128
        let part: String

        var name: String { HubObjectName.snapshot(hash) }
    }

    /// Stores a manifest and its part, which has this number.
    private func put(
        entry: UInt64, part number: UInt64, shard: UInt16 = 0, of log: HubLogID = Self.log,
        at time: UInt64 = Self.start
    ) throws -> Snapshot {
        let part = XXH3.Hash128(low: number, high: 0)
        let manifest = SnapshotManifest(
            log: log, shard: shard, position: ShardPosition(entry: entry, digest: 7, authors: []),
            author: HubAuthor(site: Site(rawValue: 1), opening: 2), wallMilliseconds: time,
            checksum: XXH3.Hash128(low: 5, high: 6), pauses: [],
            parts: [.init(hash: part, length: 1, documentCount: 1)])
        let bytes = manifest.bytes
        let snapshot = Snapshot(
            hash: bytes.span.withUnsafeBytes { XXH3.hash128($0) }, part: HubObjectName.part(part))
        try objects.put(snapshot.name, bytes)
        try objects.put(snapshot.part, [1])
        return snapshot
    }

    /// Stores a part that no manifest names; returns its name.
    private func putPart(_ number: UInt64) throws -> String {
        let name = HubObjectName.part(XXH3.Hash128(low: number, high: 0))
        try objects.put(name, [1])
        return name
    }

    /// Stores the configuration of two shards, of which the first one has snapshots.
    private func configure(
        _ newest: Snapshot, earlier: Snapshot? = nil, isReplaced: Bool = false
    ) throws {
        var configuration = HubConfiguration(
            database: Self.database, log: Self.log, number: 1, map: try ShardMap(shardCount: 2),
            snapshots: [.init(newest: newest.hash, earlier: earlier?.hash), .init()])
        if isReplaced {
            configuration.replacement = HubConfiguration.Replacement(
                hub: Array(repeating: 7, count: 32), takeoverMilliseconds: 1)
        }
        let revision = try objects.load(HubObjectName.configuration)?.revision
        let outcome = try objects.replace(
            HubObjectName.configuration, with: configuration.bytes, at: revision)
        #expect(outcome == .replaced)
    }

    private var file: ConfigurationFile { ConfigurationFile(objects, of: Self.database) }

    private var settings: HubSettings {
        var settings = HubSettings()
        settings.cleaningMilliseconds = 0
        settings.supersededMilliseconds = 1_000
        settings.unverifiedMilliseconds = 5_000
        settings.removalMilliseconds = 10_000
        return settings
    }

    /// Performs steps, and expects that each one removes these objects.
    private func expect(
        _ removals: [(passed: UInt64, names: [String])], by cleaning: inout ObjectCleaning,
        _ settings: HubSettings, _ location: SourceLocation = #_sourceLocation
    ) throws {
        for (passed, names) in removals {
            let found = try cleaning.step(file, settings, at: Self.start + passed)
            #expect(found.sorted() == names.sorted(), "at \(passed) ms", sourceLocation: location)
        }
    }

    @Test func `each object is removed once its time has passed, and its parts after it`() throws {
        let newest = try put(entry: 10, part: 1)
        let earlier = try put(entry: 5, part: 2)
        let equal = try put(entry: 10, part: 3, at: Self.start + 1)
        let older = try put(entry: 7, part: 4)
        let unverified = try put(entry: 11, part: 5)
        // One is the first of its shard, and the other one of a shard that is not known here.
        let kept = [try put(entry: 1, part: 6, shard: 1), try put(entry: 1, part: 7, shard: 2)]
        let damaged = HubObjectName.snapshot(XXH3.Hash128(low: 8, high: 8))
        for name in [damaged, "snapshot/other"] { try objects.put(name, [1]) }
        let unnamed = try putPart(9)
        try configure(newest, earlier: earlier)
        var cleaning = ObjectCleaning()
        try expect(
            [
                (0, []), (1, [unnamed]), (999, []), (1_000, [equal.name, older.name, damaged]),
                (1_001, []), (1_002, [equal.part, older.part]), (4_999, []), (5_000, []),
                (5_999, []), (6_000, [unverified.name]), (6_001, []), (6_002, [unverified.part]),
                (100_000, []),
            ], by: &cleaning, settings)
        let rest = [newest, earlier] + kept
        #expect(try objects.list(HubObjectName.parts) == rest.map(\.part).sorted())
        #expect(
            try objects.list(HubObjectName.snapshots)
                == (rest.map(\.name) + ["snapshot/other"]).sorted())
    }

    @Test func `a snapshot that was used meanwhile is superseded anew`() throws {
        let (newest, other) = (try put(entry: 10, part: 1), try put(entry: 7, part: 2))
        var cleaning = ObjectCleaning()
        try configure(newest)
        try expect([(0, [])], by: &cleaning, settings)
        try configure(newest, earlier: other)
        try expect([(1_000, [])], by: &cleaning, settings)
        try configure(newest)
        try expect([(2_000, []), (2_999, []), (3_000, [other.name])], by: &cleaning, settings)
    }

    @Test func `objects are not looked for while the log is replaced, and then after an interval`()
        throws
    {
        let (newest, other) = (try put(entry: 10, part: 1), try put(entry: 7, part: 2))
        var settings = settings
        (settings.cleaningMilliseconds, settings.supersededMilliseconds) = (100, 0)
        var cleaning = ObjectCleaning()
        try configure(newest, isReplaced: true)
        try expect([(0, [])], by: &cleaning, settings)
        try configure(newest)
        try expect(
            [
                (99, []), (100, []), (199, []), (200, [other.name]), (299, []), (300, []),
                (399, []), (400, [other.part]),
            ], by: &cleaning, settings)
    }

    @Test func `a snapshot of another log is kept for a time from the moment that a hub found it`()
        throws
    {
        let id = HubLogID(low: 8, high: 9)
        let newest = try put(entry: 10, part: 1)
        let other = try put(entry: 20, part: 2, of: id)
        let end = HubObjectName.end(of: id)
        try configure(newest)
        var cleaning = ObjectCleaning()
        try expect([(0, [])], by: &cleaning, settings)
        #expect(try objects.object(end, limit: 8) == [0x00, 0x88, 0x44, 0x70, 0x9E, 0x01, 0, 0])
        // Another hub knows the time from the object.
        cleaning = ObjectCleaning()
        try expect(
            [
                (9_999, []), (10_000, []), (10_999, []), (11_000, [other.name]), (11_001, [end]),
                (11_002, [other.part]), (11_003, []),
            ], by: &cleaning, settings)
        #expect(try objects.list("") == [newest.part, newest.name])
    }

    @Test func `any number of parts are removed in one step`() throws {
        try configure(try put(entry: 10, part: 1))
        let names = try (100..<230).map { try putPart($0) }
        var cleaning = ObjectCleaning()
        try expect([(0, []), (1, names), (2, [])], by: &cleaning, settings)
        #expect(try objects.list(HubObjectName.parts).count == 1)
    }

    // MARK: Other hubs

    /// The first step lists manifests once, and the next one also before each 64 parts.
    @Test(arguments: [(3, 65), (4, 1)])
    func `no part is removed once another snapshot appears`(_ call: Int, _ rest: Int) throws {
        let newest = try put(entry: 10, part: 1)
        try configure(newest)
        let names = try (100..<165).map { try putPart($0) }
        let last = names.sorted()[64]
        let test = self
        let watched = WatchedStorage(objects, HubObjectName.snapshots, call) {
            _ = try? test.put(entry: 11, part: 164)
        }
        let file = ConfigurationFile(watched, of: Self.database)
        var cleaning = ObjectCleaning()
        #expect(try cleaning.step(file, settings, at: Self.start) == [])
        #expect(try cleaning.step(file, settings, at: Self.start + 1).count == 65 - rest)
        // The new snapshot names the last part.
        let later = try cleaning.step(file, settings, at: Self.start + 2)
        #expect(later.count == rest - 1 && !later.contains(last))
        #expect(try objects.list(HubObjectName.parts).contains(last))
    }

    @Test func `no part is removed once a hub replaces the log`() throws {
        let newest = try put(entry: 10, part: 1)
        try configure(newest)
        let name = try putPart(2)
        let test = self
        let watched = WatchedStorage(objects, HubObjectName.parts, 2) {
            _ = try? test.configure(newest, isReplaced: true)
        }
        let file = ConfigurationFile(watched, of: Self.database)
        var cleaning = ObjectCleaning()
        for passed: UInt64 in 0...2 {
            #expect(try cleaning.step(file, settings, at: Self.start + passed) == [])
        }
        #expect(try objects.list(HubObjectName.parts) == [newest.part, name])
    }
}

/// A store of objects in memory that runs a closure before one of its lists.
private final class WatchedStorage: HubStorage {
    private let base: MemoryHubLog
    private let prefix: String
    private let call: Int
    private let calls = Mutex(0)
    private let action: @Sendable () -> Void

    /// Runs `action` before the list with a prefix that has this number, from 1.
    init(
        _ base: MemoryHubLog, _ prefix: String, _ call: Int,
        _ action: @escaping @Sendable () -> Void
    ) {
        (self.base, self.prefix, self.call, self.action) = (base, prefix, call, action)
    }

    func list(_ prefix: String) throws(HubLogError) -> [String] {
        if prefix == self.prefix {
            let number = calls.withLock { calls in
                calls += 1
                return calls
            }
            if number == call { action() }
        }
        return try base.list(prefix)
    }

    func put(_ name: String, _ bytes: [UInt8]) throws(HubLogError) { try base.put(name, bytes) }

    func get(
        _ name: String, _ body: ([UInt8]) throws(HubLogError) -> Void
    ) throws(HubLogError) {
        try base.get(name, body)
    }

    func remove(_ name: String) throws(HubLogError) { try base.remove(name) }

    func load(_ name: String) throws(HubLogError) -> (bytes: [UInt8], revision: UInt64)? {
        try base.load(name)
    }

    func replace(
        _ name: String, with bytes: [UInt8], at revision: UInt64?
    ) throws(HubLogError) -> HubLogReplacement {
        try base.replace(name, with: bytes, at: revision)
    }

    func create(_ log: HubLogID, shardCount: Int) throws(HubLogError) {
        try base.create(log, shardCount: shardCount)
    }

    func logs() throws(HubLogError) -> [HubLogID] { try base.logs() }

    func check(_ log: HubLogID, shardCount: Int) throws(HubLogError) {
        try base.check(log, shardCount: shardCount)
    }

    func trim(_ shard: HubShard, before entry: UInt64) throws(HubLogError) -> Bool {
        base.trim(shard, before: entry)
    }

    func remove(_ log: HubLogID) throws(HubLogError) { try base.remove(log) }
}
