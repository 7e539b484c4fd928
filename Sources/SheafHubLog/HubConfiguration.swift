package import SheafBytes
package import SheafSync

/// The configuration of the hubs of a database (`format-spec/hub.md`, table 5).
package struct HubConfiguration: Equatable, Sendable {
    /// The replacement of the hub log by a new one, during which no hub appends.
    package struct Replacement: Equatable, Sendable {
        /// The key of the hub that creates the new log.
        package let hub: [UInt8]
        /// Time at which another hub may take over, in milliseconds since 1970.
        package let takeoverMilliseconds: UInt64

        package init(hub: [UInt8], takeoverMilliseconds: UInt64) {
            self.hub = hub
            self.takeoverMilliseconds = takeoverMilliseconds
        }
    }

    /// The manifests of a shard by the hashes in their names; nil where there is none.
    package struct Snapshots: Equatable, Sendable {
        package var newest: XXH3.Hash128?
        package var earlier: XXH3.Hash128?

        package init(newest: XXH3.Hash128? = nil, earlier: XXH3.Hash128? = nil) {
            self.newest = newest
            self.earlier = earlier
        }
    }

    package var replacement: Replacement?
    /// The version of messages that authors write.
    package var format: UInt8
    package let database: Hello.DatabaseID
    package var log: HubLogID
    /// Number of the hub log, from 1.
    package var number: UInt64
    package var map: ShardMap
    /// The verified snapshots of each shard.
    package var snapshots: [Snapshots]

    package init(
        replacement: Replacement? = nil, format: UInt8 = HubMessage.version,
        database: Hello.DatabaseID, log: HubLogID, number: UInt64, map: ShardMap,
        snapshots: [Snapshots]
    ) {
        precondition(
            snapshots.count == map.shardCount, "Each shard has its snapshots, or none of them.")
        self.replacement = replacement
        self.format = format
        self.database = database
        self.log = log
        self.number = number
        self.map = map
        self.snapshots = snapshots
    }

    package var bytes: [UInt8] {
        var writer = ByteWriter(capacity: 128 + 32 * snapshots.count)
        writer.write("SHC1")
        writer.write(UInt8(replacement == nil ? 0 : 1))
        writer.write(format)
        writer.write(UInt16(map.shardCount))
        writer.write(database)
        writer.write(log)
        writer.write(number)
        if let replacement {
            writer.write(replacement.hub)
            writer.write(replacement.takeoverMilliseconds)
        } else {
            writer.writeZeros(Hello.peerKeyLength + 8)
        }
        writer.write(texts: map.splitCollections)
        writer.writeVarint(UInt64(map.groups.count))
        for group in map.groups {
            writer.writeText(group.name)
            writer.write(texts: group.collections)
        }
        let none = XXH3.Hash128(low: 0, high: 0)
        for snapshot in snapshots { writer.write(snapshot.newest ?? none) }
        for snapshot in snapshots { writer.write(snapshot.earlier ?? none) }
        writer.writeHash(seed: 0)
        return writer.bytes
    }

    package init(decoding bytes: UnsafeRawBufferPointer) throws(Malformed) {
        var reader = ByteReader(try bytes.withoutHash(seed: 0))
        try reader.readSignature("SHC1")
        let stateStart = reader.offset
        let state = try reader.readUInt8()
        guard state <= 1 else { throw .unexpected(state, at: stateStart) }
        format = try reader.readUInt8()
        guard format > 0 else { throw .unexpected(format, at: stateStart + 1) }
        let shards = Int(try reader.readUInt16())
        database = try reader.readHash128()
        log = try reader.readHash128()
        let numberStart = reader.offset
        number = try reader.readUInt64()
        guard number > 0 else { throw .invalid("a hub log without a number", at: numberStart) }
        replacement = try reader.readReplacement(isReplacing: state == 1)
        let split = try reader.readTexts()
        let count = try reader.readCount(
            of: "groups of collections", limit: HubLimits.configuredCollections, size: 2)
        var groups: [ShardMap.CollectionGroup] = []
        for _ in 0..<count {
            let name = try reader.readText(limit: SyncLimits.collectionLength)
            groups.append(ShardMap.CollectionGroup(name: name, collections: try reader.readTexts()))
        }
        map = try ShardMap(shardCount: shards, splitCollections: split, groups: groups)
        snapshots = []
        for _ in 0..<shards { snapshots.append(Snapshots(newest: try reader.readHash())) }
        for shard in 0..<shards { snapshots[shard].earlier = try reader.readHash() }
        try reader.checkEnd()
    }
}

extension ByteWriter {
    fileprivate mutating func write(texts: [String]) {
        writeVarint(UInt64(texts.count))
        for text in texts { writeText(text) }
    }
}

extension ByteReader {
    fileprivate mutating func readTexts() throws(Malformed) -> [String] {
        let count = try readCount(
            of: "collections", limit: HubLimits.configuredCollections, size: 1)
        var texts: [String] = []
        for _ in 0..<count { texts.append(try readText(limit: SyncLimits.collectionLength)) }
        return texts
    }

    /// Reads the hash in the name of an object; nil for zeros.
    fileprivate mutating func readHash() throws(Malformed) -> XXH3.Hash128? {
        let hash = try readHash128()
        return hash == XXH3.Hash128(low: 0, high: 0) ? nil : hash
    }

    fileprivate mutating func readReplacement(
        isReplacing: Bool
    ) throws(Malformed) -> HubConfiguration.Replacement? {
        let start = offset
        let hub = Array(try readBytes(Hello.peerKeyLength))
        let time = try readUInt64()
        let isNamed = hub.contains { $0 != 0 } && time > 0
        let isEmpty = hub.allSatisfy { $0 == 0 } && time == 0
        guard isReplacing ? isNamed : isEmpty else {
            throw .invalid("a replacing hub, or its time, that does not match the state", at: start)
        }
        return isReplacing
            ? HubConfiguration.Replacement(hub: hub, takeoverMilliseconds: time) : nil
    }
}
