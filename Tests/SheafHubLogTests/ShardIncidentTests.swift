import SheafBytes
import SheafDocument
import SheafHubLog
import Testing

/// Tests of incidents with their numbers, of other hubs, and of what a reader forgets.
struct ShardIncidentTests {
    private static let log = HubLogID(low: 5, high: 6)
    private static let second: UInt64 = 1_000_000_000
    private static let author = HubAuthor(site: Site(rawValue: 1), opening: 2)
    private static let own = HubAuthor(site: Site(rawValue: 3), opening: 4)
    private var reader = ShardReader(log: Self.log, shard: 0)
    private var chain = HubMessageChain(log: Self.log, shard: 0, author: Self.author)
    private var entry: UInt64 = 0

    /// Returns a hub that differs from others by its opening.
    private static func hub(_ opening: UInt64) -> HubAuthor {
        HubAuthor(site: Site(rawValue: 9), opening: opening)
    }

    private static func progress(_ read: UInt64, _ digest: UInt64) -> ShardProgress {
        ShardProgress(read: read, digest: digest, stored: 0) ?? .start
    }

    private mutating func limit(_ change: (inout ShardReader.Limits) -> Void) {
        var limits = ShardReader.Limits()
        change(&limits)
        reader = ShardReader(log: Self.log, shard: 0, own: reader.own, limits: limits)
    }

    private mutating func group(
        parts: Int = 1, _ progress: ShardProgress = .start
    ) -> [[UInt8]] {
        let extent = HubMessage.Extent(base: chain.sequence, commit: chain.sequence + 1)
        return chain.messages(
            of: Array(repeating: 7, count: parts), extent, progress, length: 1
        ).map(\.bytes)
    }

    private mutating func receive(_ bytes: [UInt8], at now: UInt64 = 1) {
        entry += 1
        reader.receive(HubLogEntry(entry, bytes), at: now)
    }

    /// Returns all effects but groups.
    private mutating func effects() -> [ShardEffect] {
        reader.drainEffects().filter { effect in
            guard case .apply = effect else { return true }
            return false
        }
    }

    private mutating func applied() -> [[UInt64]] {
        reader.drainEffects().compactMap { effect -> [UInt64]? in
            guard case .apply(let group) = effect else { return nil }
            return group.parts.map(\.sequence)
        }
    }

    // MARK: - Incidents

    @Test mutating func `a truncation names its entry and the digest there, and is reported once`()
        throws
    {
        for _ in 0..<3 { receive(group()[0]) }
        _ = reader.drainEffects()
        let digest = try #require(reader.digest(at: 2))
        let incident = ShardIncident(.truncation, entry: 2, digest: digest)
        reader.receive(HubLogEntry(2, [1]), at: 1)
        #expect(effects() == [.fault(.truncation(entry: 2)), .incident(incident)])
        reader.receive(HubLogEntry(3, [1]), at: 1)
        #expect(effects() == [.fault(.truncation(entry: 3))])
        #expect(reader.incidents == [incident])
    }

    @Test mutating func `a fork names its entry, and incidents are in the order of their kinds`()
        throws
    {
        var twin = chain
        receive(group()[0])
        reader.receive(HubLogEntry(1, [1]), at: 1)
        receive(twin.mark(.start, commit: 9).bytes)
        let digest = try #require(reader.digest(at: 2))
        #expect(reader.incidents.map(\.kind) == [.fork, .truncation])
        #expect(reader.incidents.first == ShardIncident(.fork, entry: 2, digest: digest))
    }

