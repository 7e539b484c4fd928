import SheafBytes
import SheafDocument
package import SheafHubLog
import SheafSync

/// A decoder of untrusted bytes of hubs that checks whether structures re-encode identically.
package enum HubProbe {
    /// The structure that follows the first byte of an input.
    package enum Structure: UInt8, CaseIterable {
        case message, group, configuration, manifest, broadcast, stored, entries
    }

    /// The log, shard and map of the vectors.
    package static let log = HubLogID(low: bytes(32), high: bytes(40))
    package static let shard: UInt16 = 2

    private static func bytes(_ first: UInt64) -> UInt64 {
        (0..<8).reversed().reduce(0) { $0 << 8 | (first + $1) }
    }

    /// Returns the map of the vectors, with another number of shards.
    package static func map(shardCount: Int = 4) throws -> ShardMap {
        try ShardMap(
            shardCount: shardCount, splitCollections: ["graffiti"],
            groups: [ShardMap.CollectionGroup(name: "fleet", collections: ["boats", "cars"])])
    }

    /// Decodes an input; returns a description of the defect found, or nil.
    ///
    /// The hash at the end of a structure is not part of the input, but appended to it.
    package static func read(_ input: UnsafeRawBufferPointer) -> String? {
        guard let first = input.first, let structure = Structure(rawValue: first) else {
            return nil
        }
        let rest = UnsafeRawBufferPointer(rebasing: input.dropFirst())
        do {
            return try read(structure, rest)
        } catch let error as Malformed {
            return error.description.isEmpty ? "an error has no description" : nil
        } catch let error as HubMessageError {
            return error.description.isEmpty ? "an error has no description" : nil
        } catch {
            return "an error of unexpected type: \(error)"
        }
    }

    private static func read(
        _ structure: Structure, _ rest: UnsafeRawBufferPointer
    ) throws -> String? {
        switch structure {
        case .message:
            let whole = message(rest)
            return rewritten(
                whole,
                try whole.withUnsafeBytes {
                    try HubMessage(decoding: $0, log: log, shard: shard).bytes
                })
        case .group: return try readGroup(rest)
        case .configuration:
            let whole = hashed(rest, seed: 0)
            return rewritten(
                whole, try whole.withUnsafeBytes { try HubConfiguration(decoding: $0).bytes })
        case .manifest:
            let whole = hashed(rest, seed: 0)
            return rewritten(
                whole, try whole.withUnsafeBytes { try SnapshotManifest(decoding: $0).bytes })
        case .broadcast:
            let whole = hashed(rest, seed: log.low)
            return rewritten(
                whole,
                try whole.withUnsafeBytes { try HubBroadcast(decoding: $0, log: log).bytes })
        case .stored: return rewritten(Array(rest), try StoredShard(decoding: rest).bytes)
        case .entries: return try readEntries(rest)
        }
    }

    private static func rewritten(_ bytes: [UInt8], _ written: [UInt8]) -> String? {
        bytes == written ? nil : "a structure changes when re-encoded"
    }

    private static func hashed(_ bytes: UnsafeRawBufferPointer, seed: UInt64) -> [UInt8] {
        var writer = ByteWriter(capacity: bytes.count + 8)
        writer.write(bytes)
        writer.write(XXH3.hash64(bytes, seed: seed))
        return writer.bytes
    }

    /// Returns a message with its checksum.
    private static func message(_ bytes: UnsafeRawBufferPointer) -> [UInt8] {
        var writer = ByteWriter(capacity: bytes.count + 8)
        writer.write(bytes)
        writer.write(max(XXH3.hash64(bytes, seed: log.low), 1))
        return writer.bytes
    }

    /// Reads payloads, each after its length, and writes the documents again.
    private static func readGroup(_ bytes: UnsafeRawBufferPointer) throws -> String? {
        var reader = ByteReader(bytes)
        var group = HubGroupReader(commit: 300, shard: shard, in: try map(), groupLength: 1 << 20)
        var documents = try group.read([], isLast: false)
        while reader.remaining > 0 {
            let payload = Array(try reader.readLengthPrefixed(limit: 1 << 16))
            documents += try group.read(payload, isLast: reader.remaining == 0)
        }
        var writer = HubGroupWriter(commit: 300, stamp: group.stamp, pauses: group.pauses)
        for index in 0..<group.names.count {
            _ = writer.number(Array((group.names.name(index) ?? "").utf8))
        }
        for document in documents {
            document.bytes.withUnsafeBytes {
                writer.add(
                    DocumentAddress(collection: document.collection, id: document.id), $0,
                    unproven: document.unproven)
            }
        }
        var again = HubGroupReader(commit: 300, shard: shard, in: try map())
        let found = try again.read(writer.finish(), isLast: true)
        guard again.names == group.names, again.pauses == group.pauses, again.stamp == group.stamp
        else { return "names, pauses or the stamp of a group change when re-encoded" }
        return found == documents ? nil : "documents change when re-encoded"
    }

    /// Passes entries, beats and time to a reader with low limits.
    private static func readEntries(_ bytes: UnsafeRawBufferPointer) throws -> String? {
        var limits = ShardReader.Limits()
        (limits.digests, limits.authors, limits.laterMessages) = (8, 3, 4)
        (limits.trackedMessages, limits.stagedLength, limits.waitingLength) = (10, 200, 800)
        var shardReader = ShardReader(log: log, shard: shard, limits: limits)
        var reader = ByteReader(bytes)
        var now: UInt64 = 1
        while reader.remaining > 1 {
            let (what, distance) = (try reader.readUInt8(), try reader.readUInt8())
            let number = shardReader.read &+ UInt64(distance) &- (what & 0x40 == 0 ? 0 : 8)
            switch what % 4 {
            case 0, 1:
                let body = try reader.readLengthPrefixed(limit: 1 << 12)
                let entry = what % 4 == 0 ? message(body) : Array(body)
                shardReader.receive(HubLogEntry(number, entry), at: now)
            case 2:
                let author = HubAuthor(site: Site(rawValue: 1 + UInt64(what >> 4)), opening: 1)
                let digest = number == 0 ? 0 : try reader.readUInt64()
                guard let beat = ShardProgress(read: number, digest: digest, stored: 0) else {
                    return "a progress is refused"
                }
                shardReader.receive(beat, of: author, at: now)
            default:
                now += UInt64(distance) * 1_000_000_000
                shardReader.tick(at: now)
            }
            if let wrong = check(&shardReader) { return wrong }
        }
        return nil
    }

    private static func check(_ reader: inout ShardReader) -> String? {
        for effect in reader.drainEffects() {
            guard case .apply(let group) = effect else { continue }
            if group.parts.isEmpty { return "a group without messages is applied" }
            for (part, next) in zip(group.parts, group.parts.dropFirst())
            where part.sequence + 1 != next.sequence { return "a group has a gap" }
        }
        let stored = StoredShard(
            log: log, position: reader.position(), commit: 0, wallMilliseconds: 0)
        do {
            let again = try stored.bytes.withUnsafeBytes { try StoredShard(decoding: $0) }
            if again != stored { return "a position changes when re-encoded" }
        } catch { return "a position is refused: \(error)" }
        return reader.violation
    }
}
