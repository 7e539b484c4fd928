package import SheafBytes

/// The fingerprints or documents of requested ranges (`format-spec/sync.md`, table 9).
package struct RangeAnswer: Equatable, Sendable {
    /// A subrange.
    package struct Child: Equatable, Sendable {
        /// Exclusive upper bound; nil for the bound of the parent range.
        package let upper: [UInt8]?
        package let fingerprint: UInt64
    }

    package enum Part: Equatable, Sendable {
        /// A range with many documents, as subranges.
        case children([Child])
        /// All documents of the range.
        case documents([DocumentVersion])
    }

    /// Responses in the order of the request; omitted ranges must be requested again.
    package let parts: [Part]

    package init(_ parts: [Part]) {
        self.parts = parts
    }

    package var bytes: [UInt8] {
        var writer = ByteWriter(capacity: 1_024)
        writer.writeVarint(UInt64(parts.count))
        for part in parts {
            switch part {
            case .children(let children):
                writer.writeVarint(UInt64(children.count) << 1)
                var last: [UInt8] = []
                for child in children {
                    if let upper = child.upper {
                        writer.write(upper, after: last)
                        last = upper
                    }
                    writer.write(child.fingerprint)
                }
            case .documents(let documents):
                writer.writeVarint(UInt64(documents.count) << 1 | 1)
                var last: [UInt8] = []
                for document in documents {
                    writer.write(document.id, after: last)
                    writer.write(document.version)
                    last = document.id
                }
            }
        }
        return writer.bytes
    }

    package init(decoding bytes: UnsafeRawBufferPointer) throws(Malformed) {
        var reader = ByteReader(bytes)
        var room = SyncLimits.answeredRanges
        let count = try reader.readCount(&room)
        var parts: [Part] = []
        for _ in 0..<count {
            let tag = try reader.readVarint()
            let count = try reader.checkCount(tag >> 1, &room)
            var last: [UInt8] = []
            if tag & 1 == 0 {
                guard count > 0 else { throw .invalid("no subranges", at: reader.offset) }
                var children: [Child] = []
                for index in 0..<count {
                    let upper = index == count - 1 ? nil : try reader.readID(after: last)
                    if let upper { last = upper }
                    children.append(Child(upper: upper, fingerprint: try reader.readUInt64()))
                }
                parts.append(.children(children))
            } else {
                var documents: [DocumentVersion] = []
                for _ in 0..<count {
                    last = try reader.readID(after: last)
                    documents.append(DocumentVersion(id: last, version: try reader.readUInt64()))
                }
                parts.append(.documents(documents))
            }
        }
        guard reader.remaining == 0 else {
            throw .invalid("bytes after the last range", at: reader.offset)
        }
        self.parts = parts
    }
}

/// The ranges to expand next, as indices.
///
/// The indices cover the subranges of the last response, then the ranges it omitted.
package struct RangeQuestion: Equatable, Sendable {
    /// Ascending indices; empty in the first request, which covers all documents.
    package let ranges: [Int]

    package init(_ ranges: [Int]) {
        self.ranges = ranges
    }

    package var bytes: [UInt8] {
        var writer = ByteWriter(capacity: ranges.count + 4)
        writer.writeVarint(UInt64(ranges.count))
        var next = 0
        for range in ranges {
            writer.writeVarint(UInt64(range - next))
            next = range + 1
        }
        return writer.bytes
    }

    package init(decoding bytes: UnsafeRawBufferPointer) throws(Malformed) {
        var reader = ByteReader(bytes)
        var room = SyncLimits.answeredRanges
        let count = try reader.readCount(&room)
        var ranges: [Int] = []
        var next: UInt64 = 0
        for _ in 0..<count {
            let step = try reader.readVarint()
            guard step < UInt64(SyncLimits.answeredRanges),
                next + step < UInt64(SyncLimits.answeredRanges)
            else { throw .invalid("a range index out of bounds", at: reader.offset) }
            ranges.append(Int(next + step))
            next += step + 1
        }
        guard reader.remaining == 0 else {
            throw .invalid("bytes after the last range", at: reader.offset)
        }
        self.ranges = ranges
    }
}

extension ByteWriter {
    /// Writes an id as the length of its shared prefix with `last`, and the remainder.
    fileprivate mutating func write(_ id: [UInt8], after last: [UInt8]) {
        var shared = 0
        while shared < min(id.count, last.count), id[shared] == last[shared] { shared += 1 }
        writeVarint(UInt64(shared))
        writeVarint(UInt64(id.count - shared))
        write(Array(id[shared...]))
    }
}

extension ByteReader {
    /// Reads an id that is greater than `last`.
    fileprivate mutating func readID(after last: [UInt8]) throws(Malformed) -> [UInt8] {
        let start = offset
        let shared = try readVarint()
        guard shared <= UInt64(last.count) else {
            throw .invalid("a shared prefix longer than the last id", at: start)
        }
        let rest = try readLengthPrefixed(limit: SyncLimits.idLength - Int(shared))
        let id = Array(last.prefix(Int(shared))) + Array(rest)
        guard last.lexicographicallyPrecedes(id) else {
            throw .invalid("an id out of order", at: start)
        }
        return id
    }

    fileprivate mutating func readCount(_ room: inout Int) throws(Malformed) -> Int {
        try checkCount(try readVarint(), &room)
    }

    /// Subtracts a count from the budget that all counts of a message share.
    fileprivate func checkCount(_ count: UInt64, _ room: inout Int) throws(Malformed) -> Int {
        guard count <= UInt64(room) else {
            throw .tooLong(at: offset, length: count, limit: UInt64(room))
        }
        room -= Int(count)
        return Int(count)
    }
}

extension RangeAnswer.Part {
    /// Approximate encoded length, in bytes.
    var length: Int {
        switch self {
        case .children(let children): children.reduce(2) { $0 + 12 + ($1.upper?.count ?? 0) }
        case .documents(let documents): documents.reduce(2) { $0 + 12 + $1.id.count }
        }
    }
}
