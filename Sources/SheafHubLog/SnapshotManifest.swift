package import SheafBytes
package import SheafDocument
import SheafSync

/// The contents of a snapshot of a shard (`format-spec/hub.md`, table 6).
package struct SnapshotManifest: Equatable, Sendable {
    /// An object with segments of documents.
    package struct Part: Equatable, Sendable {
        /// The hash in the name of the object, that of its bytes.
        package let hash: XXH3.Hash128
        /// Length of the object in bytes.
        package let length: UInt64
        /// Number of its documents and tombstones.
        package let documentCount: UInt64

        package init(hash: XXH3.Hash128, length: UInt64, documentCount: UInt64) {
            self.hash = hash
            self.length = length
            self.documentCount = documentCount
        }
    }

    package let log: HubLogID
    package let shard: UInt16
    /// All groups complete at this position are in the snapshot.
    package let position: ShardPosition
    /// The hub whose store was read.
    package let author: HubAuthor
    /// The time of the snapshot, in milliseconds since 1970.
    package let wallMilliseconds: UInt64
    /// The checksum of the states of documents and tombstones (`format-spec/export.md`).
    package let checksum: XXH3.Hash128
    package let pauses: [SitePauses]
    /// The parts in the order of the addresses of their documents.
    package let parts: [Part]

    package init(
        log: HubLogID, shard: UInt16, position: ShardPosition, author: HubAuthor,
        wallMilliseconds: UInt64, checksum: XXH3.Hash128, pauses: [SitePauses], parts: [Part]
    ) {
        self.log = log
        self.shard = shard
        self.position = position
        self.author = author
        self.wallMilliseconds = wallMilliseconds
        self.checksum = checksum
        self.pauses = pauses
        self.parts = parts
    }

    /// Number of documents and tombstones.
    package var documentCount: UInt64 { parts.reduce(0) { $0 + $1.documentCount } }

    package var bytes: [UInt8] {
        var writer = ByteWriter(capacity: 256 + 32 * parts.count)
        writer.write("SHS1")
        writer.write(log)
        writer.write(shard)
        writer.write(position.entry)
        writer.write(position.digest)
        writer.write(author)
        writer.write(wallMilliseconds)
        writer.write(documentCount)
        writer.write(checksum)
        writer.write(position.authors)
        writer.writePauses(pauses)
        writer.writeVarint(UInt64(parts.count))
        for part in parts {
            writer.write(part.hash)
            writer.writeVarint(part.length)
            writer.writeVarint(part.documentCount)
        }
        writer.writeHash(seed: 0)
        return writer.bytes
    }

    package init(decoding bytes: UnsafeRawBufferPointer) throws(Malformed) {
        var reader = ByteReader(try bytes.withoutHash(seed: 0))
        try reader.readSignature("SHS1")
        log = try reader.readHash128()
        let shardStart = reader.offset
        shard = try reader.readUInt16()
        guard Int(shard) < HubLimits.shards else {
            throw .invalid("shard \(shard) of \(HubLimits.shards)", at: shardStart)
        }
        let (entry, digest) = try reader.readEntry()
        author = try reader.readAuthor()
        wallMilliseconds = try reader.readUInt64()
        let countStart = reader.offset
        var rest = try reader.readUInt64()
        checksum = try reader.readHash128()
        position = ShardPosition(
            entry: entry, digest: digest, authors: try reader.readAuthorPositions())
        pauses = try reader.readSitePauses()
        let count = try reader.readCount(
            of: "parts", limit: HubLimits.snapshotParts, size: 18)
        var parts: [Part] = []
        parts.reserveCapacity(count)
        for _ in 0..<count {
            let start = reader.offset
            let part = Part(
                hash: try reader.readHash128(), length: try reader.readVarint(),
                documentCount: try reader.readVarint())
            guard part.length > 0, part.documentCount > 0, part.documentCount <= rest else {
                throw .invalid("a part without documents, or with more than all parts", at: start)
            }
            rest -= part.documentCount
            parts.append(part)
        }
        guard rest == 0 else {
            throw .invalid("\(rest) documents more than the parts have", at: countStart)
        }
        self.parts = parts
        try reader.checkEnd()
    }
}
