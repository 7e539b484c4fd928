import SheafBytes
import SheafDocument
import SheafHubLog
import SheafReplication
import Testing

/// Tests of one shard of a hub log: groups that are read, written and durable.
@Suite struct FedShardTests {
    private static let log = HubLogID(low: 7, high: 8)
    private static let own = HubAuthor(site: Site(rawValue: 9), opening: 3)
    private static let wall: UInt64 = 1_780_000_000_000

    /// A shard, and another author whose messages it reads.
    private struct Scene {
        var shard: FedShard
        var other = HubMessageChain(
            log: FedShardTests.log, shard: 2,
            author: HubAuthor(site: Site(rawValue: 4), opening: 5))
        /// The bytes of all entries, from the first one on.
        var entries: [[UInt8]] = []

        init(_ limits: ShardReader.Limits = ShardReader.Limits()) {
            shard = FedShard(
                2, of: FedShardTests.log, FedShardTests.own, at: .start, storedThrough: 0,
                currentAt: 500, limits)
        }

        /// Delivers an entry, and returns the length that is processed.
        @discardableResult
        mutating func read(_ bytes: [UInt8], length: Int = 0) -> Int {
            entries.append(bytes)
            shard.reader.receive(HubLogEntry(UInt64(entries.count), bytes), at: 0)
            for case .apply(let group) in shard.reader.drainEffects() { shard.add(group) }
            return shard.recordRead(length)
        }

        /// Delivers a group of one message for each byte.
        mutating func readGroup(_ payload: [UInt8], length: Int = 0) {
            for message in messages(payload) { read(message.bytes, length: length) }
        }

        mutating func messages(_ payload: [UInt8]) -> [HubMessageChain.Encoded] {
            let extent = HubMessage.Extent(base: 0, commit: 1)
            return other.messages(of: payload, extent, .start, length: 1)
        }

        /// Appends a mark of this hub, and delivers it.
        mutating func readOwnMark() {
            let mark = shard.appendMark(at: 0)
            read(mark.bytes)
        }

        /// Delivers a mark of the other author.
        @discardableResult
        mutating func readMark(length: Int = 0) -> Int {
            read(other.mark(.start, commit: 0).bytes, length: length)
        }
    }

    // MARK: Positions

    @Test func `the position of a group is that of the entries before the next group`() {
        var scene = Scene()
        scene.readGroup([1], length: 10)
        let first = scene.readMark(length: 5)
        #expect(first == 0)
        #expect(scene.shard.waiting.map(\.length) == [15])
        #expect(scene.shard.waiting[0].position?.entry == 2)
        scene.readGroup([2], length: 20)
        #expect(scene.shard.waiting.map(\.length) == [15, 20])
        #expect(scene.shard.waiting.map { $0.position?.entry } == [2, 3])
        scene.shard.beginWriting(2)
        #expect(scene.shard.waiting.isEmpty && scene.shard.writing.count == 2)
        let second = scene.readMark(length: 7)
        #expect(second == 0)
        #expect(scene.shard.writing.map(\.length) == [15, 27])
        #expect(scene.shard.writing.map { $0.position?.entry } == [2, 4])
        #expect(scene.shard.lastPosition.entry == 0)
        let processed = scene.shard.endWriting(in: 40)
        #expect(processed == 42)
        #expect(scene.shard.writing.isEmpty && scene.shard.lastPosition.entry == 4)
        #expect(scene.shard.durable.entry == 0 && scene.shard.progress.stored == 0)
        #expect(scene.shard.progress.read == 4)
        #expect(scene.shard.progress.digest == scene.shard.reader.digest)
    }

    @Test func `a position is durable once the commit with its documents is`() {
        var scene = Scene()
        for (byte, commit) in [(1, 40), (2, 50)] as [(UInt8, UInt64)] {
            scene.readGroup([byte])
            scene.shard.beginWriting(1)
            _ = scene.shard.endWriting(in: commit)
        }
        // An entry without documents follows those of commit 50.
        let length = scene.readMark(length: 9)
        #expect(length == 9)
        #expect(scene.shard.lastPosition.entry == 3)
        for (commit, isNew, entry) in [
            (39, false, 0), (40, true, 1), (49, false, 1), (50, true, 3), (60, false, 3),
        ] as [(UInt64, Bool, UInt64)] {
            let isDurable = scene.shard.recordDurable(through: commit)
            #expect(isDurable == isNew, "commit \(commit)")
            #expect(scene.shard.durable.entry == entry, "commit \(commit)")
            #expect(scene.shard.progress.stored == entry, "commit \(commit)")
        }
        // Without documents before it, an entry is durable at once.
        scene.readMark()
        #expect(scene.shard.durable.entry == 3)
        let isDurable = scene.shard.recordDurable(through: 0)
        #expect(isDurable && scene.shard.durable.entry == 4)
    }

