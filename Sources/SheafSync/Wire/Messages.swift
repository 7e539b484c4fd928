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

extension ByteWriter {
    mutating func write(_ hash: XXH3.Hash128) {
        write(hash.low)
        write(hash.high)
    }
}

extension ByteReader {
    mutating func readHash128() throws(Malformed) -> XXH3.Hash128 {
        XXH3.Hash128(low: try readUInt64(), high: try readUInt64())
    }
}
