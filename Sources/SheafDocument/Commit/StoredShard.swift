package import SheafBytes

/// The last message of an author before a position in a shard.
package struct AuthorPosition: Hashable, Sendable {
    package let author: HubAuthor
    /// Sequence up to which all messages of the author have been read and applied.
    package let sequence: UInt64
    /// Checksum of the message with that sequence; 0 if it is unknown, since it was replaced.
    package let checksum: UInt64

    package init(author: HubAuthor, sequence: UInt64, checksum: UInt64) {
        self.author = author
        self.sequence = sequence
        self.checksum = checksum
    }
}

/// A position from which a shard can be read.
///
/// No message at or before `entry` belongs to a group that was not applied.
package struct ShardPosition: Equatable, Sendable {
    /// Number of the last entry read; 0 at the start of a shard.
    package let entry: UInt64
    package let digest: UInt64
    /// The authors of entries, in ascending order; at most `maximumAuthors`.
    package let authors: [AuthorPosition]
    /// An earlier entry, from which a store must continue; nil if it can continue from `entry`.
    ///
    /// Silent authors may finish what they began after it.
    private let earlier: Entry?

    /// An entry, and the digest of all entries up to it.
    package struct Entry: Equatable, Sendable {
        package let number: UInt64
        package let digest: UInt64

        package init(_ number: UInt64, digest: UInt64) {
            self.number = number
            self.digest = digest
        }
    }

    package init(
        entry: UInt64, digest: UInt64, authors: [AuthorPosition],
        continuingFrom earlier: Entry? = nil
    ) {
        self.entry = entry
        self.digest = digest
        self.authors = authors
        self.earlier = earlier.flatMap { $0.number < entry ? $0 : nil }
    }

    /// The position from which a store continues.
    package var continuation: ShardPosition {
        guard let earlier else { return self }
        return ShardPosition(entry: earlier.number, digest: earlier.digest, authors: authors)
    }

    /// Maximum number of authors that a reader of a shard remembers.
    package static let maximumAuthors = 1_024

    /// The start of a shard.
    package static let start = ShardPosition(entry: 0, digest: 0, authors: [])
}

/// The progress of a store in a shard of a hub log (`format-spec/hub.md`, table 8).
package struct StoredShard: Equatable, Sendable {
    /// The id of the hub log.
    package let log: XXH3.Hash128
    package let position: ShardPosition
    /// The last commit of the store known to be stored in the shard.
    package let commit: UInt64
    /// The time at which this was written, in milliseconds since 1970.
    package let wallMilliseconds: UInt64

    package init(
        log: XXH3.Hash128, position: ShardPosition, commit: UInt64, wallMilliseconds: UInt64
    ) {
        self.log = log
        self.position = position.continuation
        self.commit = commit
        self.wallMilliseconds = wallMilliseconds
    }

    package var bytes: [UInt8] {
        var writer = ByteWriter(capacity: 64 + 32 * position.authors.count)
        writer.write(log)
        writer.write(position.entry)
        writer.write(position.digest)
        writer.write(commit)
        writer.write(wallMilliseconds)
        writer.write(position.authors)
        return writer.bytes
    }

    package init(decoding bytes: UnsafeRawBufferPointer) throws(Malformed) {
        var reader = ByteReader(bytes)
        log = try reader.readHash128()
        let (entry, digest) = try reader.readEntry()
        commit = try reader.readUInt64()
        wallMilliseconds = try reader.readUInt64()
        position = ShardPosition(
            entry: entry, digest: digest, authors: try reader.readAuthorPositions())
        try reader.checkEnd()
    }
}

extension ByteWriter {
    package mutating func write(_ authors: [AuthorPosition]) {
        writeVarint(UInt64(authors.count))
        for position in authors {
            write(position.author)
            write(position.sequence)
            write(position.checksum)
        }
    }
}

extension ByteReader {
    /// Reads the number of an entry, and the digest at it.
    package mutating func readEntry() throws(Malformed) -> (entry: UInt64, digest: UInt64) {
        let start = offset
        let (entry, digest) = (try readUInt64(), try readUInt64())
        guard entry > 0 || digest == 0 else {
            throw .invalid("a digest of no entries", at: start)
        }
        return (entry, digest)
    }

    package mutating func readAuthorPositions() throws(Malformed) -> [AuthorPosition] {
        let count = try readCount(of: "authors", limit: ShardPosition.maximumAuthors, size: 32)
        var authors: [AuthorPosition] = []
        for _ in 0..<count {
            let start = offset
            let author = try readAuthor()
            guard authors.last.map({ $0.author < author }) ?? true else {
                throw .invalid("authors that do not ascend", at: start)
            }
            let (sequence, checksum) = (try readUInt64(), try readUInt64())
            guard sequence > 0 || checksum == 0 else {
                throw .invalid("a checksum of no message", at: start)
            }
            authors.append(
                AuthorPosition(author: author, sequence: sequence, checksum: checksum))
        }
        return authors
    }
}
