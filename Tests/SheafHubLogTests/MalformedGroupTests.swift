import SheafBytes
import SheafDocument
import SheafHubLog
import SheafTestSupport
import Testing

/// Tests of messages that form groups, or none, in any order of their arrival.
struct MalformedGroupTests {
    private static let log = HubLogID(low: 5, high: 6)
    private static let author = HubAuthor(site: Site(rawValue: 1), opening: 2)

    /// A message of the author, and its place among the others.
    private struct Sent {
        let message: HubMessage
        let bytes: [UInt8]
        let checksum: UInt64

        /// Whether `next` continues the group of this message.
        func isFollowed(by next: Sent) -> Bool {
            let (flags, others) = (message.flags, next.message.flags)
            return flags.rawValue & 1 == 1 && others.rawValue & 2 == 2
                && message.extent == next.message.extent
                && flags.rawValue & 4 == others.rawValue & 4
        }
    }

    /// Returns two marks, and messages with random flags.
    private func messages(_ random: inout SeededRandom) -> [Sent] {
        var sent: [Sent] = []
        for sequence in UInt64(1)...9 {
            let isMark = sequence < 3 || random.chance(1, in: 8)
            // Most messages continue a group, so that some groups are long.
            var flags: HubMessage.Flags = []
            if random.chance(2, in: 3) { flags.insert(.isContinued) }
            if random.chance(2, in: 3) { flags.insert(.continues) }
            let base = random.chance(1, in: 6) ? UInt64(0) : 1
            // A replacement of the marks changes nothing.
            if base == 1, random.chance(1, in: 5) { flags.insert(.replaces) }
            let message = HubMessage(
                isMark ? .mark : .documents, isMark ? [] : flags, shard: 0, unconfirmed: 0,
                log: Self.log, author: Self.author, sequence: sequence,
                previous: sent.last?.checksum ?? 0, progress: .start,
                extent: isMark
                    ? HubMessage.Extent(base: 1, commit: 1)
                    : HubMessage.Extent(base: base, commit: 2),
                payload: isMark ? [] : [UInt8(sequence)])
            let encoded = message.encoded
            sent.append(Sent(message: message, bytes: encoded.bytes, checksum: encoded.checksum))
        }
        return sent
    }

    /// Returns the complete groups, and the messages of all others that can never be completed.
    private func model(_ sent: [Sent]) -> (groups: Set<[UInt64]>, malformed: Set<UInt64>) {
        var groups: Set<[UInt64]> = []
        var malformed: Set<UInt64> = []
        var run: [Sent] = []
        for (index, one) in sent.enumerated() where one.message.kind == .documents {
            run.append(one)
            let isLast = index == sent.count - 1
            if !isLast, one.isFollowed(by: sent[index + 1]) { continue }
            let begins = run[0].message.flags.rawValue & 2 == 0
            let ends = one.message.flags.rawValue & 1 == 0
            let sequences = run.map(\.message.sequence)
            if begins, ends {
                groups.insert(sequences)
            } else if !begins || !isLast {
                malformed.formUnion(sequences)
            }
            run = []
        }
        return (groups, malformed)
    }

    @Test func `only complete groups are applied, and each other message is reported once`() {
        let seed = UInt64.random(in: 0..<1_000_000_000)
        print("malformed groups, seed \(seed)")
        var random = SeededRandom(seed: seed, "malformed groups")
        for _ in 0..<60 {
            let sent = messages(&random)
            let (groups, malformed) = model(sent)
            let order = [0, 1] + (2..<sent.count).shuffled(using: &random)
            check(sent, order, groups, malformed, "seed \(seed)")
        }
    }

    private func check(
        _ sent: [Sent], _ order: [Int], _ groups: Set<[UInt64]>, _ malformed: Set<UInt64>,
        _ comment: Comment
    ) {
        var reader = ShardReader(log: Self.log, shard: 0)
        for (number, index) in order.enumerated() {
            reader.receive(HubLogEntry(UInt64(number + 1), sent[index].bytes), at: 1)
        }
        var (applied, reported): ([[UInt64]], [UInt64]) = ([], [])
        for effect in reader.drainEffects() {
            switch effect {
            case .apply(let group):
                applied.append(group.parts.map(\.sequence))
                for part in group.parts {
                    let one = sent[Int(part.sequence) - 1]
                    #expect(part.payload == one.message.payload, comment)
                    #expect(part.checksum == one.checksum, comment)
                    #expect(order[Int(part.entry) - 1] == Int(part.sequence) - 1, comment)
                    #expect(group.extent == one.message.extent, comment)
                    #expect(group.replaces == one.message.flags.contains(.replaces), comment)
                }
            case .fault(.malformedGroup(Self.author, let range)): reported += Array(range)
            case .fault(.early), .incident: break
            default: Issue.record("\(effect), \(comment)")
            }
        }
        #expect(Set(applied) == groups && applied.count == groups.count, comment)
        #expect(reported.sorted() == malformed.sorted(), comment)
        let kinds: [ShardIncident.Kind] = malformed.isEmpty ? [] : [.loss]
        #expect(reader.incidents.map(\.kind) == kinds, comment)
        #expect(reader.violation == nil, comment)
        // An open group at the end is that of the last messages.
        let open = sent.indices.filter { index in
            let sequence = UInt64(index + 1)
            return sent[index].message.kind == .documents && !malformed.contains(sequence)
                && !groups.contains { $0.contains(sequence) }
        }
        let first = open.compactMap { order.firstIndex(of: $0) }.min()
        let position = reader.position()
        #expect(position.entry == UInt64(first ?? order.count), comment)
        #expect(position.authors.map(\.sequence) == [UInt64(open.first ?? sent.count)], comment)
    }

    @Test func `a group has at most 4,096 messages`() {
        var previous: UInt64 = 0
        func entry(_ sequence: UInt64, _ flags: HubMessage.Flags) -> HubLogEntry {
            let encoded = HubMessage(
                .documents, flags, shard: 0, unconfirmed: 0, log: Self.log, author: Self.author,
                sequence: sequence, previous: previous, progress: .start,
                extent: HubMessage.Extent(base: 1, commit: 2), payload: [1]
            ).encoded
            previous = encoded.checksum
            return HubLogEntry(sequence, encoded.bytes)
        }
        var reader = ShardReader(log: Self.log, shard: 0)
        reader.receive(entry(1, .isContinued), at: 1)
        for sequence in UInt64(2)...4_095 {
            reader.receive(entry(sequence, [.continues, .isContinued]), at: 1)
        }
        var (longest, tooLong) = (reader, reader)
        let last = previous
        longest.receive(entry(4_096, .continues), at: 1)
        let effects = longest.drainEffects()
        guard effects.count == 1, case .apply(let group) = effects[0] else {
            Issue.record("\(effects)")
            return
        }
        #expect(group.parts.count == 4_096)
        previous = last
        tooLong.receive(entry(4_096, [.continues, .isContinued]), at: 1)
        tooLong.receive(entry(4_097, .continues), at: 1)
        let faults = tooLong.drainEffects()
        #expect(faults.first == .fault(.malformedGroup(Self.author, 1...4_097)))
        #expect(faults.count == 2 && tooLong.incidents.map(\.kind) == [.loss])
        #expect(longest.violation == nil && tooLong.violation == nil)
    }
}
