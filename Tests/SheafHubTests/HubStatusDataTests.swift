import SheafBytes
import SheafDocument
import SheafHub
import SheafHubLog
import SheafReplication
import SheafTransport
import Testing

/// Tests of the status of a hub as JSON, of its counts, and of messages without an answer.
@Suite struct HubStatusDataTests {
    private static let second: UInt64 = 1_000_000_000
    private static let now: UInt64 = 100_000_000_000
    private static let log = HubLogID(low: 1, high: 2)
    private static let author = HubAuthor(site: Site(rawValue: 1), opening: 2)
    private static let key = Array(repeating: UInt8(7), count: 32)

    private func progress(firstUnstored: [UInt64]) -> HubProgress {
        let shards = firstUnstored.enumerated().map { index, first in
            HubProgress.Shard(
                number: UInt16(index),
                progress: ShardProgress(read: 12, digest: 9, stored: 11) ?? .start,
                hasCaughtUp: index == 0, isBlocked: false, unstoredMessages: 2, unstoredLength: 40,
                firstUnstored: first, unwrittenGroups: 0,
                incidents: index == 0 ? [] : [ShardIncident(.staleEngine, entry: 13)],
                newerVersion: nil)
        }
        return HubProgress(
            log: Self.log, author: Self.author, shards: shards, commit: 9, hubDurable: 7,
            clientCount: 3, unacknowledgedCount: 4, pendingLength: 500,
            heldNanoseconds: 2_500_999_999, faults: ["gap": 6])
    }

    private func sample() -> HubSample {
        let configuration = HubConfiguration(
            database: .init(low: 3, high: 4), log: Self.log, number: 3, map: .single,
            snapshots: [.init()])
        var sample = HubSample(
            respondedAt: Self.now, configuration: configuration, configuredAt: Self.now)
        sample.isListening = true
        sample.hubs.log = Self.log
        return sample
    }

    private func reasons(_ sample: HubSample) -> [String] {
        Readiness(sample: sample, formats: 1...1, now: Self.now).reasons
    }

    // MARK: - JSON

    @Test func `the status as JSON has all numbers of a sample`() throws {
        var sample = sample()
        sample.progress = progress(firstUnstored: [5, 5])
        sample.isDraining = true
        sample.lag.record(commit: 9, hubDurable: 7, at: Self.now - 3 * Self.second)
        sample.files.unstoredCount = 8
        sample.files.failure = "no room"
        sample.maintenance.add("trims", 2)
        sample.traffic.failed(.full("no room"))
        let beat = HubBroadcast.Beat(
            isDraining: true, isReady: false, versions: 1...2, wallMilliseconds: 5_000,
            clientCount: 6, addresses: [], shards: [])
        let bytes = HubBroadcast(
            log: Self.log, hub: Array(repeating: 1, count: 32), author: Self.author, .beat(beat)
        ).bytes
        _ = sample.hubs.receive(bytes, own: Self.key, at: Self.now - Self.second, 6_500)
        let key = try #require(PeerKey(Self.key))
        let other = try #require(PeerKey(Array(repeating: 1, count: 32)))
        let status = HubStatus(sample, of: key, formats: 1...2, at: Self.now)
        let incident =
            "the engine does not deliver entries that others have read (at entry 13); "
            + "it ends when they arrive"
        let shards: [Value] = [
            [
                "shard": 0, "read": 12, "stored": 11, "hasCaughtUp": true, "unstoredMessages": 2,
                "unstoredBytes": 40, "incidents": [],
            ],
            [
                "shard": 1, "read": 12, "stored": 11, "hasCaughtUp": false, "unstoredMessages": 2,
                "unstoredBytes": 40, "incidents": [.string(incident)],
            ],
        ]
        let hubs: [Value] = [
            [
                "hub": .string("\(other)"), "isLive": true, "isReady": false, "isDraining": true,
                "clients": 6, "formats": [1, 2], "clockDifferenceMilliseconds": -1_500,
                "silentMilliseconds": 1_000,
            ]
        ]
        let expected: Object = [
            "key": .string("\(key)"), "isReady": false, "isLive": true, "isDraining": true,
            "reasons": .array(status.reasons.map(Value.string)),
            "log": "01000000000000000200000000000000", "logNumber": 3, "format": 1,
            "formats": [1, 2], "commit": 9, "hubDurableCommit": 7, "lagMilliseconds": 3_000,
            "clients": 3, "unacknowledged": 4, "pendingBytes": 500, "heldMilliseconds": 2_500,
            "unstoredFiles": 8, "fileFailure": "no room", "shards": .array(shards),
            "hubs": .array(hubs),
        ]
        var data = status.data
        let counts = try #require(data["counts"])
        data["counts"] = nil
        #expect(Value.object(data) == .object(expected))
        #expect(counts == .object(Self.counts))
        let rest = status.metrics.suffix(Self.counts.count)
        let names: [Value] = Self.counts.map { .string("hub_" + $0.name) }
        #expect(rest.compactMap { $0["name"] } == names)
        #expect(rest.compactMap { $0["value"] } == Self.counts.map { $0.value })
    }

