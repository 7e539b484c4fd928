package import SheafBytes

/// The last message of an object, which names its chunks (`format-spec/hub.md`, *Engines*).
package struct NATSObjectEnd: Equatable, Sendable {
    /// Length of all chunks but the last one.
    package static let chunkLength = 256 << 10
    /// Maximum number of chunks, whose hashes fit in a message of 1,000,000 bytes.
    package static let maximumChunks = 124_000

    package let length: UInt64
    /// The hash of all bytes, a part of the subjects of the chunks.
    package let contents: XXH3.Hash128
    /// The hash of each chunk.
    package let chunks: [UInt64]

    /// Describes the bytes of an object; nil if there are too many.
    package init?(_ object: [UInt8]) {
        let count = (object.count + Self.chunkLength - 1) / Self.chunkLength
        guard count <= Self.maximumChunks else { return nil }
        length = UInt64(object.count)
        contents = object.span.withUnsafeBytes { XXH3.hash128($0) }
        chunks = (0..<count).map { number in
            let range = Self.range(of: number, length: object.count)
            return object.span.withUnsafeBytes { bytes in
                XXH3.hash64(UnsafeRawBufferPointer(rebasing: bytes[range]))
            }
        }
    }

    package init(decoding bytes: UnsafeRawBufferPointer) throws(Malformed) {
        guard bytes.count >= 8 else { throw .truncated(at: 0) }
        let body = UnsafeRawBufferPointer(rebasing: bytes.dropLast(8))
        var reader = ByteReader(bytes)
        guard try reader.readUInt32() == Self.signature else {
            throw .invalid("another first field than SHO1", at: 0)
        }
        length = try reader.readUInt64()
        contents = XXH3.Hash128(low: try reader.readUInt64(), high: try reader.readUInt64())
        let start = reader.offset
        let count = Int(try reader.readUInt32())
        guard count <= Self.maximumChunks, reader.remaining == 8 * count + 8 else {
            throw .invalid("a number of chunks that does not match the length", at: start)
        }
        let expected = length / UInt64(Self.chunkLength)
        guard
            UInt64(count) == expected + (length % UInt64(Self.chunkLength) == 0 ? 0 : 1)
        else {
            throw .invalid("a number of chunks that does not match the object", at: start)
        }
        var chunks: [UInt64] = []
        chunks.reserveCapacity(count)
        for _ in 0..<count { chunks.append(try reader.readUInt64()) }
        self.chunks = chunks
        let hashStart = reader.offset
        guard try reader.readUInt64() == XXH3.hash64(body) else {
            throw .invalid("a hash that does not match the bytes before it", at: hashStart)
        }
    }

    package var bytes: [UInt8] {
        var writer = ByteWriter(capacity: 40 + 8 * chunks.count)
        writer.write(Self.signature)
        writer.write(length)
        writer.write(contents.low)
        writer.write(contents.high)
        writer.write(UInt32(chunks.count))
        for chunk in chunks { writer.write(chunk) }
        let hash = writer.bytes.span.withUnsafeBytes { XXH3.hash64($0) }
        writer.write(hash)
        return writer.bytes
    }

    /// Returns the offsets of a chunk.
    package static func range(of chunk: Int, length: Int) -> Range<Int> {
        chunk * chunkLength..<min((chunk + 1) * chunkLength, length)
    }

    /// Returns whether bytes are those of a chunk.
    package func matches(_ chunk: Int, _ bytes: [UInt8]) -> Bool {
        let start = UInt64(chunk) * UInt64(Self.chunkLength)
        guard UInt64(bytes.count) == min(length - start, UInt64(Self.chunkLength)) else {
            return false
        }
        return bytes.span.withUnsafeBytes { XXH3.hash64($0) } == chunks[chunk]
    }

    /// `SHO1` as a number in little-endian order.
    private static let signature: UInt32 = 0x314F_4853
}
