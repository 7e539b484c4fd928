package import SheafBytes

/// What the sender of documents says of ranges that it was asked for (`format-spec/sync.md`, table 9).
package struct RangeAnswer: Equatable, Sendable {
    /// A part of a range.
    package struct Child: Equatable, Sendable {
        /// Where it ends, that id excluded; none where the range that it is a part of ends.
        package let upper: [UInt8]?
        package let fingerprint: UInt64
    }

    package enum Part: Equatable, Sendable {
        /// The range in parts: there are many documents.
        case children([Child])
        /// All documents of the range.
        case documents([DocumentVersion])
    }

    /// In the order in which they were asked for; what is told of no more has to be asked for again.
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
            let head = try reader.readVarint()
            let count = try reader.checkCount(head >> 1, &room)
            var last: [UInt8] = []
            if head & 1 == 0 {
                guard count > 0 else { throw .invalid("a range in no parts", at: reader.offset) }
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
            throw .invalid("something behind the last range", at: reader.offset)
        }
        self.parts = parts
    }
}

/// The ranges that a receiver wants to know more of: numbers of the parts that the last answer had, and behind
/// them of those that it should have had.
package struct RangeQuestion: Equatable, Sendable {
    /// In ascending order; the first question has none, and is about all documents.
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
            else { throw .invalid("a range that there cannot be", at: reader.offset) }
            ranges.append(Int(next + step))
            next += step + 1
        }
        guard reader.remaining == 0 else {
            throw .invalid("something behind the last range", at: reader.offset)
        }
        self.ranges = ranges
    }
}

extension ByteWriter {
    /// Writes an id by what it shares with the one before it, and the rest.
    fileprivate mutating func write(_ id: [UInt8], after last: [UInt8]) {
        var shared = 0
        while shared < min(id.count, last.count), id[shared] == last[shared] { shared += 1 }
        writeVarint(UInt64(shared))
        writeVarint(UInt64(id.count - shared))
        write(Array(id[shared...]))
    }
}

extension ByteReader {
    /// Reads an id that comes behind the one before it.
    fileprivate mutating func readID(after last: [UInt8]) throws(Malformed) -> [UInt8] {
        let start = offset
        let shared = try readVarint()
        guard shared <= UInt64(last.count) else {
            throw .invalid("an id that shares more than there was", at: start)
        }
        let rest = try readLengthPrefixed(limit: SyncLimits.idLength - Int(shared))
        let id = Array(last.prefix(Int(shared))) + Array(rest)
        guard last.lexicographicallyPrecedes(id) else {
            throw .invalid("an id that is not behind the one before it", at: start)
        }
        return id
    }

    fileprivate mutating func readCount(_ room: inout Int) throws(Malformed) -> Int {
        try checkCount(try readVarint(), &room)
    }

    /// Takes from the room that all counts of a message have together.
    fileprivate func checkCount(_ count: UInt64, _ room: inout Int) throws(Malformed) -> Int {
        guard count <= UInt64(room) else {
            throw .tooLong(at: offset, length: count, limit: UInt64(room))
        }
        room -= Int(count)
        return Int(count)
    }
}

extension RangeAnswer.Part {
    /// About how many bytes it takes.
    var length: Int {
        switch self {
        case .children(let children): children.reduce(2) { $0 + 12 + ($1.upper?.count ?? 0) }
        case .documents(let documents): documents.reduce(2) { $0 + 12 + $1.id.count }
        }
    }
}
