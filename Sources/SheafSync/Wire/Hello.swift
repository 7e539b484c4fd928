package import SheafBytes
package import SheafDocument

/// What each side says first: who it is, and what it can (`format-spec/sync.md`, table 3).
package struct Hello: Equatable, Sendable {
    /// What tells a database from all others: only peers of one talk to each other.
    package typealias DatabaseID = XXH3.Hash128

    /// The versions of the protocol that it speaks.
    package let versions: ClosedRange<UInt64>
    package let database: DatabaseID
    /// The public key of the peer, by which it is known.
    package let peerKey: [UInt8]
    package let site: Site
    /// The log that its commits are numbered in, in this opening: drawn anew with each, so that nobody
    /// goes on where a backup was put in its place.
    package let log: XXH3.Hash128
    /// Drawn anew for each connection.
    package let nonce: UInt64
    /// The wall clock of the peer when it said this, in milliseconds since 1970.
    package let wallMilliseconds: UInt64
    /// Periods in which the site of the peer made no write.
    package let pauses: [WritePause]
    /// Whether it calls itself a server.
    package let isServer: Bool
    /// What people call the device.
    package let name: String

    package static let spokenVersions: ClosedRange<UInt64> = 2...2
    package static let peerKeyLength = 32
    package static let maximumNameLength = 256

    package init(
        versions: ClosedRange<UInt64> = Self.spokenVersions, database: DatabaseID,
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
        // What is too long is cut where a character ends.
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
            throw .invalid("versions that there cannot be", at: reader.offset)
        }
        versions = lowest...highest
        database = try reader.readHash128()
        peerKey = Array(try reader.readBytes(Self.peerKeyLength))
        let site = try reader.readUInt64()
        guard site != Site.initial.rawValue else {
            throw .invalid("a site that nobody has", at: reader.offset)
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
            throw .invalid("something behind the name", at: reader.offset)
        }
    }

    /// The version that both sides speak from now on: the highest that both know.
    package func version(with other: Hello) -> UInt64? {
        let highest = min(versions.upperBound, other.versions.upperBound)
        return versions.contains(highest) && other.versions.contains(highest) ? highest : nil
    }
}