    @Test mutating func `the progress in a message is compared with the digest of its entry`()
        throws
    {
        receive(group()[0])
        receive(group()[0])
        _ = reader.drainEffects()
        let digest = try #require(reader.digest(at: 1))
        receive(group(Self.progress(1, digest))[0])
        #expect(effects() == [])
        receive(group(Self.progress(1, digest ^ 1))[0])
        let fork = ShardIncident(.fork, entry: 1, digest: digest, otherDigest: digest ^ 1)
        #expect(
            effects() == [.fault(.otherDigest(Self.author, entry: 1)), .incident(fork)])
        // The author had read five entries before this one, which is the fifth.
        receive(group(Self.progress(5, 77))[0])
        let truncation = ShardIncident(
            .truncation, entry: 5, digest: reader.digest, otherDigest: 77)
        #expect(effects() == [.fault(.truncation(entry: 5)), .incident(truncation)])
    }

    @Test mutating func `lost messages take with them the groups that continue in them`() throws {
        limit { $0.laterMessages = 2 }
        let messages = group(parts: 4) + group() + group()
        for index in [0, 3, 4] { receive(messages[index]) }
        _ = reader.drainEffects()
        receive(messages[5])
        let digest = try #require(reader.digest(at: 4))
        #expect(
            effects() == [
                .fault(.lostMessages(Self.author, 2...3)),
                .incident(ShardIncident(.loss, entry: 4, digest: digest)),
                .fault(.unfinishedGroup(Self.author, 1...1)),
                .fault(.unfinishedGroup(Self.author, 4...4)),
            ])
        #expect(reader.position().entry == 4)
        #expect(reader.violation == nil)
        // Nothing is applied of what arrives after all.
        receive(messages[1])
        #expect(effects() == [.fault(.repetition(Self.author, sequence: 2, entry: 5))])
    }

    @Test mutating func `a group beyond the limit is discarded, and its end is not reported`()
        throws
    {
        limit { $0.trackedMessages = 3 }
        let messages = group(parts: 5) + group()
        for index in 0..<3 { receive(messages[index]) }
        #expect(reader.drainEffects() == [])
        receive(messages[3])
        let digest = try #require(reader.digest(at: 4))
        #expect(
            reader.drainEffects() == [
                .fault(.unfinishedGroup(Self.author, 1...4)),
                .incident(ShardIncident(.loss, entry: 4, digest: digest)),
            ])
        receive(messages[4])
        #expect(reader.drainEffects() == [])
        receive(messages[5])
        #expect(applied() == [[6]])
        #expect(reader.position().entry == 6)
        #expect(reader.violation == nil)
    }

    @Test mutating func `a message of a newer version ends all reading before it`() {
        let messages = (0..<4).map { _ in group()[0] }
        receive(messages[0])
        reader.receive(HubLogEntry(3, messages[2]), at: 1)
        _ = reader.drainEffects()
        #expect(reader.lacksEntries)
        var newer = messages[1]
        newer[4] = 2
        newer.removeLast(8)
        var writer = ByteWriter()
        writer.write(newer)
        writer.write(newer.withUnsafeBytes { XXH3.hash64($0, seed: Self.log.low) })
        reader.receive(HubLogEntry(2, writer.bytes), at: 1)
        #expect(reader.drainEffects() == [.fault(.newerVersion(entry: 2, 2))])
        #expect(reader.newerVersion == 2 && reader.read == 1 && !reader.lacksEntries)
        #expect(reader.violation == nil)
        // Nothing has an effect any more.
        reader.receive(HubLogEntry(2, messages[1]), at: 2)
        reader.receive(HubLogEntry(1, [1]), at: 2)
        reader.receive(Self.progress(1, 77), of: Self.own, at: 2)
        reader.receive(Self.progress(9, 77), of: Self.own, at: 2)
        for second in UInt64(1)...100 { reader.tick(at: second * Self.second) }
        #expect(reader.drainEffects() == [])
        #expect(reader.read == 1 && reader.incidents.isEmpty)
    }

    // MARK: - Other hubs

    @Test mutating func `the lowest and the highest progress of a hub are compared when read`() {
        for read in [3, 2, 5, 4] as [UInt64] {
            reader.receive(Self.progress(read, 77), of: Self.hub(1), at: 1)
        }
        var found: [UInt64] = []
        for _ in 1...6 {
            receive(group()[0])
            for effect in effects() {
                guard case .fault(.otherDigest(_, let number)) = effect else { continue }
                found.append(number)
            }
        }
        #expect(found == [2, 5])
    }

    @Test(arguments: [false, true])
    mutating func `beyond the limit, the hub whose report is the oldest is forgotten`(
        _ isRenewed: Bool
    ) {
        limit { $0.authors = 2 }
        reader.receive(Self.progress(1, 77), of: Self.hub(1), at: 1)
        reader.receive(Self.progress(1, 78), of: Self.hub(2), at: 2)
        if isRenewed { reader.receiveBeat(of: Self.hub(1), at: 3) }
        // A beat of a known hub replaces none.
        reader.receiveBeat(of: Self.hub(2), at: 2)
        reader.receiveBeat(of: Self.hub(3), at: 4)
        #expect(reader.violation == nil)
        receive(group()[0])
        let known = Self.hub(isRenewed ? 1 : 2)
        let found = effects()
        #expect(found.first == .fault(.otherDigest(known, entry: 1)))
        #expect(found.count == 2 && reader.incidents.map(\.kind) == [.fork])
    }

    @Test mutating func `an engine is stale no longer when the entries of others arrive`() {
        reader = ShardReader(log: Self.log, shard: 0, own: Self.own)
        let messages = (0..<3).map { _ in group()[0] }
        var ahead = ShardReader(log: Self.log, shard: 0)
        for (index, bytes) in messages.enumerated() {
            ahead.receive(HubLogEntry(UInt64(index + 1), bytes), at: 1)
        }
        receive(messages[0])
        reader.receive(Self.progress(3, ahead.digest), of: Self.author, at: 1)
        for second in UInt64(1)...66 { reader.tick(at: 1 + second * Self.second) }
        #expect(
            effects() == [
                .fault(.staleEngine(after: 1)), .appendMark,
                .incident(ShardIncident(.staleEngine, entry: 1, digest: reader.digest)),
            ])
        receive(messages[1], at: 67 * Self.second)
        reader.tick(at: 67 * Self.second)
        #expect(reader.incidents.map(\.kind) == [.staleEngine])
        receive(messages[2], at: 67 * Self.second)
        reader.tick(at: 67 * Self.second)
        #expect(reader.incidents.isEmpty)
        // Another progress beyond the entries is due again after five seconds.
        reader.receive(Self.progress(9, 1), of: Self.author, at: 80 * Self.second)
        reader.tick(at: 85 * Self.second - 1)
        #expect(effects() == [])
        reader.tick(at: 85 * Self.second)
        #expect(effects() == [.fault(.staleEngine(after: 3)), .appendMark])
    }

    @Test(arguments: [2, 3] as [UInt64])
    mutating func `an own mark shows which entries of others are gone`(_ claimed: UInt64) {
        reader = ShardReader(log: Self.log, shard: 0, own: Self.own)
        var marks = HubMessageChain(log: Self.log, shard: 0, author: Self.own)
        let early = marks.mark(.start, commit: 1)
        receive(group()[0])
        reader.receive(Self.progress(claimed, 77), of: Self.author, at: 1)
        for second in UInt64(1)...5 { reader.tick(at: 1 + second * Self.second) }
        let probe = marks.mark(.start, commit: 1)
        reader.appendedMark(probe.id.sequence)
        // A later mark does not take the place of the first one.
        reader.appendedMark(marks.mark(.start, commit: 1).id.sequence)
        receive(early.bytes)
        #expect(!reader.hasCaughtUp)
        _ = reader.drainEffects()
        receive(probe.bytes)
        #expect(reader.hasCaughtUp)
        let isGone = claimed == 3
        #expect(effects().contains(.fault(.truncation(entry: 3))) == isGone)
        #expect(reader.incidents.contains { $0.kind == .truncation } == isGone)
        #expect(!reader.incidents.contains { $0.kind == .staleEngine })
    }

    // MARK: - Authors

    @Test mutating func `authors with open groups and the own one are forgotten last`() {
        reader = ShardReader(log: Self.log, shard: 0, own: Self.own)
        limit { $0.authors = 3 }
        var marks = HubMessageChain(log: Self.log, shard: 0, author: Self.own)
        receive(marks.mark(.start, commit: 1).bytes)
        let open = group(parts: 2)
        receive(open[0])
        func mark(_ opening: UInt64) -> [UInt8] {
            var chain = HubMessageChain(
                log: Self.log, shard: 0, author: Self.hub(opening))
            return chain.mark(.start, commit: 1).bytes
        }
        for opening in UInt64(1)...3 { receive(mark(opening)) }
        #expect(reader.position().authors.map(\.author) == [Self.author, Self.own, Self.hub(3)])
        receive(open[1])
        #expect(applied() == [[1, 2]])
        #expect(reader.violation == nil)
    }

    @Test mutating func `of authors with open groups, that of the oldest message is forgotten`() {
        limit { $0.authors = 2 }
        var chains = (UInt64(1)...3).map {
            HubMessageChain(log: Self.log, shard: 0, author: Self.hub($0))
        }
        let extent = HubMessage.Extent(base: 0, commit: 1)
        let messages = chains.indices.map { index in
            chains[index].messages(of: [1, 2, 3], extent, .start, length: 1).map(\.bytes)
        }
        receive(messages[0][0])
        receive(messages[1][0])
        receive(messages[0][1])
        #expect(reader.drainEffects() == [])
        receive(messages[2][0])
        #expect(reader.drainEffects() == [.fault(.unfinishedGroup(Self.hub(2), 1...1))])
        receive(messages[0][2])
        #expect(applied() == [[1, 2, 3]])
        #expect(reader.violation == nil && reader.incidents.isEmpty)
    }

    @Test mutating func `a hub is asked for 256 ranges of messages at once`() {
        var marks: [[UInt8]] = []
        for _ in 1...514 { marks.append(chain.mark(.start, commit: 1).bytes) }
        for number in 1...257 { receive(marks[2 * number - 1]) }
        reader.receiveBeat(of: Self.author, at: 5 * Self.second)
        _ = reader.drainEffects()
        reader.tick(at: 5 * Self.second + 1)
        let ranges = (UInt64(0)..<256).map { 2 * $0 + 1...2 * $0 + 1 }
        #expect(reader.drainEffects() == [.need(Self.author, ranges)])
    }
}
