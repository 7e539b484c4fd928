import SheafBytes
import SheafDocument
import SheafHub
import SheafHubLog
import SheafReplication
import SheafTransport
import Testing

/// Tests of the status of a hub and of its reasons, from samples of its threads.
@Suite struct HubStatusTests {
    private static let second: UInt64 = 1_000_000_000
    private static let now: UInt64 = 100_000_000_000
    private static let wall: UInt64 = 1_780_000_000_000
    private static let log = HubLogID(low: 1, high: 2)
    private static let author = HubAuthor(site: Site(rawValue: 1), opening: 2)
    private static let key = Array(repeating: UInt8(7), count: 32)

    private func shard(
        _ number: UInt16, read: UInt64 = 12, hasCaughtUp: Bool = true, isBlocked: Bool = false,
        incidents: [ShardIncident] = [], newerVersion: UInt8? = nil
    ) -> HubProgress.Shard {
        HubProgress.Shard(
            number: number,
            progress: ShardProgress(read: read, digest: 9, stored: read - 1) ?? .start,
            hasCaughtUp: hasCaughtUp, isBlocked: isBlocked, unstoredMessages: Int(number) + 2,
            unstoredLength: 100 * Int(number) + 40, firstUnstored: 5, unwrittenGroups: 0,
            incidents: incidents, newerVersion: newerVersion)
    }

    /// Returns a sample of a hub that has read these shards.
    private func sample(
        _ shards: [HubProgress.Shard], of log: HubLogID = Self.log
    ) -> HubSample {
        let configuration = HubConfiguration(
            database: .init(low: 3, high: 4), log: Self.log, number: 3, map: .single,
            snapshots: [.init()])
        var sample = HubSample(
            respondedAt: Self.now, configuration: configuration, configuredAt: Self.now)
        sample.progress = HubProgress(
            log: log, author: Self.author, shards: shards, commit: 9, hubDurable: 7,
            clientCount: 3, unacknowledgedCount: 4, pendingLength: 500,
            heldNanoseconds: 2_500_999_999, faults: ["gap": 1])
        sample.isListening = true
        sample.hubs.log = Self.log
        return sample
    }

    private func reasons(_ sample: HubSample) -> [String] {
        Readiness(sample: sample, formats: 1...1, now: Self.now).reasons
    }

    private func beat(_ key: UInt8, wall: UInt64 = Self.wall) -> [UInt8] {
        let beat = HubBroadcast.Beat(
            isDraining: key == 2, isReady: key != 2, versions: 1...key, wallMilliseconds: wall,
            clientCount: UInt64(key) + 4, addresses: [], shards: [])
        return HubBroadcast(
            log: Self.log, hub: Array(repeating: key, count: 32), author: Self.author, .beat(beat)
        ).bytes
    }

    // MARK: - Reasons

