import Sheaf
import SheafBytes
import SheafDocument
import SheafEngine
import SheafHubLog
import SheafReplication
import SheafStatements
import Testing

/// Tests of the groups that a hub reads from its log, until its store has them.
@Suite struct HubGroupReceiptTests {
    private static let second = PlayedHub.second
    private static let third = HubAuthor(site: Site(rawValue: 78), opening: 5)

    /// Returns a hub that writes, and its mark, which is the first entry of the log.
    private func writer() throws -> (hub: PlayedHub, mark: [UInt8]) {
        let hub = try PlayedHub(key: 6)
        let mark = try #require(hub.takeAppended().first)
        hub.acknowledge(mark, as: hub.deliver(mark.bytes))
        return (hub, mark.bytes)
    }

    /// Returns a hub that has read a mark of another hub, and then its own.
    private func reader(
        after mark: [UInt8], _ limits: HubFeedLimits = HubFeedLimits()
    ) throws -> PlayedHub {
        let hub = try PlayedHub(.single, limits, key: 5)
        hub.deliver(mark)
        hub.settle()
        // The progress in the shard is written at the next tick.
        hub.tick(after: 3 * Self.second)
        try hub.runJob()
        _ = hub.takeRequests()
        return hub
    }

    private func hubs(
        _ limits: HubFeedLimits = HubFeedLimits()
    ) throws -> (reader: PlayedHub, writer: PlayedHub) {
        let (writer, mark) = try writer()
        return (try reader(after: mark, limits), writer)
    }

    /// Writes a document at a hub, and returns its message.
    private func message(
        _ id: String, of writer: PlayedHub
    ) throws -> HubMessageChain.Encoded {
        try writer.commit([id])
        let messages = writer.takeAppended()
        return try #require(messages.last)
    }

    private func ids(_ hub: PlayedHub) throws -> [String] {
        try hub.store.rows("SELECT _id FROM cars ORDER BY _id")
    }

    private func stored(_ hub: PlayedHub) throws -> StoredShard? {
        try hub.store.queries.documents.snapshot().storedShard(0)
    }

    // MARK: Writing

    @Test func `a group becomes a batch, and its entries count as processed once it is written`()
        throws
    {
        let (reader, writer) = try hubs()
        let message = try message("a", of: writer)
        let commit = try writer.decoded(message).extent.commit
        let before = reader.newestCommit
        let entry = reader.deliver(message.bytes)
        #expect(reader.takeConsumed().isEmpty && reader.jobs.count == 1)
        #expect(reader.replicator.isWritingFromLog)
        #expect(reader.replicator.hubStatus?.shards.map(\.waitingCount) == [1])
        #expect(reader.replicator.hubProgress?.shards.map(\.progress.stored) == [entry - 1])
        let job = try reader.runJob()
        #expect(job.steps.map(\.commit) == [commit] && job.peer == message.id.author.site)
        let opening = try #require(reader.replicator.hubView?.author.opening)
        #expect(job.steps.map(\.connection) == [opening])
        #expect(reader.takeConsumed() == [message.bytes.count])
        #expect(!reader.replicator.isWritingFromLog && reader.jobs.isEmpty)
        #expect(reader.replicator.hubStatus?.shards.map(\.waitingCount) == [0])
        #expect(reader.replicator.hubProgress?.shards.map(\.progress.stored) == [entry])
        let progress = try #require(try stored(reader))
        #expect(progress.position.entry == entry && progress.log == PlayedHub.log)
        #expect(progress.commit == before && reader.newestCommit == before + 1)
        // The last own message was appended three seconds ago, and read at once.
        #expect(progress.wallMilliseconds == 1_780_000_000_000)
    }

