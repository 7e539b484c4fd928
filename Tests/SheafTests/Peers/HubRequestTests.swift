import SheafDocument
import SheafEngine
import SheafHubLog
import SheafReplication
import SheafStatements
import Testing

/// Tests of what a hub requests of its log at its start, in time, and for its own documents.
@Suite struct HubRequestTests {
    private static let second = PlayedHub.second
    private static let other = HubAuthor(site: Site(rawValue: 77), opening: 5)

    /// Limits with which a hub sends no beats in the time of a test.
    private var silent: HubFeedLimits {
        var limits = HubFeedLimits()
        (limits.beatNanoseconds, limits.fastBeatNanoseconds) = (
            100 * Self.second, 100 * Self.second
        )
        return limits
    }

    private func beat(
        _ shards: [HubBroadcast.ReadShard], isDraining: Bool = false
    ) -> HubBroadcast.Contents {
        .beat(
            HubBroadcast.Beat(
                isDraining: isDraining, isReady: true, versions: 1...1, wallMilliseconds: 0,
                clientCount: 0, addresses: [], shards: shards))
    }

    // MARK: Start and time

    @Test func `a hub follows each shard from its first entry, and appends a mark to it`() throws {
        let hub = try PlayedHub(try ShardMap(shardCount: 2))
        let requests = hub.takeRequests()
        try #require(requests.count == 4)
        for shard in 0..<2 {
            guard case .follow(let followed, let entry) = requests[2 * shard],
                case .append(let message, let log) = requests[2 * shard + 1]
            else {
                Issue.record("\(requests)")
                continue
            }
            #expect(followed == HubShard(UInt16(shard), of: PlayedHub.log) && entry == 1)
            #expect(log == PlayedHub.log && message.id.shard == UInt16(shard))
            let mark = try hub.decoded(message)
            #expect(mark.kind == .mark && mark.sequence == 1 && mark.progress == .start)
        }
        #expect(hub.replicator.hubProgress?.shards.map(\.hasCaughtUp) == [false, false])
        hub.settle()
        #expect(hub.replicator.hubProgress?.shards.map(\.number) == [0, 1])
    }

    @Test func `a hub is due when it counts as the only one, and when answers are late`() throws {
        let hub = try PlayedHub(.single, silent)
        let opened = hub.now
        let mark = hub.takeAppended()
        #expect(hub.replicator.deadline == opened + 2 * Self.second)
        hub.tick(after: 2 * Self.second)
        #expect(hub.replicator.deadline == opened + 3 * Self.second)
        hub.tick(after: Self.second - 1)
        #expect(hub.takeAppended().isEmpty)
        hub.tick(after: 1)
        #expect(hub.takeAppended() == mark)
        #expect(hub.replicator.deadline == opened + 6 * Self.second)
        hub.acknowledge(mark[0], as: 1)
        #expect(hub.replicator.deadline == opened + 6 * Self.second)
        hub.deliver(mark[0].bytes)
        // Only the next beat remains.
        #expect(hub.replicator.deadline == 100 * Self.second)
        #expect(hub.replicator.hubDurable == hub.newestCommit)
    }

    @Test func `a hub is due when another one that it waits for counts as gone`() throws {
        let hub = try PlayedHub(.single, silent)
        hub.settle()
        hub.tick(after: 4 * Self.second)
        let digest = try #require(hub.replicator.hubDigest(at: 1, of: 0))
        let progress = try #require(ShardProgress(read: 1, digest: digest, stored: 1))
        let shards = [HubBroadcast.ReadShard(shard: 0, progress: progress)]
        hub.receive(beat(shards), of: Self.other)
        let heard = hub.now
        let before = hub.replicator.hubDurable
        let commit = try hub.commit(["a"])
        hub.settle()
        #expect(hub.replicator.deadline == heard + 10 * Self.second)
        #expect(hub.replicator.hubDurable == before && before < commit)
        hub.tick(after: 10 * Self.second - 1)
        #expect(hub.replicator.hubDurable == before)
        #expect(hub.replicator.deadline == heard + 10 * Self.second)
        hub.tick(after: 1)
        #expect(hub.replicator.hubDurable == commit)
        #expect(hub.replicator.deadline == 100 * Self.second)
    }