    private static let counts: Object = [
        "appended_bytes": 0, "appended_messages": 0, "failed_appends": 1, "failed_files": 0,
        "failed_maintenance": 0, "fault_gap": 6, "loaded_documents": 0, "loaded_files": 0,
        "read_bytes": 0, "read_entries": 0, "refused_snapshots": 0, "removed_files": 0,
        "removed_objects": 0, "replacements": 0, "stored_files": 0, "trims": 2,
        "verified_snapshots": 0, "written_snapshots": 0,
    ]

    @Test func `a status without a value has null`() throws {
        let key = try #require(PeerKey(Self.key))
        let data = HubStatus(sample(), of: key, formats: 1...1, at: Self.now).data
        #expect(data["heldMilliseconds"] == .null && data["fileFailure"] == .null)
        for name in ["commit", "hubDurableCommit", "lagMilliseconds", "clients", "pendingBytes"] {
            #expect(data[name] == 0, "\(name)")
        }
        #expect(data["shards"] == .array([]) && data["hubs"] == .array([]))
    }

    // MARK: - Maintenance

    @Test func `a step is reported when its failure or its wait differs from the last one`() {
        var counts = MaintenanceCounts()
        let (first, second) = (SnapshotFailure.log(.full("a")), SnapshotFailure.log(.full("b")))
        let failures: [(SnapshotFailure, ofSnapshots: Bool, isNew: Bool)] = [
            (first, false, true), (first, false, false), (first, true, true),
            (first, true, false), (second, true, true), (first, false, false),
            (second, false, true),
        ]
        for (failure, ofSnapshots, isNew) in failures {
            let isFound = counts.record(failure, ofSnapshots: ofSnapshots)
            #expect(isFound == isNew)
        }
        #expect(counts.failure == second && counts.counts["failed_maintenance"] == 7)
        counts.recordSnapshots()
        #expect(counts.failure == second)
        let waits = [true, true, false, false].map { counts.recordSuccess(isWaiting: $0) }
        #expect(waits == [true, false, true, false])
        #expect(counts.failure == nil)
        // After a success, the same failures are new.
        let areNew = [true, false].map { counts.record(second, ofSnapshots: $0) }
        #expect(areNew == [true, true])
        counts.add("trims")
        counts.add("trims", 3)
        #expect(counts.counts["trims"] == 4 && counts.counts["written_snapshots"] == 0)
    }

    @Test func `each event of the maintenance is counted under its name`() {
        let events: [(HubMaintenance.Event, name: String?, count: UInt64)] = [
            (.shared(Self.log, loadedDocuments: 12), "loaded_documents", 12), (.waits, nil, 0),
            (.replaces(.request), "replacements", 1),
            (.snapshot(.written(shard: 0, entry: 5)), "written_snapshots", 1),
            (.snapshot(.verified(shard: 0, entry: 5)), "verified_snapshots", 1),
            (.snapshot(.refused(shard: 0, reason: "a")), "refused_snapshots", 1),
            (.snapshot(.trimmed(shard: 0, before: 5)), "trims", 1),
            (.snapshot(.untrimmed(shard: 0, reason: "a")), "failed_maintenance", 1),
            (.snapshot(.removed("part/1")), "removed_objects", 1),
        ]
        for (event, name, count) in events {
            var counts = MaintenanceCounts()
            counts.add(event)
            let changed = counts.counts.filter { $0.value > 0 }
            let expected: [String: UInt64] = name.map { [$0: count] } ?? [:]
            #expect(changed == expected)
            #expect(event.isWaiting == (name == nil))
        }
    }

