package import SheafBytes

/// The sums, the documents or a sketch of requested ranges (`format-spec/sync.md`, table 9).
package struct RangeAnswer: Equatable, Sendable {
    /// A subrange.
    package struct Child: Equatable, Sendable {
        /// Exclusive upper bound; nil for the bound of the parent range.
        package let upper: [UInt8]?
        /// The sum of the versions.
        package let sum: UInt64
    }

    package enum Part: Equatable, Sendable {
        /// A range with many documents, as subranges.
        case children([Child])
        /// All documents of the range.
        case documents([DocumentVersion])
        /// A sketch of all requested ranges together.
        case sketch(VersionSketch)
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
                writer.writeVarint(UInt64(children.count) << 2)
                var last: [UInt8] = []
                for child in children {
                    if let upper = child.upper {
                        writer.write(upper, after: last)
                        last = upper
                    }
                    writer.write(child.sum)
                }
            case .documents(let documents):
                writer.writeVarint(UInt64(documents.count) << 2 | 1)
                var last: [UInt8] = []
                for document in documents {
                    writer.write(document.id, after: last)
                    writer.write(document.version)
                    last = document.id
                }
            case .sketch(let sketch):
                writer.writeVarint(UInt64(sketch.cells.count) << 2 | 2)
                sketch.write(to: &writer)
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
            let start = reader.offset
            let tag = try reader.readVarint()
            let count = try reader.checkCount(tag >> 2, &room)
            var last: [UInt8] = []
            switch tag & 3 {
            case 0:
                guard count > 0 else { throw .invalid("no subranges", at: reader.offset) }
                var children: [Child] = []
                for index in 0..<count {
                    let upper = index == count - 1 ? nil : try reader.readID(after: last)
                    if let upper { last = upper }
                    children.append(Child(upper: upper, sum: try reader.readUInt64()))
                }
                parts.append(.children(children))
            case 1:
                var documents: [DocumentVersion] = []
                for _ in 0..<count {
                    last = try reader.readID(after: last)
                    documents.append(DocumentVersion(id: last, version: try reader.readUInt64()))
                }
                parts.append(.documents(documents))
            case 2: parts.append(.sketch(try VersionSketch(&reader, count: count)))
            default: throw .invalid("a part of an unknown kind", at: start)
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
    /// The size of the requested sketch of these ranges; nil to divide them.
    package let third: Int?

    package init(_ ranges: [Int], sketch third: Int? = nil) {
        self.ranges = ranges
        self.third = third
    }

    package var bytes: [UInt8] {
        var writer = ByteWriter(capacity: ranges.count + 4)
        writer.writeVarint(UInt64(ranges.count))
        var next = 0
        for range in ranges {
            writer.writeVarint(UInt64(range - next))
            next = range + 1
        }
        if let third { writer.writeVarint(UInt64(third)) }
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
        self.ranges = ranges
        guard reader.remaining > 0 else {
            third = nil
            return
        }
        let start = reader.offset
        let third = try reader.readVarint()
        guard 1...UInt64(VersionSketch.maximumThird) ~= third, !ranges.isEmpty else {
            throw .invalid("a sketch with thirds of \(third) cells", at: start)
        }
        guard reader.remaining == 0 else {
            throw .invalid("bytes after the size of a sketch", at: reader.offset)
        }
        self.third = Int(third)
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
        case .sketch(let sketch): 3 + sketch.cells.count * VersionSketch.Cell.length
        }
    }
}
