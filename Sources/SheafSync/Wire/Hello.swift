package import SheafBytes
package import SheafDocument

/// The first message of each peer: its identity and capabilities (`format-spec/sync.md`, table 3).
package struct Hello: Equatable, Sendable {
    /// The identifier of a database; only peers with the same one replicate.
    package typealias DatabaseID = XXH3.Hash128

    /// Supported protocol versions.
    package let versions: ClosedRange<UInt64>
    package let database: DatabaseID
    /// The public key that identifies the peer.
    package let peerKey: [UInt8]
    package let site: Site
    /// The identity of the current opening of the peer's log, in which its commits are numbered.
    ///
    /// Drawn at each opening, so that a cursor is invalid once a backup replaces the log.
    package let log: XXH3.Hash128
    /// Random number drawn for each connection.
    package let nonce: UInt64
    /// Wall clock of the peer when it sent the message, in milliseconds since 1970.
    package let wallMilliseconds: UInt64
    /// Periods in which the peer's site made no writes.
    package let pauses: [WritePause]
    /// Whether the peer is configured as a server.
    package let isServer: Bool
    /// Name of the device, for people.
    package let name: String

    package static let supportedVersions: ClosedRange<UInt64> = 3...4
    /// The first version with subscriptions to all collections.
    package static let allCollectionsVersion: UInt64 = 4
    /// The first version in which a peer can drop the history of segments.
    package static let historyVersion: UInt64 = 4
    package static let peerKeyLength = 32
    package static let maximumNameLength = 256

    package init(
        versions: ClosedRange<UInt64> = Self.supportedVersions, database: DatabaseID,
        peerKey: [UInt8], site: Site, log: XXH3.Hash128, nonce: UInt64,
        wallMilliseconds: UInt64, pauses: [WritePause] = [], isServer: Bool, name: String
    ) {
        precondition(peerKey.count == Self.peerKeyLength, "A key has 32 bytes.")
        self.versions = versions
        self.database = database
        self.peerKey = peerKey
        self.site = site
        self.log = log
        self.nonce = nonce
        self.wallMilliseconds = wallMilliseconds
        self.pauses = Array(pauses.prefix(WritePause.maximumCount))
        self.isServer = isServer
        // A long name is truncated at a character boundary.
        var name = name
        while name.utf8.count > Self.maximumNameLength { name.removeLast() }
        self.name = name
    }

    package var bytes: [UInt8] {
        var writer = ByteWriter(capacity: 128)
        writer.writeVarint(versions.lowerBound)
        writer.writeVarint(versions.upperBound)
        writer.write(database)
        writer.write(peerKey)
        writer.write(site.rawValue)
        writer.write(log)
        writer.write(nonce)
        writer.write(wallMilliseconds)
        writer.write(UInt8(pauses.count))
        writer.write(pauses)
        writer.write(isServer ? UInt8(1) : 0)
        writer.writeText(name)
        return writer.bytes
    }

    package init(decoding bytes: UnsafeRawBufferPointer) throws(Malformed) {
        var reader = ByteReader(bytes)
        let (lowest, highest) = (try reader.readVarint(), try reader.readVarint())
        guard lowest <= highest, lowest > 0 else {
            throw .invalid("an empty range of versions", at: reader.offset)
        }
        versions = lowest...highest
        database = try reader.readHash128()
        peerKey = Array(try reader.readBytes(Self.peerKeyLength))
        let site = try reader.readUInt64()
        guard site != Site.initial.rawValue else {
            throw .invalid("a zero site", at: reader.offset)
        }
        self.site = Site(rawValue: site)
        log = try reader.readHash128()
        nonce = try reader.readUInt64()
        wallMilliseconds = try reader.readUInt64()
        pauses = try reader.readPauses(count: Int(try reader.readUInt8()))
        let flags = try reader.readUInt8()
        guard flags <= 1 else { throw .unexpected(flags, at: reader.offset - 1) }
        isServer = flags == 1
        name = try reader.readText(limit: Self.maximumNameLength)
        guard reader.remaining == 0 else {
            throw .invalid("bytes after the name", at: reader.offset)
        }
    }

    /// Returns the negotiated version: the highest one that both peers support, or nil.
    package func version(with other: Hello) -> UInt64? {
        let highest = min(versions.upperBound, other.versions.upperBound)
        return versions.contains(highest) && other.versions.contains(highest) ? highest : nil
    }
}
