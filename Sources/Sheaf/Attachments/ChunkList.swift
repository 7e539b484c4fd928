import SheafBytes

/// The hashes of the chunks of a file, which its id proves, and which prove each chunk by itself
/// (`format-spec/attachments.md`).
package struct ChunkList: Equatable, Sendable {
    package static let chunkLength = 1 << 18
    /// A list has to be in memory while a file is read: it is an 8,192nd of the file.
    package static let maximumLength = 1 << 36

    /// The bytes of the file.
    package let length: Int
    /// 32 bytes for each chunk.
    package private(set) var hashes: [UInt8]

    /// The first bytes of what is hashed, which keep chunks and lists apart.
    private enum Domain {
        static let chunk: UInt8 = 0
        static let list: UInt8 = 1
    }

    /// The list of a file of so many bytes, which is not known yet.
    init(length: Int) {
        self.length = length
        hashes = []
        hashes.reserveCapacity(Self.count(ofLength: length) * SHA256.length)
    }

    /// The list that these hashes are; nil where it is another number of them.
    package init?(length: Int, hashes: [UInt8]) {
        guard 0...Self.maximumLength ~= length,
            hashes.count == Self.count(ofLength: length) * SHA256.length
        else { return nil }
        self.length = length
        self.hashes = hashes
    }

    /// How many chunks a file of so many bytes has.
    package static func count(ofLength length: Int) -> Int {
        (length + chunkLength - 1) / chunkLength
    }

    package var count: Int { Self.count(ofLength: length) }

    /// Where the bytes of a chunk are in the file.
    package func range(of chunk: Int) -> Range<Int> {
        let start = chunk * Self.chunkLength
        return start..<min(start + Self.chunkLength, length)
    }

    /// Whether bytes are those of a chunk.
    package func matches(_ bytes: UnsafeRawBufferPointer, at chunk: Int) -> Bool {
        guard 0..<count ~= chunk, bytes.count == range(of: chunk).count else { return false }
        let start = chunk * SHA256.length
        return Self.hash(ofChunk: bytes).elementsEqual(hashes[start..<start + SHA256.length])
    }

    /// Notes the hash of the next chunk.
    mutating func append(_ bytes: UnsafeRawBufferPointer) {
        hashes += Self.hash(ofChunk: bytes)
    }

    private static func hash(ofChunk bytes: UnsafeRawBufferPointer) -> [UInt8] {
        var hash = SHA256()
        hash.update([Domain.chunk])
        hash.update(bytes)
        return hash.finish()
    }

    /// The id of the file whose list this is.
    package var id: AttachmentID {
        var hash = SHA256()
        var head = ByteWriter(capacity: 9)
        head.write(Domain.list)
        head.write(UInt64(length))
        hash.update(head.bytes)
        hash.update(hashes)
        guard let id = AttachmentID(bytes: hash.finish()) else {
            preconditionFailure("A hash is as long as an id.")
        }
        return id
    }
}
