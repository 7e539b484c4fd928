package import SheafBytes
import SheafDocument
import SheafSync

extension HubBroadcast {
    private enum Kind: UInt8 {
        case beat = 1
        case presence = 2
        case need = 3
        case incident = 4
    }

    private static let signature: StaticString = "SHP1"
    private static let version: UInt8 = 1

    private var kind: Kind {
        switch contents {
        case .beat: .beat
        case .presence: .presence
        case .need: .need
        case .incident: .incident
        }
    }

    package var bytes: [UInt8] {
        var writer = ByteWriter(capacity: 256)
        writer.write(Self.signature)
        writer.write(Self.version)
        writer.write(kind.rawValue)
        writer.write(log)
        writer.write(hub)
        writer.write(author)
        switch contents {
        case .beat(let beat): writer.write(beat)
        case .presence(let message): writer.write(message.bytes)
        case .need(let shard, let author, let ranges):
            writer.write(shard)
            writer.write(author)
            writer.writeVarint(UInt64(ranges.count))
            for range in ranges {
                writer.write(range.lowerBound)
                writer.write(range.upperBound)
            }
        case .incident(let incident, let shard):
            writer.write(shard)
            writer.write(incident.kind.rawValue)
            writer.write(incident.entry)
            writer.write(incident.digest)
            writer.write(incident.otherDigest)
        }
        writer.writeHash(seed: log.low)
        return writer.bytes
    }

    /// Decodes a broadcast of the hubs of a log.
    package init(decoding bytes: UnsafeRawBufferPointer, log: HubLogID) throws(Malformed) {
        guard bytes.count <= HubLimits.broadcastLength else {
            throw .tooLong(
                at: 0, length: UInt64(bytes.count), limit: UInt64(HubLimits.broadcastLength))
        }
        var reader = ByteReader(try bytes.withoutHash(seed: log.low))
        try reader.readSignature(Self.signature)
        let start = reader.offset
        let version = try reader.readUInt8()
        guard version == Self.version else { throw .unexpected(version, at: start) }
        let number = try reader.readUInt8()
        guard let kind = Kind(rawValue: number) else { throw .unexpected(number, at: start + 1) }
        self.log = try reader.readHash128()
        guard self.log == log else { throw .invalid("the id of another log", at: start + 2) }
        hub = Array(try reader.readBytes(Hello.peerKeyLength))
        author = try reader.readAuthor()
        switch kind {
        case .beat: contents = .beat(try reader.readBeat())
        case .presence:
            let records = try reader.readBytes(reader.remaining)
            contents = .presence(try PresenceMessage(decoding: records))
        case .need: contents = try reader.readNeed()
        case .incident: contents = try reader.readIncident()
        }
        try reader.checkEnd()
    }

    /// Whether bytes begin as a broadcast of the hubs of another log.
    package static func areOfOtherLog(_ bytes: UnsafeRawBufferPointer, than log: HubLogID) -> Bool {
        var reader = ByteReader(bytes)
        do throws(Malformed) {
            try reader.readSignature(signature)
            _ = try reader.readBytes(2)
            return try reader.readHash128() != log
        } catch {
            return false
        }
    }
}

extension ByteWriter {
    fileprivate mutating func write(_ beat: HubBroadcast.Beat) {
        write(UInt8((beat.isDraining ? 1 : 0) | (beat.isReady ? 0 : 2)))
        write(beat.versions.lowerBound)
        write(beat.versions.upperBound)
        write(beat.wallMilliseconds)
        writeVarint(beat.clientCount)
        write(beat.addresses)
        writeVarint(UInt64(beat.shards.count))
        for shard in beat.shards {
            write(shard.shard)
            write(shard.progress)
        }
    }
}

extension ByteReader {
    /// Reads the number of a shard.
    fileprivate mutating func readShard() throws(Malformed) -> UInt16 {
        let start = offset
        let shard = try readUInt16()
        guard Int(shard) < HubLimits.shards else {
            throw .invalid("shard \(shard) of \(HubLimits.shards)", at: start)
        }
        return shard
    }

    fileprivate mutating func readBeat() throws(Malformed) -> HubBroadcast.Beat {
        let start = offset
        let flags = try readUInt8()
        guard flags <= 3 else { throw .unexpected(flags, at: start) }
        let (lowest, highest) = (try readUInt8(), try readUInt8())
        guard lowest > 0, lowest <= highest else {
            throw .invalid("versions \(lowest) to \(highest)", at: start + 1)
        }
        let (clock, clients) = (try readUInt64(), try readVarint())
        let addresses = try readPeerAddresses()
        let count = try readCount(of: "shards", limit: HubLimits.shards, size: 26)
        var shards: [HubBroadcast.ReadShard] = []
        for _ in 0..<count {
            let start = offset
            let shard = try readShard()
            guard shards.last.map({ $0.shard < shard }) ?? true else {
                throw .invalid("shards that do not ascend", at: start)
            }
            shards.append(HubBroadcast.ReadShard(shard: shard, progress: try readProgress()))
        }
        return HubBroadcast.Beat(
            isDraining: flags & 1 != 0, isReady: flags & 2 == 0, versions: lowest...highest,
            wallMilliseconds: clock, clientCount: clients, addresses: addresses, shards: shards)
    }

    fileprivate mutating func readNeed() throws(Malformed) -> HubBroadcast.Contents {
        let shard = try readShard()
        let author = try readAuthor()
        let countStart = offset
        let count = try readCount(of: "ranges", limit: HubLimits.neededRanges, size: 16)
        guard count > 0 else { throw .invalid("no ranges", at: countStart) }
        var ranges: [ClosedRange<UInt64>] = []
        for _ in 0..<count {
            let start = offset
            let (first, last) = (try readUInt64(), try readUInt64())
            guard first > (ranges.last?.upperBound ?? 0), first <= last else {
                throw .invalid("ranges of sequences that do not ascend from 1 on", at: start)
            }
            ranges.append(first...last)
        }
        return .need(shard: shard, author, ranges)
    }

    fileprivate mutating func readIncident() throws(Malformed) -> HubBroadcast.Contents {
        let shard = try readShard()
        let start = offset
        let number = try readUInt8()
        guard let kind = ShardIncident.Kind(rawValue: number) else {
            throw .unexpected(number, at: start)
        }
        let incident = ShardIncident(
            kind, entry: try readUInt64(), digest: try readUInt64(),
            otherDigest: try readUInt64())
        return .incident(incident, shard: shard)
    }
}
