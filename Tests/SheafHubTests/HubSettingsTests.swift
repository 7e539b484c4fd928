import SheafBytes
import SheafDocument
import SheafHub
import SheafHubEngine
import SheafHubLog
import SheafSystem
import Testing

/// When a shard gets a snapshot, and when objects are removed.
@Suite struct HubSettingsTests {
    private static let hour: UInt64 = 3_600_000
    private static let day: UInt64 = 24 * hour
    private static let start: UInt64 = 1_780_000_000_000
    private static let log = HubLogID(low: 1, high: 2)
    private static let database = XXH3.Hash128(low: 3, high: 4)

    @Test func `the defaults are those of the documentation`() {
        let settings = HubSettings()
        let times: [(UInt64, UInt64)] = [
            (settings.stepMilliseconds, 1_000), (settings.retryMilliseconds, 5_000),
            (settings.snapshotLength, 67_108_864), (settings.snapshotMilliseconds, Self.day),
            (settings.leastMilliseconds, 600_000), (HubSettings.idleLength, 65_536),
            (settings.verificationMilliseconds, Self.hour), (settings.listMilliseconds, 10_000),
            (settings.trimMilliseconds, Self.hour), (settings.removalMilliseconds, 7 * Self.day),
            (settings.supersededMilliseconds, Self.hour),
            (settings.unverifiedMilliseconds, Self.day),
            (settings.cleaningMilliseconds, Self.hour), (settings.fileStepMilliseconds, 250),
            (settings.fileSearchMilliseconds, 10_000), (settings.takeoverMilliseconds, 60_000),
            (settings.incidentMilliseconds, 5_000), (settings.replacementMilliseconds, 60_000),
        ]
        for (index, (found, expected)) in times.enumerated() {
            #expect(found == expected, "number \(index)")
        }
        #expect(settings.bytesPerSecond == 8_388_608)
        #expect(settings.fileBytesPerSecond == 33_554_432)
        #expect(settings.fileChunks == 64)
        #expect(HubFiles.maximumSought == 64)
        #expect(HubFiles.searchMilliseconds == 60_000)
        #expect(HubFiles.waitMilliseconds == 5_000)
        #expect(HubFiles.failedCheckMilliseconds == 60_000)
        #expect(HubSnapshots.failedTrimMilliseconds == 60_000)
        #expect(Hub.lastNanoseconds == 5_000_000_000)
        #expect(Hub.answerSeconds == 5)
        let options = HubOptions()
        #expect(options.startSeconds == 60)
        #expect(options.drainSeconds == 30)
        #expect(options.closingSeconds == 10)
        #expect(options.configurationMilliseconds == 5_000)
    }

    @Test func `a store that is away for half of the lifetime of tombstones may miss some`() {
        let lifetime = 168 * Self.hour
        for (passed, isOld) in [
            (84 * Self.hour - 1, false), (84 * Self.hour, true), (84 * Self.hour + 1, true),
        ] {
            let found = HubPreparation.mayLackTombstones(
                since: Self.start, lifetime: lifetime, at: Self.start + passed)
            #expect(found == isOld)
        }
    }

    // MARK: Snapshots

    @Test func `an interval has passed at its end, and not before its start`() {
        let start = Self.start
        for (now, hasPassed) in [(0, false), (99, false), (100, true), (101, true)] {
            #expect((start + UInt64(now)).hasPassed(100, since: start) == hasPassed)
        }
        #expect(!(start - 1).hasPassed(0, since: start))
        #expect(start.hasPassed(0, since: start))
    }

    @Test func `two snapshots of a shard are at least ten minutes apart`() {
        let settings = HubSettings()
        #expect(settings.allowsSnapshot(after: nil, at: Self.start))
        for (passed, isAllowed) in [(0, false), (599_999, false), (600_000, true)] {
            let now = Self.start + UInt64(passed)
            #expect(settings.allowsSnapshot(after: Self.start, at: now) == isAllowed)
        }
    }