    @Test func `the cause of a replacement is named`() {
        let incident = ShardIncident(.truncation, entry: 7)
        let causes: [(HubMaintenance.Cause, String)] = [
            (.request, "on request"),
            (.takeover, "because the hub that had begun to do so has not finished"),
            (
                .incident(incident),
                "because entries that existed are gone or changed (at entry 7)"
            ),
        ]
        for (cause, sentence) in causes { #expect(cause.sentence == sentence) }
    }

    @Test func `a hub may have the only copies of files until their documents are known`() {
        var files = HubSample.Files()
        let isUnknown = [0, 1].map { files.mayHaveOnlyCopies(through: $0) }
        #expect(isUnknown == [false, true])
        files.commit = 7
        #expect(!files.mayHaveOnlyCopies(through: 7) && files.mayHaveOnlyCopies(through: 8))
        files.localCount = 1
        #expect(files.mayHaveOnlyCopies(through: 7))
    }

    @Test func `a failure of the maintenance is a reason, once`() {
        var sample = sample()
        _ = sample.maintenance.record(.configuration("no\n configuration"), ofSnapshots: false)
        let unread = "the hub has not begun to read the log: no configuration"
        #expect(reasons(sample) == [unread])
        sample.progress = progress(firstUnstored: [5])
        #expect(reasons(sample) == ["no configuration"])
        // The same text is not repeated, and another one is.
        sample.configuredAt = Self.now - 20 * Self.second
        sample.configurationFailure = "no configuration"
        #expect(reasons(sample) == ["no configuration"])
        sample.configurationFailure = "no answer"
        let other = "the configuration cannot be read: no answer"
        #expect(reasons(sample) == ["no configuration", other])
        // Failures of other kinds end without an operator.
        _ = sample.maintenance.record(.log(.full("a")), ofSnapshots: false)
        #expect(reasons(sample) == [other])
    }

    // MARK: - Messages without an answer

    private func id(_ sequence: UInt64, shard: UInt16, author: HubAuthor = Self.author)
        -> HubMessageID
    {
        HubMessageID(author: author, shard: shard, sequence: sequence, checksum: 1)
    }

    /// Returns traffic with these messages, one of which has failed, appended at 1, 2, and so on.
    private func traffic(_ ids: [HubMessageID]) -> EngineTraffic {
        var traffic = EngineTraffic()
        for (index, id) in ids.enumerated() {
            traffic.appended(id, 9, to: Self.log, at: UInt64(index + 1), 0)
        }
        traffic.failed(.full("no room"))
        return traffic
    }

    @Test func `the oldest message without an answer is shown with the last failure`() {
        var sample = sample()
        sample.progress = progress(firstUnstored: [5])
        sample.traffic = traffic([id(5, shard: 0), id(6, shard: 0)])
        let start = "the engine has not stored a message for 99 s"
        #expect(
            reasons(sample) == ["\(start) (the hub log has no space or memory: no room)"])
        sample.traffic.stored(id(5, shard: 0), as: 1)
        #expect(sample.traffic.oldestUnanswered == 2)
        #expect(sample.traffic.lastFailure == .full("no room"))
        sample.traffic.stored(id(6, shard: 0), as: 2)
        #expect(sample.traffic.oldestUnanswered == nil && sample.traffic.lastFailure == nil)
        #expect(sample.traffic.failedCount == 1)
        #expect(reasons(sample) == [])
    }

    @Test func `messages that were replaced need no answer, and those of other openings do`() {
        let other = HubAuthor(site: Site(rawValue: 1), opening: 3)
        var found = traffic([
            id(4, shard: 0), id(5, shard: 0), id(6, shard: 1), id(1, shard: 1, author: other),
            id(0, shard: 2),
        ])
        let times = (0..<4).map { step -> UInt64? in
            switch step {
            case 0: found.forgetReplaced(progress(firstUnstored: [5, 7]))
            case 1: found.forgetReplaced(progress(firstUnstored: [6, 7]))
            case 2: found.forget(HubShard(1, of: Self.log))
            default: found.forget(HubShard(2, of: Self.log))
            }
            return found.oldestUnanswered
        }
        #expect(times == [2, 4, 5, nil])
        #expect(found.lastFailure == nil)
    }

    @Test func `a failure ends with the last message that waited`() {
        var replaced = traffic([id(4, shard: 0), id(4, shard: 1)])
        replaced.forgetReplaced(progress(firstUnstored: [5, 4]))
        #expect(replaced.lastFailure == .full("no room"))
        replaced.forgetReplaced(progress(firstUnstored: [5, 5]))
        #expect(replaced.lastFailure == nil && replaced.oldestUnanswered == nil)
        var moved = traffic([id(4, shard: 0), id(4, shard: 1)])
        moved.forget(HubShard(0, of: Self.log))
        #expect(moved.lastFailure == .full("no room") && moved.oldestUnanswered == 2)
        moved.forget(HubShard(1, of: Self.log))
        #expect(moved.lastFailure == nil)
    }
}
