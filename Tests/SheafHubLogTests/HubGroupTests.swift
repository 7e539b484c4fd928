import SheafBytes
import SheafDocument
import SheafHubLog
import SheafSync
import SheafTestSupport
import Testing

/// Groups as hubs write and read them.
struct HubGroupTests {
    private static let log = HubLogID(low: 1, high: 2)

    /// Returns random documents in the order of their addresses.
    private func documents(_ random: inout SeededRandom, longest: Int) -> [ShippedDocument] {
        var addresses: Set<DocumentAddress> = []
        for _ in 0..<random.below(60) {
            let collection = ["cars", "boats", "e\u{301}", "\u{E9}"][random.below(4)]
            addresses.insert(
                DocumentAddress(collection: collection, id: [0x40] + random.bytes(3)))
        }
        return addresses.sorted().map { address in
            let unproven = random.chance(1, in: 9) ? [[UInt8](repeating: 7, count: 32)] : []
            return ShippedDocument(
                collection: address.collection, id: address.id, .state,
                random.bytes(random.below(longest)), unproven: unproven)
        }
    }

    private func payload(
        of documents: [ShippedDocument], stamp: Stamp? = nil, pauses: [SitePauses] = []
    ) -> [UInt8] {
        var writer = HubGroupWriter(commit: 8, stamp: stamp, pauses: pauses)
        for (index, document) in documents.enumerated() {
            #expect(writer.number(Array("name \(index % 20)".utf8)) == UInt16(index % 20))
            document.bytes.withUnsafeBytes {
                writer.add(
                    DocumentAddress(collection: document.collection, id: document.id), $0,
                    unproven: document.unproven)
            }
        }
        return writer.finish()
    }

    @Test func `documents survive groups of any number of segments and messages`() throws {
        let seed = UInt64.random(in: 0..<1_000_000_000)
        print("groups of hubs, seed \(seed)")
        var random = SeededRandom(seed: seed, "groups of hubs")
        let author = HubAuthor(site: Site(rawValue: 3), opening: 4)
        var chain = HubMessageChain(log: Self.log, shard: 0, author: author)
        var shard = ShardReader(log: Self.log, shard: 0)
        var entry: UInt64 = 0
        for round in 0..<60 {
            let documents = documents(&random, longest: round % 10 == 0 ? 40_000 : 200)
            let stamp = round % 3 == 0 ? Stamp(HybridTime(rawValue: 9), author.site) : nil
            let pause = try #require(
                WritePause(after: HybridTime(rawValue: 3), before: HybridTime(rawValue: 7)))
            let pauses = [SitePauses(site: Site(rawValue: 5), pauses: [pause])]
            let messages = chain.messages(
                of: payload(of: documents, stamp: stamp, pauses: pauses),
                HubMessage.Extent(base: 7, commit: 8), .start, length: 100 + random.below(60_000))
            for message in messages {
                entry += 1
                shard.receive(HubLogEntry(entry, message.bytes), at: 1)
            }
            let effects = shard.drainEffects()
            guard effects.count == 1, case .apply(let group) = effects[0] else {
                Issue.record("\(effects.count) effects, seed \(seed)")
                return
            }
            #expect(group.parts.map(\.checksum) == messages.map(\.id.checksum))
            var reader = HubGroupReader(commit: 8, shard: 0, in: .single)
            var found: [ShippedDocument] = []
            for (index, part) in group.parts.enumerated() {
                let isLast = index == group.parts.count - 1
                found += try reader.read(try #require(part.payload), isLast: isLast)
            }
            #expect(found == documents, "seed \(seed)")
            #expect(reader.stamp == stamp && reader.pauses == pauses)
            #expect(reader.names.count == min(documents.count, 20))
        }
    }

    @Test func `a group that expands beyond the limit is refused`() throws {
        let document = ShippedDocument(
            collection: "cars", id: [0x40, 1], .state, Array(repeating: 0, count: 300_000))
        let bytes = payload(of: [document])
        #expect(bytes.count < 5_000)
        var reader = HubGroupReader(commit: 8, shard: 0, in: .single, groupLength: 200_000)
        #expect(throws: Malformed.self) { try reader.read(bytes, isLast: true) }
    }

    @Test func `a group may expand to the limit, and by no byte more`() throws {
        let document = ShippedDocument(
            collection: "cars", id: [0x40, 1], .state, Array(repeating: 0, count: 1_000))
        let bytes = payload(of: [document])
        var reader = HubGroupReader(commit: 8, shard: 0, in: .single, groupLength: 1)
        let error = #expect(throws: Malformed.self) { try reader.read(bytes, isLast: true) }
        guard case .tooLong(_, let length, 1)? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        for limit in [Int(length) - 1, Int(length)] {
            var reader = HubGroupReader(commit: 8, shard: 0, in: .single, groupLength: limit)
            let found = try? reader.read(bytes, isLast: true)
            #expect(found == (limit == Int(length) ? [document] : nil))
        }
    }

    @Test func `a reader keeps at most one incomplete segment`() throws {
        var reader = HubGroupReader(commit: 8, shard: 0, in: .single)
        var header = ByteWriter()
        header.writeVarint(UInt64(HubLimits.segmentLength + 1))
        #expect(throws: Malformed.self) { try reader.read(header.bytes, isLast: false) }
    }

    @Test func `a long group has messages longer than others, and no more than allowed`() {
        let author = HubAuthor(site: Site(rawValue: 3), opening: 4)
        var chain = HubMessageChain(log: Self.log, shard: 0, author: author)
        let payload = [UInt8](repeating: 1, count: 10 * HubLimits.groupMessages + 5)
        let messages = chain.messages(
            of: payload, HubMessage.Extent(base: 0, commit: 1), .start, length: 10)
        #expect(messages.count <= HubLimits.groupMessages)
        #expect(chain.sequence == UInt64(messages.count))
        #expect(Set(messages.map(\.id.text)).count == messages.count)
    }

    @Test func `collections in a group share a shard, and those of a split one do not`() throws {
        let map = try ShardMap(
            shardCount: 64, splitCollections: ["logs"],
            groups: [ShardMap.CollectionGroup(name: "trade", collections: ["items", "orders"])])
        func shards(_ collection: String) -> Set<UInt16> {
            Set(
                (0..<100).map { number in
                    map.shard(of: DocumentAddress(collection: collection, id: [0x40, number]))
                })
        }
        #expect(shards("items") == shards("orders"))
        #expect(shards("items").count == 1 && shards("people").count == 1)
        #expect(shards("logs").count > 20)
        #expect(map.isSplit("logs") && !map.isSplit("items"))
        #expect(shards("logs").allSatisfy { $0 < 64 })
    }

    @Test(arguments: [0, 3, 512, -1]) func `a number of shards is a power of two up to 256`(
        count: Int
    ) {
        #expect(throws: Malformed.self) { try ShardMap(shardCount: count) }
    }
}
