package import SheafBytes

/// A compressor of a connection's segments, with their predecessors as dictionary.
package struct ShippedSegmentWriter: Sendable {
    private var history: [UInt8] = []

    package init() {}

    /// Whether there are earlier segments to which the next one can refer.
    package var hasHistory: Bool { !history.isEmpty }

    /// Drops the history: the next segment refers to nothing before it.
    package mutating func dropHistory() { history = [] }

    /// Returns a length and a compressed block (`format-spec/sync.md`, table 5).
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

/// A decompressor of a connection's segments, in order.
package struct ShippedSegmentReader: Sendable {
    private var history: [UInt8] = []

    package init() {}

    /// Drops the history, as the writer has done.
    package mutating func dropHistory() { history = [] }

    /// Decompresses the next segment; each one needs its predecessors.
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
    /// Appends a segment; keeps at most twice the dictionary length, dropping the oldest bytes.
    fileprivate mutating func remember(_ raw: [UInt8]) {
        if raw.count >= LZ4.historyLength {
            self = Array(raw.suffix(LZ4.historyLength))
            return
        }
        append(contentsOf: raw)
        if count > 2 * LZ4.historyLength { removeFirst(count - LZ4.historyLength) }
    }
}