    @Test func `nothing becomes durable when entries are read twice`() {
        var scene = Scene()
        scene.readMark()
        let first = scene.shard.recordDurable(through: 0)
        #expect(first)
        let length = scene.shard.recordRead(3)
        #expect(length == 3)
        let second = scene.shard.recordDurable(through: 0)
        #expect(!second)
    }

    @Test func `groups whose job has failed are written again in their order`() {
        var scene = Scene()
        for byte: UInt8 in 1...4 { scene.readGroup([byte]) }
        scene.shard.beginWriting(2)
        let payloads = { (groups: [WaitingGroup]) in groups.map { $0.payloads } }
        #expect(payloads(scene.shard.writing) == [[[1]], [[2]]])
        #expect(payloads(scene.shard.waiting) == [[[3]], [[4]]])
        scene.shard.undoWriting()
        #expect(scene.shard.writing.isEmpty)
        #expect(payloads(scene.shard.waiting) == [[[1]], [[2]], [[3]], [[4]]])
    }

    // MARK: State

    @Test func `a shard has caught up once the groups before its first mark are written`() {
        var scene = Scene()
        for byte: UInt8 in 1...3 { scene.readGroup([byte]) }
        scene.shard.beginWriting(1)
        let mark = scene.shard.appendMark(at: 5)
        #expect(mark.id.sequence == 1 && scene.shard.appender.lastBuiltAt == 5)
        #expect(!scene.shard.hasCaughtUp)
        scene.read(mark.bytes)
        scene.readGroup([4])
        // Three groups precede the mark; the fourth one does not matter.
        for count in [1, 1, 1] {
            #expect(!scene.shard.hasCaughtUp)
            _ = scene.shard.endWriting(in: 1)
            scene.shard.beginWriting(count)
        }
        #expect(scene.shard.hasCaughtUp)
        _ = scene.shard.endWriting(in: 2)
        #expect(scene.shard.hasCaughtUp)
        scene.readGroup([5])
        scene.readGroup([6])
        scene.shard.beginWriting(2)
        _ = scene.shard.endWriting(in: 3)
        #expect(scene.shard.hasCaughtUp)
    }

    @Test func `others wait for a shard that follows, unless its writes fail for ten seconds`() {
        let limits = HubFeedLimits()
        let seconds: UInt64 = 1_000_000_000
        var scene = Scene()
        #expect(!scene.shard.isFollowing(at: 0, limits) && scene.shard.isSound)
        scene.readOwnMark()
        #expect(scene.shard.isFollowing(at: 0, limits))
        scene.shard.recordFailure(at: seconds)
        scene.shard.recordFailure(at: 9 * seconds)
        scene.shard.retryAt = 10 * seconds
        #expect(scene.shard.isFollowing(at: 11 * seconds - 1, limits))
        #expect(!scene.shard.isFollowing(at: 11 * seconds, limits))
        _ = scene.shard.endWriting(in: 1)
        #expect(scene.shard.isFollowing(at: 11 * seconds, limits) && scene.shard.retryAt == nil)
        scene.shard.isBlocked = true
        #expect(!scene.shard.isFollowing(at: 0, limits) && !scene.shard.isSound)
    }

    @Test func `a shard with an incident is followed, and is not sound`() {
        var scene = Scene()
        scene.readOwnMark()
        #expect(scene.shard.isSound)
        // The number of a known entry has other bytes.
        scene.shard.reader.receive(HubLogEntry(1, [1]), at: 0)
        #expect(scene.shard.reader.incidents.map(\.kind) == [.truncation])
        #expect(!scene.shard.isSound && scene.shard.isFollowing(at: 0, HubFeedLimits()))
    }

    @Test func `nothing is followed after a message of a newer version`() {
        var scene = Scene()
        scene.readOwnMark()
        var bytes = scene.other.mark(.start, commit: 0).bytes
        // The version follows four letters.
        bytes[4] = HubMessage.version + 1
        let contents = Array(bytes.dropLast(8))
        let checksum = contents.withUnsafeBytes { XXH3.hash64($0, seed: Self.log.low) }
        bytes = contents + (0..<8).map { UInt8(truncatingIfNeeded: checksum >> (8 * $0)) }
        scene.read(bytes)
        #expect(scene.shard.reader.newerVersion == HubMessage.version + 1)
        #expect(!scene.shard.isSound && !scene.shard.isFollowing(at: 0, HubFeedLimits()))
    }

    // MARK: Time

