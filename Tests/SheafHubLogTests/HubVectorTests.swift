import SheafBytes
import SheafDocument
import SheafHubLog
import SheafHubLogModel
import SheafTestSupport
import Testing

/// Messages and groups of `format-spec/vectors/hub.txt`, written by an independent encoder.
struct HubVectorTests {
    private let vectors: FormatVectors
    private let log = HubProbe.log

    init() throws {
        vectors = try FormatVectors("hub.txt")
    }

    private func message(_ bytes: [UInt8]) throws -> HubMessage {
        try bytes.withUnsafeBytes {
            try HubMessage(decoding: $0, log: log, shard: HubProbe.shard)
        }
    }

    /// Returns pieces, each of which follows its length.
    private func pieces(_ bytes: [UInt8]) throws -> [[UInt8]] {
        try bytes.withUnsafeBytes { bytes in
            var reader = ByteReader(bytes)
            var pieces: [[UInt8]] = []
            while reader.remaining > 0 {
                pieces.append(Array(try reader.readLengthPrefixed(limit: 1 << 20)))
            }
            return pieces
        }
    }

    @Test func `messages match the vectors, and malformed messages are refused`() throws {
        try vectors.forEach("message") { name, bytes in
            let message = try message(bytes)
            #expect(message.bytes == bytes, "\(name)")
            let fields: [(String, UInt64)] = [
                ("kind", UInt64(message.kind.rawValue)), ("flags", UInt64(message.flags.rawValue)),
                ("shard", UInt64(message.shard)), ("site", message.author.site.rawValue),
                ("opening", message.author.opening), ("sequence", message.sequence),
                ("previous", message.previous), ("read", message.progress.read),
                ("digest", message.progress.digest), ("stored", message.progress.stored),
                ("base", message.extent.base), ("commit", message.extent.commit),
                ("unconfirmed", UInt64(message.unconfirmed)),
            ]
            for (field, value) in fields {
                #expect(value == (try vectors.number("\(name).\(field)")), "\(name).\(field)")
            }
            #expect(message.payload == (try vectors.bytes("\(name).payload")))
        }
        try vectors.forEach("refusedMessage") { name, bytes in
            let error = #expect(throws: HubMessageError.self, "\(name)") { try message(bytes) }
            if case .newerVersion? = error { Issue.record("\(name) counts as a newer version") }
            #expect(error?.description.isEmpty == false)
        }
    }

    @Test func `a message of a newer version differs from damage by its checksum`() throws {
        var bytes = try vectors.bytes("newer.newerMessage")
        #expect(throws: HubMessageError.newerVersion(2)) { try message(bytes) }
        bytes[60] ^= 1
        let error = #expect(throws: HubMessageError.self) { try message(bytes) }
        guard case .checksum? = error else {
            Issue.record("a damaged message of a newer version: \(String(describing: error))")
            return
        }
    }

    @Test func `each bit of a message is covered by its checksum`() throws {
        let bytes = try vectors.bytes("message.message")
        for bit in 0..<8 * bytes.count {
            var changed = bytes
            changed[bit / 8] ^= 1 << (bit % 8)
            #expect(throws: HubMessageError.self, "bit \(bit)") { try message(changed) }
        }
    }

    /// Reads a group as a hub does: its messages through a reader, then its payloads.
    private func documents(
        of messages: [[UInt8]]
    ) throws -> (reader: HubGroupReader, count: Int, author: HubAuthor) {
        var shard = ShardReader(log: log, shard: HubProbe.shard)
        for (index, bytes) in messages.enumerated() {
            shard.receive(HubLogEntry(UInt64(index + 1), bytes), at: 1)
        }
        let groups = shard.drainEffects().compactMap { effect -> ShardGroup? in
            guard case .apply(let group) = effect else { return nil }
            return group
        }
        guard shard.incidents.isEmpty, groups.count == 1, let group = groups.first else {
            throw Malformed.invalid("\(groups.count) groups", at: 0)
        }
        var reader = HubGroupReader(
            commit: group.extent.commit, shard: HubProbe.shard, in: try HubProbe.map())
        var count = 0
        for part in group.parts {
            let payload = try #require(part.payload)
            let isLast = part.sequence == group.parts.last?.sequence
            count += try reader.read(payload, isLast: isLast).count
        }
        return (reader, count, group.author)
    }