    @Test(arguments: [(0, 2), (-1, 1)])
    func `groups that wait are written together up to a length`(
        _ difference: Int, _ count: Int
    ) throws {
        let (writer, mark) = try writer()
        let messages = try ["a", "b", "c", "d"].map { try message($0, of: writer) }
        let lengths = try messages.map { try writer.decoded($0).payload.count }
        var limits = HubFeedLimits()
        limits.written = lengths[1] + lengths[2] + difference
        let reader = try reader(after: mark, limits)
        for message in messages { reader.deliver(message.bytes) }
        var found: [Int] = []
        while !reader.jobs.isEmpty { found.append(try reader.runJob().steps.count) }
        // The first job began before the other groups arrived.
        #expect(found.prefix(2) == [1, count] && found.reduce(0, +) == 4)
        #expect(reader.takeConsumed().count == found.count)
        #expect(try ids(reader).count == 4)
    }

    @Test func `groups of different authors are written in separate jobs`() throws {
        let (reader, writer) = try hubs()
        let first = try message("a", of: writer)
        let second = try writer.decoded(try message("b", of: writer))
        var chain = HubMessageChain(log: PlayedHub.log, shard: 0, author: Self.third)
        reader.deliver(first.bytes)
        for message in chain.messages(of: second.payload, second.extent, .start) {
            reader.deliver(message.bytes)
        }
        reader.deliver(try message("c", of: writer).bytes)
        var peers: [Site] = []
        while !reader.jobs.isEmpty { peers.append(try reader.runJob().peer) }
        #expect(peers == [first.id.author.site, Self.third.site, first.id.author.site])
    }

    @Test func `shards take turns, and their entries are processed separately`() throws {
        let map = try ShardMap(shardCount: 2, splitCollections: ["cars"])
        let (reader, writer) = (try PlayedHub(map, key: 5), try PlayedHub(map, key: 6))
        let marks = writer.takeAppended()
        for mark in marks {
            writer.acknowledge(mark, as: writer.deliver(mark.bytes, to: mark.id.shard))
            reader.deliver(mark.bytes, to: mark.id.shard)
        }
        reader.settle()
        _ = writer.takeRequests()
        // Three groups of each shard; those of the first one arrive first.
        var groups: [UInt16: [HubMessageChain.Encoded]] = [:]
        for number in 0..<3 {
            try writer.commit((0..<12).map { "car \(number) \($0)" })
            for message in writer.takeAppended() {
                groups[message.id.shard, default: []].append(message)
            }
        }
        #expect(groups.mapValues(\.count) == [0: 3, 1: 3])
        for (shard, messages) in groups.sorted(by: { $0.key < $1.key }) {
            for message in messages { reader.deliver(message.bytes, to: shard) }
        }
        var shards: [UInt16] = []
        _ = reader.takeRequests()
        while !reader.jobs.isEmpty {
            try reader.runJob()
            for case .consumed(let length, let shard) in reader.takeRequests() {
                shards.append(shard.number)
                #expect(length > 0 && shard.log == PlayedHub.log)
            }
        }
        // The first job began with the first group.
        #expect(shards == [0, 1, 0])
        #expect(reader.replicator.hubStatus?.shards.map(\.waitingCount) == [0, 0])
    }

    // MARK: Entries without documents

    @Test func `entries without documents are processed at once, unless documents precede them`()
        throws
    {
        let (reader, writer) = try hubs()
        var chain = HubMessageChain(log: PlayedHub.log, shard: 0, author: Self.third)
        let mark = chain.mark(.start, commit: 0)
        let length = try #require(reader.replicator.hubView?.shards[0].readLength)
        reader.deliver(mark.bytes)
        #expect(reader.takeConsumed() == [mark.bytes.count])
        let message = try message("a", of: writer)
        let entry = reader.deliver(message.bytes)
        let second = chain.mark(.start, commit: 0)
        reader.deliver(second.bytes)
        #expect(reader.takeConsumed().isEmpty)
        // An entry that was read before does not wait.
        reader.redeliver(entry, message.bytes)
        #expect(reader.takeConsumed() == [message.bytes.count])
        #expect(reader.replicator.hubProgress?.faults == ["repeated_entry": 1])
        try reader.runJob()
        #expect(reader.takeConsumed() == [message.bytes.count + second.bytes.count])
        let all = mark.bytes.count + message.bytes.count + second.bytes.count
        #expect(reader.replicator.hubView?.shards[0].readLength == length + UInt64(all))
        #expect(try ids(reader) == ["{\"_id\":\"a\"}"])
        // The second mark was read after the job began.
        #expect(try stored(reader)?.position.entry == entry)
    }