    @Test func `a beat has what the hub has read and stored, and follows news in 5 ms`() throws {
        let hub = try PlayedHub()
        hub.tick(after: 0)
        let first = try hub.takeBeats()
        #expect(first.count == 1 && first[0].shards.isEmpty && !first[0].isReady)
        #expect(first[0].versions == 1...1 && first[0].clientCount == 0)
        #expect(first[0].wallMilliseconds == 1_780_000_000_000 && !first[0].isDraining)
        #expect(hub.replicator.deadline == hub.now + Self.second)
        // The requests for the mark are gone.
        hub.tick(after: 3 * Self.second)
        hub.settle()
        #expect(hub.replicator.deadline == hub.now + 5_000_000)
        hub.tick(after: 4_999_999)
        #expect(try hub.takeBeats().isEmpty)
        hub.tick(after: 1)
        let news = try hub.takeBeats()
        let progress = try #require(hub.replicator.hubProgress?.shards[0].progress)
        #expect(progress.read == 1 && progress.stored == 1)
        #expect(news.map(\.shards) == [[HubBroadcast.ReadShard(shard: 0, progress: progress)]])
        #expect(news.map(\.isReady) == [true])
        hub.tick(after: Self.second - 1)
        #expect(try hub.takeBeats().isEmpty)
        hub.tick(after: 1)
        #expect(try hub.takeBeats().count == 1)
    }

    @Test func `a hub that is not used by clients, or drains, reports it at once`() throws {
        let hub = try PlayedHub()
        hub.settle()
        hub.tick(after: Self.second)
        _ = hub.takeRequests()
        for (isReady, isDraining) in [(false, false), (true, true), (true, false)] {
            hub.replicator.setHubState(isReady: isReady, isDraining: isDraining, at: hub.now)
            hub.receive(beat([]), of: Self.other)
            let beats = try hub.takeBeats()
            #expect(beats.map(\.isReady) == [isReady] && beats.map(\.isDraining) == [isDraining])
        }
        hub.replicator.setHubState(isReady: true, isDraining: false, at: hub.now)
        hub.receive(beat([]), of: Self.other)
        #expect(try hub.takeBeats().isEmpty)
    }

    @Test func `another opening of a hub replaces the one before it`() throws {
        let hub = try PlayedHub()
        hub.settle()
        let later = HubAuthor(site: Self.other.site, opening: 6)
        let third = HubAuthor(site: Site(rawValue: 78), opening: 1)
        hub.receive(beat([]), of: Self.other)
        hub.receive(beat([]), of: third, key: [UInt8](repeating: 8, count: 32))
        #expect(hub.replicator.hubView?.others.map(\.author) == [Self.other, third])
        hub.receive(beat([]), of: later)
        #expect(hub.replicator.hubView?.others.map(\.author) == [later, third])
        // An earlier opening of this hub has its key.
        hub.receive(beat([]), of: Self.other, key: hub.key)
        #expect(hub.replicator.hubView?.others.map(\.author) == [later, third])
    }

    // MARK: Documents

    @Test func `a group has the documents of the commits since the last one, by address`() throws {
        var limits = silent
        limits.messagesInFlight = 1
        let hub = try PlayedHub(.single, limits)
        hub.settle()
        hub.tick(after: 3 * Self.second)
        let base = hub.newestCommit
        let first = try hub.commit(["a"])
        let alone = hub.takeAppended()
        try #require(alone.count == 1)
        let message = try hub.decoded(alone[0])
        #expect(message.extent == HubMessage.Extent(base: base, commit: first))
        #expect(message.kind == .documents && message.flags == [] && message.sequence == 2)
        #expect(message.progress == hub.replicator.hubProgress?.shards[0].progress)
        let only = try PlayedHub.address("a")
        #expect(try hub.documents(message) == [only])
        // The engine has not stored it, so the next commits wait together.
        try hub.commit(["d", "b"])
        let last = try hub.commit(["c", "b"])
        #expect(hub.takeAppended().isEmpty)
        #expect(hub.replicator.hubDurable == base)
        hub.acknowledge(alone[0], as: hub.deliver(alone[0].bytes))
        let together = hub.takeAppended()
        try #require(together.count == 1)
        let next = try hub.decoded(together[0])
        #expect(next.extent == HubMessage.Extent(base: first, commit: last))
        let rest = try ["b", "c", "d"].map { try PlayedHub.address($0) }
        #expect(try hub.documents(next) == rest)
    }