    @Test func `groups match the vectors, and malformed groups are refused`() throws {
        try vectors.forEach("messages") { name, bytes in
            let group = try documents(of: pieces(bytes))
            #expect(UInt64(group.count) == (try vectors.number("\(name).documents")), "\(name)")
            #expect(
                UInt64(group.reader.pauses.count) == (try vectors.number("\(name).sites")))
            #expect(UInt64(group.reader.names.count) == (try vectors.number("\(name).names")))
            guard vectors.has("\(name).site") else {
                #expect(group.reader.stamp == nil)
                return
            }
            let site = Site(rawValue: try vectors.number("\(name).site"))
            let time = HybridTime(rawValue: try vectors.number("\(name).time"))
            #expect(group.reader.stamp == Stamp(time, site))
        }
        try vectors.forEach("refusedGroup") { name, bytes in
            #expect(throws: Malformed.self, "\(name)") { try documents(of: pieces(bytes)) }
        }
    }

    @Test func `a part of a snapshot matches its vector`() throws {
        try vectors.forEach("part") { name, bytes in
            var reader = HubGroupReader(
                commit: 1, shard: HubProbe.shard, in: try HubProbe.map())
            let documents = try reader.read(bytes, isLast: true)
            #expect(UInt64(documents.count) == (try vectors.number("\(name).documents")))
            #expect(UInt64(reader.names.count) == (try vectors.number("\(name).names")))
            #expect(reader.pauses.isEmpty && reader.stamp == nil)
        }
    }

    @Test func `digests match the vectors, also after a lost entry`() throws {
        let entries = try pieces(vectors.bytes("digests.entries"))
        let digests = try vectors.bytes("digests.digests")
        var reader = ShardReader(log: log, shard: HubProbe.shard)
        for (index, entry) in entries.enumerated() where !entry.isEmpty {
            reader.receive(HubLogEntry(UInt64(index + 1), entry), at: 1)
        }
        #expect(reader.read == 3)
        reader.tick(at: 6_000_000_000)
        #expect(reader.read == 5)
        try digests.withUnsafeBytes { bytes in
            var numbers = ByteReader(bytes)
            for entry in UInt64(1)...5 {
                let expected = try numbers.readUInt64()
                #expect(reader.digest(at: entry) == expected, "\(entry)")
            }
            #expect(numbers.remaining == 0)
        }
    }

    @Test func `the shards of documents match the vectors`() throws {
        try vectors.forEach("collection") { name, _ in
            let count = try vectors.integer("\(name).shards")
            let address = DocumentAddress(
                collection: try vectors.text("\(name).collection"),
                id: try vectors.bytes("\(name).id"))
            let shard = try HubProbe.map(shardCount: count).shard(of: address)
            #expect(UInt64(shard) == (try vectors.number("\(name).shard")), "\(name)")
        }
    }

    @Test func `a reader finds the faults of the vectors, and no others`() throws {
        try vectors.forEach("received") { name, bytes in
            var reader = ShardReader(log: log, shard: HubProbe.shard)
            try bytes.withUnsafeBytes { bytes in
                var entries = ByteReader(bytes)
                while entries.remaining > 0 {
                    let number = try entries.readVarint()
                    let entry = Array(try entries.readLengthPrefixed(limit: 1 << 20))
                    reader.receive(HubLogEntry(number, entry), at: 1)
                }
            }
            let found = reader.drainEffects().compactMap { effect -> String? in
                guard case .fault(let fault) = effect else { return nil }
                return String("\(fault)".prefix { $0 != "(" })
            }
            #expect(found.joined(separator: " ") == (try vectors.text("\(name).faults")), "\(name)")
            #expect(reader.violation == nil)
            for second in UInt64(1)...120 { reader.tick(at: second * 1_000_000_000) }
            let incidents = reader.incidents.map { "\($0.kind)" }
            let expected = try vectors.text("\(name).incidents")
            #expect(incidents.joined(separator: " ") == expected, "\(name)")
        }
    }
}