    @Test func `the progress in a shard is written once a second, if it has changed`() throws {
        var limits = HubFeedLimits()
        // The hub is due whenever time passes.
        (limits.beatNanoseconds, limits.fastBeatNanoseconds) = (1, 1)
        let (reader, writer) = try hubs(limits)
        let entry = try #require(try stored(reader)?.position.entry)
        var chain = HubMessageChain(log: PlayedHub.log, shard: 0, author: Self.third)
        reader.tick(after: 2 * Self.second)
        #expect(reader.jobs.isEmpty)
        for (number, nanoseconds) in [(1, 1), (2, Self.second)] as [(UInt64, UInt64)] {
            reader.deliver(chain.mark(.start, commit: 0).bytes)
            reader.tick(after: nanoseconds - 1)
            #expect(reader.jobs.isEmpty)
            reader.tick(after: 1)
            try #require(reader.jobs.count == 1)
            let before = reader.newestCommit
            let job = try reader.runJob()
            #expect(job.steps.isEmpty && reader.newestCommit == before + 1)
            #expect(try stored(reader)?.position.entry == entry + number)
        }
        reader.tick(after: 2 * Self.second)
        #expect(reader.jobs.isEmpty)
        // Groups wait until the progress is written.
        reader.deliver(chain.mark(.start, commit: 0).bytes)
        reader.tick(after: 2 * Self.second)
        reader.deliver(try message("a", of: writer).bytes)
        #expect(reader.jobs.count == 1)
        #expect(try reader.runJob().steps.isEmpty && reader.jobs.count == 1)
        #expect(try reader.runJob().steps.count == 1)
    }

    // MARK: Other events

    @Test func `events of other logs, shards and authors are ignored`() throws {
        let (reader, writer) = try hubs()
        let message = try message("a", of: writer)
        let entry = HubLogEntry(3, message.bytes)
        let length = reader.replicator.hubView?.shards[0].readLength
        for shard in [
            HubShard(0, of: HubLogID(low: 7, high: 9)), HubShard(1, of: PlayedHub.log),
        ] {
            reader.receive(.received([entry], shard: shard))
        }
        #expect(reader.takeConsumed().isEmpty && reader.jobs.isEmpty)
        #expect(reader.replicator.hubView?.shards[0].readLength == length)
        try reader.commit(["b"])
        let own = try #require(reader.takeAppended().first)
        for id in [
            message.id,
            HubMessageID(
                author: own.id.author, shard: 9, sequence: own.id.sequence,
                checksum: own.id.checksum),
        ] {
            reader.receive(.stored(id, entry: 3))
        }
        reader.deliver(own.bytes)
        #expect(reader.replicator.hubProgress?.shards.map(\.unstoredMessages) == [1])
        reader.acknowledge(own, as: 3)
        #expect(reader.replicator.hubProgress?.shards.map(\.unstoredMessages) == [0])
    }

    @Test func `an entry is read again if the engine has stored an own message there`() throws {
        let (reader, writer) = try hubs()
        try reader.commit(["b"])
        let own = try #require(reader.takeAppended().first)
        let entry = reader.deliver(try message("a", of: writer).bytes)
        _ = reader.takeRequests()
        reader.acknowledge(own, as: entry + 1)
        #expect(reader.takeRereads().isEmpty)
        reader.acknowledge(own, as: entry)
        #expect(reader.takeRereads() == [entry...entry])
        reader.deliver(own.bytes)
        _ = reader.takeRequests()
        reader.acknowledge(own, as: entry)
        #expect(reader.takeRereads().isEmpty)
    }
}
