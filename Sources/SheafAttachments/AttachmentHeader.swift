package import SheafBytes
package import SheafDocument
import SheafStorage

/// The header of an attachment file (`format-spec/attachments.md`, table 2).
package struct AttachmentHeader: Equatable, Sendable {
    package let id: AttachmentID
    package let list: ChunkList
    /// The chunks that are stored.
    package var storedChunks: ChunkSet
    /// The time at which the file was found unreferenced, in milliseconds since 1970, or 0.
    package var unreferencedSince: UInt64 = 0

    package enum Layout {
        static let magic = 0, version = 8, reserved = 12, length = 16, id = 24
        static let mark = 56, otherReserved = 72, list = 96
        /// Length of the mark with its hash.
        static let markLength = 16
        /// The alignment of the first byte of the attachment.
        static let alignment = 4_096
    }

    private static let magic = Array("SHEAFATT".utf8)
    private static let version: UInt32 = 1

    package init(id: AttachmentID, list: ChunkList, storedChunks: ChunkSet) {
        self.id = id
        self.list = list
        self.storedChunks = storedChunks
    }

    /// Returns the length of the header for a file of `length` bytes.
    package static func length(ofFile length: Int) -> Int {
        let count = ChunkList.count(ofLength: length)
        let end = Layout.list + count * SHA256.length + (count + 7) / 8
        return (end + Layout.alignment - 1) / Layout.alignment * Layout.alignment
    }

    /// Returns the offset of the set of stored chunks.
    static func storedChunksOffset(_ list: ChunkList) -> Int { Layout.list + list.hashes.count }

    package var bytes: [UInt8] {
        var writer = ByteWriter(capacity: Self.length(ofFile: list.length))
        writer.write(Self.magic)
        writer.write(Self.version)
        writer.writeZeros(4)
        writer.write(UInt64(list.length))
        writer.write(id.bytes)
        writer.write(Self.mark(unreferencedSince))
        writer.writeZeros(Layout.list - Layout.otherReserved)
        writer.write(list.hashes)
        writer.write(storedChunks.bytes)
        writer.align(to: Layout.alignment)
        return writer.bytes
    }

    /// Returns the encoded time since which no document references the file.
    static func mark(_ time: UInt64) -> [UInt8] {
        var writer = ByteWriter(capacity: Layout.markLength)
        writer.write(time)
        writer.write(writer.bytes.withUnsafeBytes { XXH3.hash64($0) })
        return writer.bytes
    }

    /// Returns the time in a mark; 0 if the mark is damaged.
    static func time(ofMark bytes: [UInt8]) -> UInt64 {
        let time = bytes.prefix(8).reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        return mark(time) == bytes ? time : 0
    }

    /// Decodes a header and checks that it matches the id.
    ///
    /// A damaged mark is no error and counts as 0, because the mark changes in place.
    package init(
        decoding bytes: UnsafeRawBufferPointer, of id: AttachmentID, isComplete: Bool
    ) throws(Malformed) {
        let length = try Self.fileLength(bytes, of: id)
        guard bytes.count >= Self.length(ofFile: length) else { throw .truncated(at: 0) }
        let count = ChunkList.count(ofLength: length)
        let hashes = Array(bytes[Layout.list..<Layout.list + count * SHA256.length])
        guard let list = ChunkList(length: length, hashes: hashes), list.id == id else {
            throw .invalid("a chunk list that does not match the id", at: Layout.list)
        }
        let start = Self.storedChunksOffset(list)
        guard
            let storedChunks = ChunkSet(
                count: count, bytes: bytes[start..<start + (count + 7) / 8]),
            !isComplete || storedChunks.isFull
        else { throw .invalid("an invalid set of chunks", at: start) }
        self.init(id: id, list: list, storedChunks: storedChunks)
        unreferencedSince = Self.time(ofMark: Array(bytes[Layout.mark..<Layout.otherReserved]))
    }

    /// Returns the length of a file, decoded from the first bytes of its header.
    static func fileLength(
        _ bytes: UnsafeRawBufferPointer, of id: AttachmentID
    ) throws(Malformed) -> Int {
        guard bytes.count >= Layout.list else { throw .truncated(at: 0) }
        guard bytes.prefix(magic.count).elementsEqual(magic) else {
            throw .invalid("a wrong magic number", at: Layout.magic)
        }
        var reader = ByteReader(bytes, at: Layout.version)
        let version = try reader.readUInt32()
        guard version == Self.version else {
            throw .invalid("the unsupported version \(version)", at: 8)
        }
        guard try reader.readUInt32() == 0,
            bytes[Layout.otherReserved..<Layout.list].allSatisfy({ $0 == 0 })
        else { throw .invalid("a reserved byte that is not zero", at: Layout.reserved) }
        let length = try reader.readUInt64()
        guard length <= UInt64(ChunkList.maximumLength) else {
            throw .tooLong(
                at: Layout.length, length: length, limit: UInt64(ChunkList.maximumLength))
        }
        guard try reader.readBytes(AttachmentID.length).elementsEqual(id.bytes) else {
            throw .invalid("the id of another file", at: Layout.id)
        }
        return Int(length)
    }
}