    @Test func `a store is current up to the last own message that it has with its position`() {
        var scene = Scene()
        let second: UInt64 = 1_000_000_000
        func current(_ scene: Scene, at now: UInt64) -> UInt64 {
            scene.shard.currentMilliseconds(at: now, Self.wall)
        }
        #expect(current(scene, at: 9 * second) == 500)
        scene.shard.recordOwn(appendedAt: 2 * second)
        scene.shard.recordOwn(appendedAt: second)
        #expect(current(scene, at: 9 * second) == 500)
        scene.readMark()
        #expect(current(scene, at: 5 * second) == Self.wall - 3_000)
        #expect(current(scene, at: 5 * second - 1) == Self.wall - 2_999)
        // A clock that goes back shows no later time.
        #expect(current(scene, at: second) == Self.wall)
        #expect(scene.shard.currentMilliseconds(at: 5 * second, 2_000) == 1)
        // The documents before the next own message are not in the store yet.
        scene.readGroup([1])
        scene.shard.recordOwn(appendedAt: 4 * second)
        scene.readMark()
        #expect(current(scene, at: 5 * second) == Self.wall - 3_000)
        scene.shard.beginWriting(1)
        #expect(current(scene, at: 5 * second) == Self.wall - 3_000)
        scene.shard.recordOwn(appendedAt: 5 * second)
        scene.readMark()
        _ = scene.shard.endWriting(in: 1)
        #expect(current(scene, at: 5 * second) == Self.wall)
        #expect(current(scene, at: 7 * second) == Self.wall - 2_000)
    }

    // MARK: Missing payloads

    /// Returns a shard with a group of entries 1, 2, 4 and 5 without payloads.
    private func incomplete() -> Scene {
        var limits = ShardReader.Limits()
        limits.stagedLength = 0
        var scene = Scene(limits)
        let messages = scene.messages([1, 2, 3, 4])
        for message in messages[..<2] { scene.read(message.bytes) }
        var third = HubMessageChain(
            log: Self.log, shard: 2, author: HubAuthor(site: Site(rawValue: 6), opening: 7))
        scene.read(third.mark(.start, commit: 0).bytes)
        for message in messages[2...] { scene.read(message.bytes) }
        return scene
    }

    private func deliver(_ entry: Int, to scene: inout Scene, at now: UInt64) {
        scene.shard.complete(
            with: HubLogEntry(UInt64(entry), scene.entries[entry - 1]), at: now)
    }

    @Test func `the entries that a group lacks are read again, once in a time`() {
        var scene = incomplete()
        #expect(scene.shard.waiting.count == 1 && !scene.shard.waiting[0].isComplete)
        #expect(scene.shard.requestedAt == nil)
        let all = scene.shard.missingEntries(at: 100, every: 50)
        #expect(all == [1...2, 4...5] && scene.shard.requestedAt == 100)
        let early = scene.shard.missingEntries(at: 149, every: 50)
        #expect(early.isEmpty && scene.shard.requestedAt == 100)
        let again = scene.shard.missingEntries(at: 150, every: 50)
        #expect(again == [1...2, 4...5] && scene.shard.requestedAt == 150)
        deliver(2, to: &scene, at: 170)
        #expect(scene.shard.requestedAt == 170)
        #expect(scene.shard.waiting[0].payloads == [nil, [2], nil, nil])
        #expect(scene.shard.waiting[0].payloadLength == 1)
        // An entry that arrives twice does not delay the others.
        deliver(2, to: &scene, at: 200)
        deliver(3, to: &scene, at: 200)
        #expect(scene.shard.requestedAt == 170)
        let rest = scene.shard.missingEntries(at: 220, every: 50)
        #expect(rest == [1...1, 4...5])
        for entry in [5, 1, 4] { deliver(entry, to: &scene, at: 230) }
        #expect(scene.shard.waiting[0].isComplete && scene.shard.requestedAt == nil)
        #expect(scene.shard.waiting[0].payloads == [[1], [2], [3], [4]])
        #expect(scene.shard.waiting[0].payloadLength == 4)
        let none = scene.shard.missingEntries(at: 1_000, every: 50)
        #expect(none.isEmpty)
    }

    @Test func `entries that were not requested begin no time, and other bytes are ignored`() {
        var scene = incomplete()
        deliver(1, to: &scene, at: 10)
        #expect(scene.shard.waiting[0].payloads == [[1], nil, nil, nil])
        #expect(scene.shard.requestedAt == nil)
        // The bytes of another entry, of another author, and none at all.
        for bytes in [scene.entries[0], scene.entries[2], []] {
            scene.shard.complete(with: HubLogEntry(2, bytes), at: 20)
        }
        #expect(scene.shard.waiting[0].payloads == [[1], nil, nil, nil])
        let missing = scene.shard.missingEntries(at: 20, every: 50)
        #expect(missing == [2...2, 4...5])
    }

    @Test func `only the first group is completed by requests`() {
        var scene = incomplete()
        for message in scene.messages([9]) { scene.read(message.bytes) }
        #expect(scene.shard.waiting.map(\.isComplete) == [false, false])
        let first = scene.shard.missingEntries(at: 0, every: 50)
        #expect(first == [1...2, 4...5])
        for entry in [1, 2, 4, 5] { deliver(entry, to: &scene, at: 1) }
        scene.shard.beginWriting(1)
        let second = scene.shard.missingEntries(at: 1, every: 50)
        #expect(second == [6...6])
        deliver(6, to: &scene, at: 2)
        #expect(scene.shard.waiting.map(\.isComplete) == [true])
    }
}