    @Test func `a commit with documents of two shards becomes a group in each`() throws {
        let map = try ShardMap(shardCount: 2, splitCollections: ["cars"])
        let hub = try PlayedHub(map, silent)
        hub.settle()
        hub.tick(after: 3 * Self.second)
        let base = hub.newestCommit
        let ids = (0..<12).map { "car \($0)" }
        let commit = try hub.commit(ids)
        let groups = hub.takeAppended()
        #expect(groups.map(\.id.shard) == [0, 1])
        for group in groups {
            let message = try hub.decoded(group)
            #expect(message.extent == HubMessage.Extent(base: base, commit: commit))
            let expected = try ids.map { try PlayedHub.address($0) }
                .filter { map.shard(of: $0) == group.id.shard }.sorted()
            #expect(try hub.documents(message) == expected && !expected.isEmpty)
        }
        for (group, durable) in zip(groups, [base, commit]) {
            hub.acknowledge(group, as: hub.deliver(group.bytes, to: group.id.shard))
            #expect(hub.replicator.hubDurable == durable)
        }
    }

    /// Returns the last commit of each group: the first ones with at least `most` changes whose
    /// documents no later commit changes, and in the end all others.
    private func ends(of commits: [[String]], most: Int) -> [Int] {
        var ends: [Int] = []
        var start = 0
        while start < commits.count {
            let all = start..<commits.count
            let total = commits[all].reduce(0) { $0 + $1.count }
            let end = all.first { last in
                let part = commits[start...last].flatMap { $0 }
                let rest = commits[(last + 1)...].flatMap { $0 }
                return total > most && part.count >= most && Set(part).isDisjoint(with: rest)
            }
            ends.append(end ?? commits.count - 1)
            start = ends[ends.count - 1] + 1
        }
        return ends
    }

    @Test(
        arguments: [
            [["a"], ["b"], ["c"]], [["a"], ["b"], ["c"], ["d"]], [["a", "b", "c"], ["d"]],
            [["a"], ["b"], ["c"], ["a"], ["d"]],
            [["a", "b"], ["c", "d"], ["b"], ["e"], ["f", "g"]],
            [["a"], ["b"], ["c"], ["d"], ["e"], ["f"], ["g"]],
            [["a", "b"], ["b", "c"], ["c", "d"], ["e", "f", "g"], ["h"]],
        ] as [[[String]]])
    func `commits that wait become groups that share no document`(_ commits: [[String]]) throws {
        var limits = silent
        (limits.messagesInFlight, limits.mergedChanges) = (1, 3)
        let hub = try PlayedHub(.single, limits)
        hub.settle()
        let first = try hub.commit(["first"])
        let blocking = hub.takeAppended()
        try #require(blocking.count == 1)
        for ids in commits { try hub.commit(ids) }
        hub.acknowledge(blocking[0], as: hub.deliver(blocking[0].bytes))
        var found: [UInt64] = []
        while let message = hub.takeAppended().first {
            found.append(try hub.decoded(message).extent.commit)
            hub.acknowledge(message, as: hub.deliver(message.bytes))
        }
        let expected = ends(of: commits, most: 3).map { first + UInt64($0) + 1 }
        #expect(found == expected)
    }

    @Test func `documents whose tokens were proven are appended again`() throws {
        let hub = try PlayedHub(.single, silent)
        hub.settle()
        try hub.commit(["a", "b"])
        hub.settle()
        let snapshot = hub.store.queries.documents.snapshot()
        let address = try PlayedHub.address("b")
        let key = try #require(snapshot.key(of: address))
        hub.replicator.appendAgain([key])
        hub.tick(after: 0)
        let messages = hub.takeAppended()
        try #require(messages.count == 1)
        let message = try hub.decoded(messages[0])
        #expect(message.extent == HubMessage.Extent(base: 0, commit: 0))
        #expect(message.flags == .replaces)
        #expect(try hub.documents(message) == [address])
        hub.acknowledge(messages[0], as: hub.deliver(messages[0].bytes))
        hub.tick(after: 3 * Self.second)
        #expect(hub.takeAppended().isEmpty && hub.replicator.hubDurable == hub.newestCommit)
    }
}
