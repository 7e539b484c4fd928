package import SheafBytes

/// A request to find an attachment, or its cancellation (`format-spec/sync.md`, table 18).
package struct Seek: Equatable, Sendable {
    /// The attachment id, 32 bytes.
    package let id: [UInt8]
    /// Remaining number of connections the request may travel, this one included; 0 cancels it.
    package let hops: Int

    package init(id: [UInt8], hops: Int) {
        self.id = id
        self.hops = hops
    }

    package var bytes: [UInt8] { id + [UInt8(hops)] }

    package init(decoding bytes: UnsafeRawBufferPointer) throws(Malformed) {
        var reader = ByteReader(bytes)
        id = try reader.readAttachmentID()
        let start = reader.offset
        let hops = try reader.readUInt8()
        guard hops <= SyncLimits.hops else { throw .unexpected(hops, at: start) }
        self.hops = Int(hops)
        try reader.checkEnd()
    }
}

/// An attachment that the sender stores completely (`format-spec/sync.md`, table 19).
package struct Offer: Equatable, Sendable {
    package let id: [UInt8]
    /// Length of the attachment, in bytes.
    package let length: Int

    package init(id: [UInt8], length: Int) {
        self.id = id
        self.length = length
    }

    package var bytes: [UInt8] {
        var writer = ByteWriter(capacity: id.count + 6)
        writer.write(id)
        writer.writeVarint(UInt64(length))
        return writer.bytes
    }

    package init(decoding bytes: UnsafeRawBufferPointer) throws(Malformed) {
        var reader = ByteReader(bytes)
        id = try reader.readAttachmentID()
        length = try reader.readNumber(through: SyncLimits.attachmentLength)
        try reader.checkEnd()
    }
}

/// A part of an attachment: a chunk, or a group of chunk hashes (`format-spec/sync.md`, table 20).
package struct AttachmentPart: Hashable, Sendable {
    package enum Kind: UInt8, Sendable {
        /// Chunk hashes that fill a part; the last group may be shorter.
        case hashes = 0
        case chunk = 1
    }

    package let id: [UInt8]
    package let kind: Kind
    package let number: Int

    package init(id: [UInt8], _ kind: Kind, _ number: Int) {
        self.id = id
        self.kind = kind
        self.number = number
    }

    package var bytes: [UInt8] {
        var writer = ByteWriter(capacity: id.count + 5)
        write(into: &writer)
        return writer.bytes
    }

    fileprivate func write(into writer: inout ByteWriter) {
        writer.write(id)
        writer.write(kind.rawValue)
        writer.writeVarint(UInt64(number))
    }

    fileprivate init(_ reader: inout ByteReader) throws(Malformed) {
        id = try reader.readAttachmentID()
        let start = reader.offset
        let byte = try reader.readUInt8()
        guard let kind = Kind(rawValue: byte) else { throw .unexpected(byte, at: start) }
        self.kind = kind
        // The limit is the maximum number of parts of an attachment.
        number = try reader.readNumber(
            through: SyncLimits.attachmentLength / SyncLimits.partLength - 1)
    }

    package init(decoding bytes: UnsafeRawBufferPointer) throws(Malformed) {
        var reader = ByteReader(bytes)
        try self.init(&reader)
        try reader.checkEnd()
    }
}

/// The unverified bytes of a part (`format-spec/sync.md`, table 21).
package struct AttachmentBytes: Equatable, Sendable {
    package let part: AttachmentPart
    package let content: [UInt8]

    package init(_ part: AttachmentPart, _ content: [UInt8]) {
        self.part = part
        self.content = content
    }

    package var bytes: [UInt8] {
        var writer = ByteWriter(capacity: part.id.count + 5 + content.count)
        part.write(into: &writer)
        writer.write(content)
        return writer.bytes
    }

    package init(decoding bytes: UnsafeRawBufferPointer) throws(Malformed) {
        var reader = ByteReader(bytes)
        part = try AttachmentPart(&reader)
        guard reader.remaining > 0, reader.remaining <= SyncLimits.partLength else {
            throw .invalid("an attachment part of \(reader.remaining) bytes", at: reader.offset)
        }
        content = Array(try reader.readBytes(reader.remaining))
    }
}

extension ByteReader {
    fileprivate mutating func readAttachmentID() throws(Malformed) -> [UInt8] {
        Array(try readBytes(SyncLimits.attachmentIDLength))
    }

    fileprivate mutating func readNumber(through limit: Int) throws(Malformed) -> Int {
        let start = offset
        let number = try readVarint()
        guard number <= UInt64(limit) else {
            throw .tooLong(at: start, length: number, limit: UInt64(limit))
        }
        return Int(number)
    }
}