    @Test func `a shard that is not read to its end, or cannot be read, is a reason`() {
        #expect(reasons(sample([shard(0), shard(1)])) == [])
        let shards = [
            shard(0, hasCaughtUp: false),
            shard(1, hasCaughtUp: false, isBlocked: true),
            shard(2, hasCaughtUp: false, isBlocked: true, newerVersion: 2), shard(3),
        ]
        #expect(
            reasons(sample(shards)) == [
                "shard 0 is read up to entry 12, and not to its end",
                "shard 1 has documents that this program cannot read; install a newer one",
                "shard 2 has messages of version 2, and this program reads those up to 1; "
                    + "install a newer one",
            ])
    }

    @Test func `each incident is a reason, with its entry and its end`() {
        let incidents = ShardIncident.Kind.allCases.enumerated().map { index, kind in
            ShardIncident(kind, entry: UInt64(index + 3))
        }
        let start = "shard 1 has an incident: "
        #expect(
            reasons(sample([shard(0), shard(1, incidents: incidents)])) == [
                start + "hubs or messages contradict each other (at entry 3); "
                    + "a hub replaces the log",
                start + "entries that existed are gone or changed (at entry 4); "
                    + "a hub replaces the log",
                start + "messages are missing, and nothing has replaced them (at entry 5); "
                    + "a hub replaces the log",
                start + "the engine does not deliver entries that others have read "
                    + "(at entry 6); it ends when they arrive",
            ])
    }

    @Test func `a configuration that the hub does not follow is a reason`() {
        let other = HubLogID(low: 1, high: 9)
        var sample = sample([shard(0)], of: other)
        let replaced = "the log was replaced by number 3, which this hub does not read yet"
        #expect(reasons(sample) == [replaced])
        sample.configuration.format = 2
        sample.isDraining = true
        let newer =
            "the hubs write messages of version 2, and this program those up to 1; "
            + "install a newer one"
        #expect(reasons(sample) == ["the hub is draining: it stops", newer, replaced])
        sample.configuration.replacement = HubConfiguration.Replacement(
            hub: Self.key, takeoverMilliseconds: 1)
        #expect(
            reasons(sample) == [
                "the hub is draining: it stops", newer, "a hub is replacing the log",
            ])
    }

    @Test func `a hub that does not listen shows this when there is no other reason`() {
        let listening = "the hub does not accept connections yet"
        var open = sample([shard(0)])
        open.isListening = false
        #expect(reasons(open) == [listening])
        var late = sample([shard(0), shard(1, hasCaughtUp: false)])
        late.isListening = false
        #expect(reasons(late) == ["shard 1 is read up to entry 12, and not to its end"])
        open.traffic.returnedAt = Self.now - 11 * Self.second
        #expect(
            reasons(open) == ["the engine has not returned the beats of this hub for 11 s"])
    }

    // MARK: - Numbers

    @Test func `the status and its metrics have the numbers of a sample`() throws {
        var sample = sample([shard(0), shard(1, incidents: [ShardIncident(.fork, entry: 5)])])
        sample.lag.record(commit: 9, hubDurable: 7, at: Self.now - 3 * Self.second - 1)
        for sequence: UInt64 in 1...2 {
            let id = HubMessageID(
                author: Self.author, shard: 0, sequence: sequence, checksum: 1)
            sample.traffic.appended(id, 9, to: Self.log, at: Self.now, Self.wall)
        }
        sample.traffic.received([HubLogEntry(1, [1, 2, 3])], of: HubShard(0, of: Self.log))
        let key = try #require(PeerKey(Self.key))
        let status = HubStatus(sample, of: key, formats: 1...2, at: Self.now)
        #expect(!status.isReady && status.isLive && !status.isDraining)
        #expect(status.commit == 9 && status.hubDurableCommit == 7)
        #expect(status.lagMilliseconds == 3_000 && status.heldMilliseconds == 2_500)
        #expect(status.format == 1 && status.formats == 1...2 && status.logNumber == 3)
        #expect(status.log == "01000000000000000200000000000000")
        #expect(status.shards.map(\.readEntry) == [12, 12])
        #expect(status.shards.map(\.storedEntry) == [11, 11])
        #expect(status.shards.map(\.unstoredBytes) == [40, 140])
        #expect(status.counts["fault_gap"] == 1 && status.counts["read_bytes"] == 3)
        #expect(status.counts["appended_bytes"] == 18 && status.counts["trims"] == 0)
        let rows: [(name: String, value: Value)] = [
            ("hub_ready", false), ("hub_live", true), ("hub_draining", false),
            ("hub_durable_commit", 7), ("hub_durable_lag_commits", 2),
            ("hub_durable_lag_ms", 3_000), ("hub_clients", 3),
            ("hub_unacknowledged_batches", 4), ("hub_pending_bytes", 500),
            ("hub_clients_held", true), ("hub_clients_held_ms", 2_500),
            ("hub_unstored_messages", 5), ("hub_unstored_bytes", 180), ("hub_incidents", 1),
            ("hub_unstored_files", 0), ("hub_live_hubs", 0), ("hub_log_number", 3),
            ("hub_appended_bytes", 18), ("hub_appended_messages", 2),
        ]
        for (row, expected) in zip(status.metrics, rows) {
            #expect(row["_id"] == .string(expected.name) && row["name"] == row["_id"])
            #expect(row["value"] == expected.value, "\(expected.name)")
        }
        #expect(status.metrics.count == 17 + status.counts.count)
    }

    @Test func `other hubs are listed by their keys, also those that are silent`() throws {
        var sample = sample([shard(0)])
        let times: [(key: UInt8, at: UInt64)] = [
            (3, Self.now - 10 * Self.second), (2, Self.now - 9 * Self.second - 999_999),
            (1, Self.now),
        ]
        for (key, time) in times {
            _ = sample.hubs.receive(
                beat(key, wall: Self.wall + 1_000 * UInt64(key)), own: Self.key, at: time,
                Self.wall)
        }
        let key = try #require(PeerKey(Self.key))
        let hubs = HubStatus(sample, of: key, formats: 1...1, at: Self.now).hubs
        #expect(hubs.map { $0.key.bytes[0] } == [1, 2, 3])
        #expect(hubs.map(\.isLive) == [true, true, false])
        #expect(hubs.map(\.isReady) == [true, false, true])
        #expect(hubs.map(\.isDraining) == [false, true, false])
        #expect(hubs.map(\.clientCount) == [5, 6, 7])
        #expect(hubs.map(\.formats) == [1...1, 1...2, 1...3])
        #expect(hubs.map(\.clockDifferenceMilliseconds) == [1_000, 2_000, 3_000])
        #expect(hubs.map(\.silentMilliseconds) == [0, 9_000, 10_000])
    }

    @Test func `the clock differs from others by the median of two or more`() {
        for (walls, difference) in [
            ([5_000], nil), ([1_000, 5_000], 5_000), ([90_000, 1_000, 5_000], 5_000),
            ([4, 3, 2, 1], 3),
        ] as [([UInt64], Int64?)] {
            var hubs = OtherHubs()
            let isKnown = hubs.receive(beat(1), own: Self.key, at: Self.now, Self.wall)
            #expect(!isKnown && hubs.all.isEmpty)
            hubs.log = Self.log
            for (index, wall) in walls.enumerated() {
                _ = hubs.receive(
                    beat(UInt8(index + 1), wall: Self.wall + wall), own: Self.key, at: Self.now,
                    Self.wall)
            }
            #expect(hubs.clockDifference(at: Self.now) == difference)
        }
    }

    @Test func `the lag begins when the first commit that is not hub-durable is found`() {
        var lag = HubLag()
        lag.record(commit: 5, hubDurable: 5, at: 50)
        #expect(lag.nanoseconds(at: 90) == 0)
        lag.record(commit: 6, hubDurable: 5, at: 100)
        lag.record(commit: 8, hubDurable: 5, at: 200)
        #expect(lag.nanoseconds(at: 250) == 150)
        lag.record(commit: 8, hubDurable: 6, at: 300)
        #expect(lag.nanoseconds(at: 350) == 50)
        #expect(lag.nanoseconds(at: 299) == 0)
        lag.record(commit: 8, hubDurable: 8, at: 400)
        #expect(lag.nanoseconds(at: 500) == 0)
    }

    // MARK: - Clocks of the engine

    /// Appends messages to entries from 1 on, each of which the engine stores.
    private func store(_ count: UInt64, in traffic: inout EngineTraffic) {
        for number in 1...count {
            let id = HubMessageID(author: Self.author, shard: 0, sequence: number, checksum: 1)
            traffic.appended(id, 9, to: Self.log, at: Self.now, Self.wall)
            traffic.stored(id, as: number)
        }
    }

    private func entry(_ number: UInt64) -> HubLogEntry {
        HubLogEntry(number, [1], storedAt: Self.wall + 5 + number)
    }

    @Test func `the clock is compared for the last 64 messages that were stored or read`() {
        let shard = HubShard(0, of: Self.log)
        for (count, found) in [(64, 6), (65, nil)] as [(UInt64, Int64?)] {
            var stored = EngineTraffic()
            store(count, in: &stored)
            #expect(stored.clockDifference == nil)
            stored.received([entry(1)], of: shard)
            #expect(stored.clockDifference == found)
            stored.received([entry(count)], of: shard)
            #expect(stored.clockDifference == Int64(5 + count))

            var read = EngineTraffic()
            for number in 1...count { read.received([entry(number)], of: shard) }
            store(1, in: &read)
            #expect(read.clockDifference == found)

            var joined = EngineTraffic()
            joined.received((1...count).map { entry($0) }, of: shard)
            store(1, in: &joined)
            #expect(joined.clockDifference == found)
            store(2, in: &joined)
            #expect(joined.clockDifference == 7)
        }
    }

    @Test func `the clock is not compared for entries of another log, or without a time`() {
        var traffic = EngineTraffic()
        store(2, in: &traffic)
        let other = HubShard(0, of: HubLogID(low: 1, high: 9))
        traffic.received([entry(1)], of: other)
        traffic.received([HubLogEntry(2, [1])], of: HubShard(0, of: Self.log))
        #expect(traffic.clockDifference == nil)
        #expect(traffic.readCount == 2)
    }
}
