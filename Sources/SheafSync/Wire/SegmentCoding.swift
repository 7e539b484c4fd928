package import SheafBytes

/// Compresses the segments of a link, each with those before it at hand: much of what documents say
/// they say again and again.
package struct SegmentWriter: Sendable {
    private var history: [UInt8] = []

    package init() {}

    /// A length and a block (`format-spec/sync.md`, table 5).
    package mutating func bytes(of raw: [UInt8]) -> [UInt8] {
        let block = raw.span.withUnsafeBytes { raw in
            history.span.withUnsafeBytes { LZ4.compress(raw, after: $0) }
        }
        var writer = ByteWriter(capacity: block.count + 4)
        writer.writeVarint(UInt64(raw.count))
        writer.write(block)
        history.remember(raw)
        return writer.bytes
    }
}

/// Expands the segments of a link in their order.
package struct SegmentReader: Sendable {
    private var history: [UInt8] = []

    package init() {}

    /// The bytes that were compressed.
    package mutating func raw(of bytes: UnsafeRawBufferPointer) throws(Malformed) -> [UInt8] {
        var reader = ByteReader(bytes)
        let length = try reader.readVarint()
        guard length <= UInt64(SyncLimits.segmentLength) else {
            throw .tooLong(at: 0, length: length, limit: UInt64(SyncLimits.segmentLength))
        }
        let block = try reader.readBytes(reader.remaining)
        let raw = try history.span.withUnsafeBytes { history throws(Malformed) in
            try LZ4.decompress(block, rawLength: Int(length), after: history)
        }
        history.remember(raw)
        return raw
    }
}

extension [UInt8] {
    /// Adds what was said, and forgets what nobody can repeat any more.
    fileprivate mutating func remember(_ raw: [UInt8]) {
        if raw.count >= LZ4.historyLength {
            self = Array(raw.suffix(LZ4.historyLength))
            return
        }
        append(contentsOf: raw)
        if count > 2 * LZ4.historyLength { removeFirst(count - LZ4.historyLength) }
    }
}
