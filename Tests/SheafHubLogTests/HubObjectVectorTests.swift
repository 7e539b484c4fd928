import SheafBytes
import SheafDocument
import SheafHubLog
import SheafHubLogModel
import SheafSync
import SheafTestSupport
import Testing

/// Objects, broadcasts and keys of `format-spec/vectors/hub.txt`.
struct HubObjectVectorTests {
    private let vectors: FormatVectors

    init() throws {
        vectors = try FormatVectors("hub.txt")
    }

    private func configuration(_ bytes: [UInt8]) throws -> HubConfiguration {
        try bytes.withUnsafeBytes { try HubConfiguration(decoding: $0) }
    }

    private func manifest(_ bytes: [UInt8]) throws -> SnapshotManifest {
        try bytes.withUnsafeBytes { try SnapshotManifest(decoding: $0) }
    }

    private func broadcast(_ bytes: [UInt8]) throws -> HubBroadcast {
        try bytes.withUnsafeBytes { try HubBroadcast(decoding: $0, log: HubProbe.log) }
    }

    private func stored(_ bytes: [UInt8]) throws -> StoredShard {
        try bytes.withUnsafeBytes { try StoredShard(decoding: $0) }
    }

    /// Expects fields of a case to have the numbers of the vectors.
    private func expect(_ name: String, _ fields: [(String, UInt64?)]) throws {
        for (field, value) in fields {
            #expect(value == (try vectors.number("\(name).\(field)")), "\(name).\(field)")
        }
    }

    /// Returns the hash with these little-endian bytes; nil for zeros.
    private func hash(_ name: String) throws -> XXH3.Hash128? {
        let bytes = try vectors.bytes(name)
        guard bytes.contains(where: { $0 != 0 }) else { return nil }
        return try bytes.withUnsafeBytes { bytes in
            var reader = ByteReader(bytes)
            return XXH3.Hash128(low: try reader.readUInt64(), high: try reader.readUInt64())
        }
    }

    @Test func `configurations match the vectors, and malformed ones are refused`() throws {
        try vectors.forEach("configuration") { name, bytes in
            let decoded = try configuration(bytes)
            #expect(decoded.bytes == bytes, "\(name)")
            let until = decoded.replacement?.takeoverMilliseconds ?? 0
            try expect(
                name,
                [
                    ("format", UInt64(decoded.format)), ("number", decoded.number),
                    ("shards", UInt64(decoded.map.shardCount)), ("until", until),
                ])
            #expect(decoded.map == (try HubProbe.map()))
            #expect(decoded.log == HubProbe.log)
            #expect(decoded.snapshots[0].newest == (try hash("\(name).newest")))
            #expect(decoded.snapshots[0].earlier == (try hash("\(name).earlier")))
            #expect(decoded.snapshots[1].newest == nil)
        }
        try vectors.forEach("refusedConfiguration") { name, bytes in
            #expect(throws: Malformed.self, "\(name)") { try configuration(bytes) }
        }
    }

    @Test func `manifests match the vectors, and malformed ones are refused`() throws {
        try vectors.forEach("manifest") { name, bytes in
            let decoded = try manifest(bytes)
            #expect(decoded.bytes == bytes, "\(name)")
            try expect(
                name,
                [
                    ("shard", UInt64(decoded.shard)), ("entry", decoded.position.entry),
                    ("digest", decoded.position.digest), ("time", decoded.wallMilliseconds),
                    ("documents", decoded.documentCount), ("parts", UInt64(decoded.parts.count)),
                    ("authors", UInt64(decoded.position.authors.count)),
                    ("sites", UInt64(decoded.pauses.count)),
                ])
            guard let author = decoded.position.authors.first, let part = decoded.parts.first else {
                return
            }
            try expect(
                name,
                [
                    ("sequence", author.sequence), ("checksum", author.checksum),
                    ("length", part.length),
                ])
        }
        try vectors.forEach("refusedManifest") { name, bytes in
            #expect(throws: Malformed.self, "\(name)") { try manifest(bytes) }
        }
    }

