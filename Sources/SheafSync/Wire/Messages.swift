package import SheafBytes
package import SheafDocument

/// A message about a subscription: its generation, then the content.
struct Generational {
    package let generation: UInt64
    let rest: UnsafeRawBufferPointer

    package init(decoding bytes: UnsafeRawBufferPointer) throws(Malformed) {
        var reader = ByteReader(bytes)
        generation = try reader.readVarint()
        rest = try reader.readBytes(reader.remaining)
    }

    static func bytes(_ generation: UInt64, _ rest: [UInt8]) -> [UInt8] {
        var writer = ByteWriter(capacity: rest.count + 2)
        writer.writeVarint(generation)
        writer.write(rest)
        return writer.bytes
    }
}

/// The documents that the receiver requests (`format-spec/sync.md`, table 14).
package struct Want: Equatable, Sendable {
    package enum Documents: Equatable, Sendable {
        /// All matching documents.
        case all
        /// The given documents; the next message may continue the list.
        case some([DocumentAddress], isContinued: Bool)
        /// A part of the documents; the reconciliation continues after it.
        case part([DocumentAddress])
        /// Documents of the last sketch by their versions; the next message continues the list.
        case versions([UInt64])
        /// The matching documents in ranges of addresses; the next message continues the list.
        case ranges([KeyRange])

        /// Whether the reconciliation continues after these documents.
        package var isPart: Bool {
            switch self {
            case .part: true
            case .all, .some, .versions, .ranges: false
            }
        }
    }

    package let generation: UInt64
    package let documents: Documents

    package init(generation: UInt64, _ documents: Documents) {
        self.generation = generation
        self.documents = documents
    }

    package var bytes: [UInt8] {
        var writer = ByteWriter(capacity: 64)
        writer.writeVarint(generation)
        switch documents {
        case .all: writer.write(UInt8(2))
        case .some(let addresses, let isContinued):
            writer.write(UInt8(isContinued ? 1 : 0))
            writer.write(addresses)
        case .part(let addresses):
            writer.write(UInt8(3))
            writer.write(addresses)
        case .versions(let versions):
            writer.write(UInt8(4))
            writer.writeVarint(UInt64(versions.count))
            for version in versions { writer.write(version) }
        case .ranges(let ranges):
            writer.write(UInt8(5))
            writer.writeVarint(UInt64(ranges.count))
            for range in ranges {
                for bound in [range.lower, range.upper ?? []] {
                    writer.writeVarint(UInt64(bound.count))
                    writer.write(bound)
                }
            }
        }
        return writer.bytes
    }

    package init(decoding bytes: UnsafeRawBufferPointer) throws(Malformed) {
        var reader = ByteReader(bytes)
        generation = try reader.readVarint()
        let start = reader.offset
        switch try reader.readUInt8() {
        case 2: documents = .all
        case 3: documents = .part(try reader.readAddresses())
        case 4: documents = .versions(try reader.readVersions())
        case 5: documents = .ranges(try reader.readRanges())
        case let flag where flag <= 1:
            documents = .some(try reader.readAddresses(), isContinued: flag == 1)
        case let flag: throw .unexpected(flag, at: start)
        }
        try reader.checkEnd()
    }
}

/// The commit up to which received changes are durable (`format-spec/sync.md`, table 12).
package struct Acknowledge: Equatable, Sendable {
    package let generation: UInt64
    package let commit: UInt64

    package init(generation: UInt64, commit: UInt64) {
        self.generation = generation
        self.commit = commit
    }

    package var bytes: [UInt8] {
        var writer = ByteWriter(capacity: 12)
        writer.writeVarint(generation)
        writer.writeVarint(commit)
        return writer.bytes
    }

    package init(decoding bytes: UnsafeRawBufferPointer) throws(Malformed) {
        var reader = ByteReader(bytes)
        generation = try reader.readVarint()
        commit = try reader.readVarint()
        try reader.checkEnd()
    }
}

/// A message with one number: an amount of credit, or a generation.
enum SingleNumber {
    static func bytes(_ number: UInt64) -> [UInt8] {
        var writer = ByteWriter(capacity: 8)
        writer.writeVarint(number)
        return writer.bytes
    }

    static func decode(_ bytes: UnsafeRawBufferPointer) throws(Malformed) -> UInt64 {
        var reader = ByteReader(bytes)
        let number = try reader.readVarint()
        try reader.checkEnd()
        return number
    }
}

extension ByteReader {
    /// Reads wanted ranges, which are in order.
    fileprivate mutating func readRanges() throws(Malformed) -> [KeyRange] {
        let start = offset
        let count = try readVarint()
        guard count <= UInt64(SyncLimits.wantedRangesInMessage) else {
            throw .tooLong(
                at: start, length: count, limit: UInt64(SyncLimits.wantedRangesInMessage))
        }
        var ranges: [KeyRange] = []
        for _ in 0..<count {
            let at = offset
            let lower = Array(try readLengthPrefixed(limit: SyncLimits.idLength))
            let upper = Array(try readLengthPrefixed(limit: SyncLimits.idLength))
            let range = KeyRange(from: lower, to: upper.isEmpty ? nil : upper)
            let follows = ranges.last.map { last in
                last.upper.map { !lower.lexicographicallyPrecedes($0) } ?? false
            }
            guard !range.isEmpty, follows ?? true else {
                throw .invalid("a wanted range that is empty or out of order", at: at)
            }
            ranges.append(range)
        }
        return ranges
    }

    /// Reads the versions of wanted documents.
    fileprivate mutating func readVersions() throws(Malformed) -> [UInt64] {
        let start = offset
        let count = try readVarint()
        guard count <= UInt64(SyncLimits.sketchCells) else {
            throw .tooLong(at: start, length: count, limit: UInt64(SyncLimits.sketchCells))
        }
        var versions: [UInt64] = []
        for _ in 0..<count { versions.append(try readUInt64()) }
        return versions
    }
}