    @Test(
        arguments: [
            (64 << 20, 0, false), (64 << 20 + 1, 0, true), (64 << 20 + 1, 128 << 20, true),
            (64 << 20 + 1, 128 << 20 + 2, false), (64 << 20 + 2, 128 << 20 + 2, true),
        ] as [(UInt64, UInt64, Bool)])
    func `a shard needs a snapshot after 64 MiB, or half of the newest one`(
        _ read: UInt64, _ newest: UInt64, _ isNeeded: Bool
    ) {
        let isFound = HubSettings().needsSnapshot(
            readLength: read, after: newest, since: Self.start, at: Self.start)
        #expect(isFound == isNeeded)
    }

    @Test(
        arguments: [
            (86_399_999, 65_537, false), (86_400_000, 65_537, true), (86_400_000, 65_536, false),
            (2_592_000_000, 65_536, false),
        ] as [(UInt64, UInt64, Bool)])
    func `a shard needs a snapshot each day, unless there are only marks`(
        _ age: UInt64, _ read: UInt64, _ isNeeded: Bool
    ) {
        let isFound = HubSettings().needsSnapshot(
            readLength: read, after: 1 << 40, since: Self.start, at: Self.start + age)
        #expect(isFound == isNeeded)
    }

    @Test func `a snapshot has an hour to be verified, and the time to write and read it`() {
        let manifest = manifest(entry: 1, at: Self.start, length: 8 << 20)
        var settings = HubSettings()
        #expect(settings.verificationMilliseconds(of: manifest) == Self.hour + 2_000)
        settings.bytesPerSecond = 4 << 20
        #expect(settings.verificationMilliseconds(of: manifest) == Self.hour + 4_000)
        settings.bytesPerSecond = 0
        #expect(settings.verificationMilliseconds(of: manifest) == Self.hour + 16_777_216_000)
        settings.verificationMilliseconds = .max
        #expect(settings.verificationMilliseconds(of: manifest) == .max)
        // Twice its milliseconds are more than a number has.
        let long = self.manifest(entry: 1, at: Self.start, length: UInt64.max / 2_000 + 1)
        #expect(HubSettings().verificationMilliseconds(of: long) == .max)
    }

    @Test func `a limit of bytes delays neither a hub that stops nor one without a limit`() {
        let stop = EvaluationStop()
        RateLimit(bytesPerSecond: .max, until: stop).wait(1 << 30)
        stop.set()
        // Each of them would take days.
        for rate in [1, 0, -1] {
            let pace = RateLimit(bytesPerSecond: rate, until: stop)
            for _ in 0..<2 { pace.wait(1_000_000) }
        }
    }

    // MARK: Removing

    private func manifest(entry: UInt64, at time: UInt64, length: UInt64 = 1) -> SnapshotManifest {
        SnapshotManifest(
            log: Self.log, shard: 0, position: ShardPosition(entry: entry, digest: 7, authors: []),
            author: HubAuthor(site: Site(rawValue: 1), opening: 2), wallMilliseconds: time,
            checksum: XXH3.Hash128(low: 5, high: 6), pauses: [],
            parts: [
                .init(hash: XXH3.Hash128(low: entry, high: 1), length: length, documentCount: 1)
            ])
    }

    /// Stores a manifest; returns its hash.
    private func put(_ manifest: SnapshotManifest, _ objects: MemoryHubLog) throws -> XXH3.Hash128 {
        let bytes = manifest.bytes
        let hash = bytes.span.withUnsafeBytes { XXH3.hash128($0) }
        try objects.put(HubObjectName.snapshot(hash), bytes)
        return hash
    }

    /// Returns the objects of a log with one snapshot of entry 10.
    private func objects() throws -> (MemoryHubLog, ConfigurationFile) {
        let objects = MemoryHubLog(MemoryHubEngine())
        try objects.create(Self.log, shardCount: 1)
        let newest = try put(manifest(entry: 10, at: Self.start), objects)
        let configuration = HubConfiguration(
            database: Self.database, log: Self.log, number: 1, map: .single,
            snapshots: [.init(newest: newest)])
        _ = try objects.replace(HubObjectName.configuration, with: configuration.bytes, at: nil)
        return (objects, ConfigurationFile(objects, of: Self.database))
    }

