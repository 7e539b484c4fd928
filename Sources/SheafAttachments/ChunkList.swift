import SheafBytes
package import SheafDocument

/// The hashes of the chunks of a file (`format-spec/attachments.md`).
///
/// The id of the file proves the list, and the list proves each chunk separately.
package struct ChunkList: Equatable, Sendable {
    package static let chunkLength = 1 << 18
    /// Maximum length of a file; its list, 1/8192 of that, must fit in memory.
    package static let maximumLength = AttachmentToken.maximumLength

    /// Length of the file in bytes.
    package let length: Int
    /// The hashes, 32 bytes for each chunk.
    package private(set) var hashes: [UInt8]

    /// First bytes of hashed data, which keep the hashes of chunks and of lists apart.
    private enum Domain {
        static let chunk: UInt8 = 0
        static let list: UInt8 = 1
    }

    /// Creates an empty list for a file of `length` bytes.
    package init(length: Int) {
        self.length = length
        hashes = []
        hashes.reserveCapacity(Self.count(ofLength: length) * SHA256.length)
    }

    /// Creates a list from hashes; nil if their number does not match the length.
    package init?(length: Int, hashes: [UInt8]) {
        guard 0...Self.maximumLength ~= length,
            hashes.count == Self.count(ofLength: length) * SHA256.length
        else { return nil }
        self.length = length
        self.hashes = hashes
    }

    /// Returns the number of chunks in a file of `length` bytes.
    package static func count(ofLength length: Int) -> Int {
        (length + chunkLength - 1) / chunkLength
    }

    package var count: Int { Self.count(ofLength: length) }

    /// Returns the range of a chunk in the file.
    package func range(of chunk: Int) -> Range<Int> {
        let start = chunk * Self.chunkLength
        return start..<min(start + Self.chunkLength, length)
    }

    /// Whether bytes match the hash of a chunk.
    package func matches(_ bytes: UnsafeRawBufferPointer, at chunk: Int) -> Bool {
        guard 0..<count ~= chunk, bytes.count == range(of: chunk).count else { return false }
        let start = chunk * SHA256.length
        return Self.hash(ofChunk: bytes).elementsEqual(hashes[start..<start + SHA256.length])
    }

    /// Appends the hash of the next chunk.
    mutating func append(_ bytes: UnsafeRawBufferPointer) {
        hashes += Self.hash(ofChunk: bytes)
    }

    private static func hash(ofChunk bytes: UnsafeRawBufferPointer) -> [UInt8] {
        var hash = SHA256()
        hash.update([Domain.chunk])
        hash.update(bytes)
        return hash.finish()
    }

    /// The id of the file with this list.
    package var id: AttachmentID {
        var hash = SHA256()
        var header = ByteWriter(capacity: 9)
        header.write(Domain.list)
        header.write(UInt64(length))
        hash.update(header.bytes)
        hash.update(hashes)
        guard let id = AttachmentID(bytes: hash.finish()) else {
            preconditionFailure("A hash is as long as an id.")
        }
        return id
    }
}
