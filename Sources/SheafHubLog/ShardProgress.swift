import SheafBytes

/// The progress of an author in a shard, as it reports it in messages and beats.
package struct ShardProgress: Hashable, Sendable {
    /// Number of an entry up to which the author has read the shard; 0 if it has read none.
    package let read: UInt64
    /// The digest of the entries up to `read`.
    package let digest: UInt64
    /// Number of an entry up to which all documents are durable in the store of the author.
    package let stored: UInt64

    /// Creates a progress; nil if `stored` is above `read`, or nothing has a digest.
    package init?(read: UInt64, digest: UInt64, stored: UInt64) {
        guard stored <= read, read > 0 || digest == 0 else { return nil }
        self.read = read
        self.digest = digest
        self.stored = stored
    }

    private init() {
        (read, digest, stored) = (0, 0, 0)
    }

    /// The progress of an author that has read no entry.
    package static let start = ShardProgress()
}

extension ByteWriter {
    mutating func write(_ progress: ShardProgress) {
        write(progress.read)
        write(progress.digest)
        write(progress.stored)
    }
}

extension ByteReader {
    mutating func readProgress() throws(Malformed) -> ShardProgress {
        let start = offset
        guard
            let progress = ShardProgress(
                read: try readUInt64(), digest: try readUInt64(), stored: try readUInt64())
        else {
            throw .invalid(
                "a stored entry above the one read, or a digest of no entries", at: start)
        }
        return progress
    }

    /// Reads the first field of a structure, four letters.
    mutating func readSignature(_ signature: StaticString) throws(Malformed) {
        let start = offset
        let bytes = try readBytes(signature.utf8CodeUnitCount)
        let isEqual = signature.withUTF8Buffer { bytes.elementsEqual($0) }
        guard isEqual else {
            throw .invalid("another first field than \(signature)", at: start)
        }
    }
}

extension ByteWriter {
    /// Writes the first field of a structure, four letters.
    mutating func write(_ signature: StaticString) {
        signature.withUTF8Buffer { write(UnsafeRawBufferPointer($0)) }
    }

    /// Writes the hash of all bytes before it.
    mutating func writeHash(seed: UInt64) {
        write(bytes.span.withUnsafeBytes { XXH3.hash64($0, seed: seed) })
    }
}

extension UnsafeRawBufferPointer {
    /// Returns the bytes before the hash at the end, after comparing it.
    func withoutHash(seed: UInt64) throws(Malformed) -> UnsafeRawBufferPointer {
        guard count >= 8 else { throw .truncated(at: 0) }
        let contents = UnsafeRawBufferPointer(rebasing: dropLast(8))
        let hash = loadUnaligned(fromByteOffset: count - 8, as: UInt64.self)
        guard UInt64(littleEndian: hash) == XXH3.hash64(contents, seed: seed) else {
            throw .invalid("a hash that does not match the bytes before it", at: count - 8)
        }
        return contents
    }
}