    @Test(arguments: [63, 64])
    func `a change of the configuration is tried 64 times`(_ contests: Int) throws {
        let (objects, file) = try objects()
        var attempts = 0
        let change = {
            try file.change { found in
                attempts += 1
                guard attempts <= contests else { return found }
                // Another hub changes it meanwhile.
                var other = found
                other.number += 1
                let revision = try objects.load(HubObjectName.configuration)?.revision
                _ = try objects.replace(
                    HubObjectName.configuration, with: other.bytes, at: revision)
                return found
            }
        }
        if contests < 64 {
            #expect(try change().number == 64)
        } else {
            #expect(throws: HubError.self) { try change() }
        }
        #expect(attempts == 64)
    }

    @Test func `a superseded snapshot is removed an hour after it was found`() throws {
        let (objects, file) = try objects()
        let name = HubObjectName.snapshot(try put(manifest(entry: 5, at: Self.start), objects))
        var settings = HubSettings()
        settings.cleaningMilliseconds = 0
        var cleaning = ObjectCleaning()
        for passed in [0, 1, Self.hour - 1] {
            #expect(try cleaning.step(file, settings, at: Self.start + passed) == [])
        }
        #expect(try cleaning.step(file, settings, at: Self.start + Self.hour) == [name])
    }

    @Test func `objects are looked for once an hour`() throws {
        let (objects, file) = try objects()
        let name = HubObjectName.snapshot(try put(manifest(entry: 5, at: Self.start), objects))
        var settings = HubSettings()
        settings.supersededMilliseconds = 0
        var cleaning = ObjectCleaning()
        for passed in [0, 1, Self.hour - 1] {
            #expect(try cleaning.step(file, settings, at: Self.start + passed) == [])
        }
        #expect(try cleaning.step(file, settings, at: Self.start + Self.hour) == [name])
    }

    @Test func `a snapshot that no hub has verified is superseded a day after it was written`()
        throws
    {
        let (objects, file) = try objects()
        let name = HubObjectName.snapshot(try put(manifest(entry: 20, at: Self.start), objects))
        var settings = HubSettings()
        (settings.cleaningMilliseconds, settings.supersededMilliseconds) = (0, 0)
        var cleaning = ObjectCleaning()
        // It is found first, and removed by the next step.
        for passed in [Self.day - 1, Self.day - 1, Self.day] {
            #expect(try cleaning.step(file, settings, at: Self.start + passed) == [])
        }
        #expect(try cleaning.step(file, settings, at: Self.start + Self.day) == [name])
    }

    @Test func `a replaced log is removed seven days after a hub has found it`() throws {
        let (objects, file) = try objects()
        let old = HubLogID(low: 8, high: 9)
        try objects.create(old, shardCount: 1)
        try objects.start(SilentHost())
        defer { objects.stop() }
        let author = HubAuthor(site: Site(rawValue: 1), opening: 1)
        for (sequence, log) in [(1, old), (2, Self.log)] as [(UInt64, HubLogID)] {
            objects.append(
                [1], to: log,
                as: HubMessageID(author: author, shard: 0, sequence: sequence, checksum: 0))
        }
        var settings = HubSettings()
        settings.cleaningMilliseconds = 0
        var cleaning = ObjectCleaning()
        _ = try cleaning.step(file, settings, at: Self.start)
        // Another hub knows the time from the object.
        cleaning = ObjectCleaning()
        for passed in [1, Self.day, 7 * Self.day - 1] {
            _ = try cleaning.step(file, settings, at: Self.start + passed)
            #expect(Set(try objects.logs()) == [old, Self.log], "after \(passed) ms")
        }
        _ = try cleaning.step(file, settings, at: Self.start + 7 * Self.day)
        #expect(try objects.logs() == [Self.log])
    }
}

/// A host that ignores the events of its log.
private final class SilentHost: HubLogHost {
    func stored(_ id: HubMessageID, as entry: UInt64) {}
    func failed(_ id: HubMessageID, _ error: HubLogError) {}
    func received(_ entries: [HubLogEntry], of shard: HubShard) {}
    func received(broadcast: [UInt8]) {}
    func disconnected(_ error: HubLogError) {}
}
