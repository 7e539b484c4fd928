import SheafBytes
import SheafDocument

extension HubMessage {
    /// Returns the checksum of the bytes before it; never 0, which stands for no message.
    static func checksum(of bytes: UnsafeRawBufferPointer, in log: HubLogID) -> UInt64 {
        max(XXH3.hash64(bytes, seed: log.low), 1)
    }

    /// The bytes of the message, its checksum included.
    package var bytes: [UInt8] { encoded.bytes }

    /// The bytes of the message, and its checksum.
    package var encoded: (bytes: [UInt8], checksum: UInt64) {
        var writer = ByteWriter(capacity: Layout.overhead + payload.count)
        writer.write("SHB1")
        writer.write(Self.version)
        writer.write(kind.rawValue)
        writer.write(flags.rawValue)
        writer.write(UInt8(0))
        writer.write(shard)
        writer.write(unconfirmed)
        writer.writeZeros(4)
        writer.write(log)
        writer.write(author)
        writer.write(sequence)
        writer.write(previous)
        writer.write(progress)
        writer.write(extent.base)
        writer.write(extent.commit)
        writer.write(UInt32(payload.count))
        writer.write(UInt32(0))
        writer.write(payload)
        let checksum = writer.bytes.span.withUnsafeBytes { Self.checksum(of: $0, in: log) }
        writer.write(checksum)
        return (writer.bytes, checksum)
    }

    /// Decodes a message in an entry of a shard of a log.
    package init(
        decoding bytes: UnsafeRawBufferPointer, log: HubLogID, shard: UInt16
    ) throws(HubMessageError) {
        self = try Self.decode(bytes, log: log, shard: shard).message
    }

    /// Decodes a message, and returns its checksum, too.
    static func decode(
        _ bytes: UnsafeRawBufferPointer, log: HubLogID, shard: UInt16
    ) throws(HubMessageError) -> (message: HubMessage, checksum: UInt64) {
        guard bytes.count >= Layout.overhead else { throw .malformed(.truncated(at: 0)) }
        guard bytes.count <= HubLimits.messageLength else {
            throw .malformed(
                .tooLong(
                    at: 0, length: UInt64(bytes.count), limit: UInt64(HubLimits.messageLength)))
        }
        let contents = UnsafeRawBufferPointer(rebasing: bytes.dropLast(Layout.checksum))
        let found = UInt64(
            littleEndian: bytes.loadUnaligned(
                fromByteOffset: contents.count, as: UInt64.self))
        let computed = checksum(of: contents, in: log)
        guard found == computed else { throw .checksum(found: found, computed: computed) }
        var reader = ByteReader(contents)
        let version: UInt8
        do throws(Malformed) {
            try reader.readSignature("SHB1")
            version = try reader.readUInt8()
        } catch { throw .malformed(error) }
        // The checksum is that of all versions, so these bytes were written by a newer one.
        guard version <= Self.version else { throw .newerVersion(version) }
        do throws(Malformed) {
            guard version > 0 else { throw .unexpected(version, at: Layout.version) }
            return (try HubMessage(from: &reader, log: log, shard: shard), found)
        } catch { throw .malformed(error) }
    }

    /// Reads the fields after the version.
    private init(
        from reader: inout ByteReader, log: HubLogID, shard: UInt16
    ) throws(Malformed) {
        (kind, flags) = try Self.readKind(from: &reader)
        let shardStart = reader.offset
        self.shard = try reader.readUInt16()
        guard self.shard == shard else {
            throw .invalid("shard \(self.shard) in an entry of shard \(shard)", at: shardStart)
        }
        let unconfirmedStart = reader.offset
        unconfirmed = try reader.readUInt16()
        try reader.readReserved(4)
        let logStart = reader.offset
        self.log = try reader.readHash128()
        guard self.log == log else { throw .invalid("the id of another log", at: logStart) }
        author = try reader.readAuthor()
        let sequenceStart = reader.offset
        sequence = try reader.readUInt64()
        previous = try reader.readUInt64()
        guard sequence > 0, (sequence == 1) == (previous == 0) else {
            throw .invalid(
                "sequence \(sequence) with the previous checksum \(previous)", at: sequenceStart)
        }
        guard UInt64(unconfirmed) < sequence else {
            throw .invalid(
                "\(unconfirmed) unconfirmed messages before sequence \(sequence)",
                at: unconfirmedStart)
        }
        progress = try reader.readProgress()
        let extentStart = reader.offset
        extent = Extent(base: try reader.readUInt64(), commit: try reader.readUInt64())
        guard extent.isValid(for: kind, flags, sequence: sequence) else {
            throw .invalid(
                "a base \(extent.base) with the commit \(extent.commit)", at: extentStart)
        }
        let lengthStart = reader.offset
        let length = Int(try reader.readUInt32())
        try reader.readReserved(4)
        guard length == reader.remaining, (length == 0) == (kind == .mark) else {
            throw .invalid(
                "a payload of \(length) bytes, where \(reader.remaining) follow,", at: lengthStart)
        }
        payload = Array(try reader.readBytes(length))
    }

    private static func readKind(
        from reader: inout ByteReader
    ) throws(Malformed) -> (Kind, Flags) {
        let start = reader.offset
        let (number, bits) = (try reader.readUInt8(), try reader.readUInt8())
        guard let kind = Kind(rawValue: number) else { throw .unexpected(number, at: start) }
        guard bits <= (kind == .mark ? 0 : 7) else { throw .unexpected(bits, at: start + 1) }
        try reader.readReserved(1)
        return (kind, Flags(rawValue: bits))
    }
}

extension HubMessage.Extent {
    fileprivate func isValid(
        for kind: HubMessage.Kind, _ flags: HubMessage.Flags, sequence: UInt64
    ) -> Bool {
        guard kind == .documents else { return base == commit }
        guard flags.contains(.replaces) else { return base < commit }
        // Only earlier messages can be replaced; 0 and 0 stand for none.
        return base <= commit && commit < sequence && (base > 0 || commit == 0)
    }
}

extension ByteReader {
    /// Reads bytes that must be zero.
    mutating func readReserved(_ count: Int) throws(Malformed) {
        let start = offset
        guard try readBytes(count).allSatisfy({ $0 == 0 }) else {
            throw .invalid("reserved bytes that are not zero", at: start)
        }
    }
}