    @Test func `broadcasts match the vectors, and malformed ones are refused`() throws {
        var kinds: Set<String> = []
        try vectors.forEach("broadcast") { name, bytes in
            let decoded = try broadcast(bytes)
            #expect(decoded.bytes == bytes, "\(name)")
            #expect(decoded.hub == Array(0..<32))
            kinds.insert(String("\(decoded.contents)".prefix { $0 != "(" }))
            switch decoded.contents {
            case .beat(let beat): try check(beat, name)
            case .presence(let message):
                try expect(name, [("records", UInt64(message.records.count))])
            case .need(let shard, let author, let ranges):
                #expect(author.site.rawValue == 5 && author.opening == 6)
                try expect(
                    name,
                    [
                        ("shard", UInt64(shard)), ("ranges", UInt64(ranges.count)),
                        ("first", ranges.first?.lowerBound), ("last", ranges.first?.upperBound),
                    ])
            case .incident(let incident, let shard):
                try expect(
                    name,
                    [
                        ("shard", UInt64(shard)), ("incident", UInt64(incident.kind.rawValue)),
                        ("entry", incident.entry), ("digest", incident.digest),
                        ("other", incident.otherDigest),
                    ])
            }
        }
        #expect(kinds.count == 4)
        try vectors.forEach("refusedBroadcast") { name, bytes in
            #expect(throws: Malformed.self, "\(name)") { try broadcast(bytes) }
        }
    }

    private func check(_ beat: HubBroadcast.Beat, _ name: String) throws {
        try expect(
            name,
            [
                ("draining", beat.isDraining ? 1 : 0), ("ready", beat.isReady ? 1 : 0),
                ("lowest", UInt64(beat.versions.lowerBound)),
                ("highest", UInt64(beat.versions.upperBound)), ("clock", beat.wallMilliseconds),
                ("clients", beat.clientCount), ("addresses", UInt64(beat.addresses.count)),
                ("shards", UInt64(beat.shards.count)),
                ("read", beat.shards.first?.progress.read),
                ("digest", beat.shards.first?.progress.digest),
                ("stored", beat.shards.first?.progress.stored),
            ])
    }

    @Test func `the progress of a store matches the vectors, and malformed ones are refused`()
        throws
    {
        let bytes = try vectors.bytes("stored.stored")
        let decoded = try stored(bytes)
        #expect(decoded.bytes == bytes)
        #expect(decoded.log == HubProbe.log)
        try expect(
            "stored",
            [
                ("entry", decoded.position.entry), ("digest", decoded.position.digest),
                ("commit", decoded.commit), ("time", decoded.wallMilliseconds),
                ("authors", UInt64(decoded.position.authors.count)),
                ("sequence", decoded.position.authors.first?.sequence),
                ("checksum", decoded.position.authors.first?.checksum),
            ])
        try vectors.forEach("refusedStored") { name, bytes in
            #expect(throws: Malformed.self, "\(name)") { try stored(bytes) }
        }
    }

    @Test func `a mutated structure is refused or re-encodes identically`() throws {
        let seed = UInt64.random(in: 0..<1_000_000_000)
        print("mutated structures of hubs, seed \(seed)")
        var random = SeededRandom(seed: seed, "structures of hubs")
        for name in vectors.names {
            // Vectors with number values are skipped, and those of the longest messages.
            guard let base = try? vectors.bytes(name), base.count < 10_000 else { continue }
            for structure in HubProbe.Structure.allCases {
                for _ in 0..<20 {
                    // A hash at the end is appended by the probe.
                    let length = random.chance(1, in: 2) ? max(base.count - 8, 0) : base.count
                    var bytes = [structure.rawValue] + base.prefix(length)
                    for _ in 0..<random.below(4) where bytes.count > 1 {
                        bytes[1 + random.below(bytes.count - 1)] = UInt8(random.below(256))
                    }
                    if random.chance(1, in: 4) { bytes.removeLast(random.below(bytes.count)) }
                    let violation = bytes.withUnsafeBytes { HubProbe.read($0) }
                    #expect(violation == nil, "\(name), \(structure), seed \(seed)")
                }
            }
        }
    }
}
