import SheafDocument
import SheafHubLog
import SheafReplication
import Testing

/// Tests of the messages of a hub that another hub lacks, and of the hubs that commits wait for.
@Suite struct HubReplacedGroupTests {
    private static let second = PlayedHub.second
    private static let other = HubAuthor(site: Site(rawValue: 77), opening: 5)

    /// Returns a hub that sends no beats in the time of a test, and is not new.
    private func hub() throws -> PlayedHub {
        var limits = HubFeedLimits()
        (limits.beatNanoseconds, limits.fastBeatNanoseconds) = (1, 1)
        let hub = try PlayedHub(.single, limits)
        hub.settle()
        hub.tick(after: 3 * Self.second)
        _ = hub.takeRequests()
        return hub
    }

    /// Returns a hub with three stored groups, of the sequences 2 to 4.
    private func hubWithGroups() throws -> PlayedHub {
        let hub = try hub()
        for id in ["a", "b", "c"] {
            try hub.commit([id])
            hub.settle()
        }
        return hub
    }

    /// Reports that another hub lacks messages, and returns the groups that replace them.
    private func replaced(
        _ ranges: [ClosedRange<UInt64>], of author: HubAuthor? = nil, shard: UInt16 = 0,
        by hub: PlayedHub
    ) throws -> [HubMessage] {
        let own = try #require(hub.replicator.hubView?.author)
        hub.receive(.need(shard: shard, author ?? own, ranges), of: Self.other)
        hub.tick(after: 1)
        let messages = hub.takeAppended()
        for message in messages { hub.acknowledge(message, as: hub.deliver(message.bytes)) }
        return try messages.map { try hub.decoded($0) }
    }

    // MARK: Lost messages

    @Test(
        arguments: [
            ([2...2], [["a"]]), ([3...4], [["b", "c"]]), ([2...2, 4...4], [["a"], ["c"]]),
            ([1...1], [[]]), ([1...4], [["a", "b", "c"]]), ([5...5], []), ([4...5], []),
        ] as [([ClosedRange<UInt64>], [[String]])])
    func `a group replaces the messages that another hub lacks`(
        _ ranges: [ClosedRange<UInt64>], _ ids: [[String]]
    ) throws {
        let hub = try hubWithGroups()
        let groups = try replaced(ranges, by: hub)
        #expect(groups.allSatisfy { $0.flags == .replaces && $0.kind == .documents })
        let extents = zip(ranges, ids).map { range, _ in
            HubMessage.Extent(base: range.lowerBound, commit: range.upperBound)
        }
        #expect(groups.map(\.extent) == extents)
        let expected = try ids.map { try $0.map { try PlayedHub.address($0) } }
        #expect(try groups.map { try hub.documents($0) } == expected)
    }

    @Test func `lost messages are replaced once in five seconds`() throws {
        let hub = try hubWithGroups()
        let first = try replaced([2...3], by: hub)
        #expect(first.map(\.sequence) == [5])
        hub.tick(after: 5 * Self.second - 2)
        // Each part of the range was replaced.
        let early = try replaced([2...2, 3...3], by: hub)
        #expect(early.isEmpty)
        // The first group was appended five seconds before.
        let second = try replaced([3...3], by: hub)
        #expect(second.map(\.extent) == [HubMessage.Extent(base: 3, commit: 3)])
    }

    @Test func `a range that was replaced in part is replaced completely`() throws {
        let hub = try hubWithGroups()
        _ = try replaced([2...2], by: hub)
        let whole = try replaced([2...3], by: hub)
        #expect(whole.map(\.extent) == [HubMessage.Extent(base: 2, commit: 3)])
        let other = try replaced([4...4], by: hub)
        #expect(other.map(\.extent) == [HubMessage.Extent(base: 4, commit: 4)])
    }

    @Test func `the present states of lost documents are appended, without those evicted`() throws {
        let hub = try hubWithGroups()
        try hub.store.forget("cars", "b")
        try hub.commit(["a"])
        hub.settle()
        let groups = try replaced([2...4], by: hub)
        let documents = try groups.map { try hub.documents($0) }
        let expected = try ["a", "c"].map { try PlayedHub.address($0) }
        #expect(documents == [expected])
    }

    @Test func `messages of other authors and shards are not replaced`() throws {
        let hub = try hubWithGroups()
        #expect(try replaced([2...2], of: Self.other, by: hub).isEmpty)
        #expect(try replaced([2...2], shard: 1, by: hub).isEmpty)
        #expect(try replaced([2...2], by: hub).count == 1)
    }

    // MARK: Hubs that commits wait for

    private enum Report: CaseIterable, Sendable {
        case silent, noShard, less, enough, otherDigest, draining
    }

    @Test(arguments: Report.allCases)
    private func `a commit waits for a live hub that follows the shard and has the same entries`(
        _ report: Report
    ) throws {
        let hub = try hub()
        let commit = try hub.commit(["a"])
        let message = try #require(hub.takeAppended().first)
        let entry = hub.deliver(message.bytes)
        let digest = try #require(hub.replicator.hubDigest(at: entry, of: 0))
        let progress = try #require(
            ShardProgress(
                read: entry, digest: report == .otherDigest ? digest &+ 1 : digest,
                stored: report == .less ? entry - 1 : entry))
        let shards = [HubBroadcast.ReadShard(shard: 0, progress: progress)]
        if report != .silent {
            let beat = HubBroadcast.Beat(
                isDraining: report == .draining, isReady: true, versions: 1...1,
                wallMilliseconds: 0, clientCount: 0, addresses: [],
                shards: report == .noShard ? [] : shards)
            hub.receive(.beat(beat), of: Self.other)
        }
        #expect(hub.replicator.hubDurable < commit)
        hub.acknowledge(message, as: entry)
        let isDurable = [.silent, .noShard, .enough, .draining].contains(report)
        #expect((hub.replicator.hubDurable == commit) == isDurable)
        let status = hub.replicator.hubStatus
        #expect(
            status?.others.map(\.isDraining) == (report == .silent ? [] : [report == .draining]))
        #expect(status?.shards[0].incidents.isEmpty == (report != .otherDigest))
    }
}
