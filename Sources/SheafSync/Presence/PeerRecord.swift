package import SheafBytes
import SheafDocument

/// The record that a peer publishes to the mesh (`format-spec/sync.md`, table 22).
///
/// Records are not signed: a peer that forwards a record may have forged it.
package struct PeerRecord: Equatable, Sendable {
    /// The version of a record; of two records of one peer the greater version is newer.
    package struct Version: Hashable, Sendable, Comparable {
        /// Time at which the peer was opened, by its own clock, in milliseconds since 1970.
        package let opening: UInt64
        /// Random number drawn at each opening, so that versions of two openings differ.
        package let salt: UInt64
        /// Number of changes since the opening.
        package let count: UInt64
        /// Hash of the record: orders different records forged with equal numbers.
        private var digest: UInt64 = 0

        package init(opening: UInt64, salt: UInt64, count: UInt64) {
            self.opening = opening
            self.salt = salt
            self.count = count
        }

        package static func < (left: Version, right: Version) -> Bool {
            (left.opening, left.salt, left.count, left.digest)
                < (right.opening, right.salt, right.count, right.digest)
        }

        fileprivate func of(_ record: PeerRecord) -> Version {
            var writer = ByteWriter(capacity: record.length)
            record.write(into: &writer)
            let hash = writer.bytes.span.withUnsafeBytes { SHA256.hash($0) }
            var version = self
            version.digest = hash.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
            return version
        }
    }

    /// A connected peer, and the transport of the connection.
    package struct Neighbor: Hashable, Sendable {
        package let key: [UInt8]
        /// Transport number (`format-spec/sync.md`, table 23).
        package let kind: UInt8

        package init(key: [UInt8], kind: UInt8) {
            self.key = key
            self.kind = kind
        }
    }

    /// The description that a peer gives of itself.
    package struct Description: Equatable, Sendable {
        package var isServer: Bool
        package var name: String
        package var operatingSystem: String
        package var softwareVersion: String
        /// A JSON object; empty for none.
        package var metadata: [UInt8]
        /// Where the peer accepts connections, in ascending order, without duplicates.
        package let addresses: [Address]

        /// Creates a description; of more addresses than the limit, the first ones count.
        package init(
            isServer: Bool = false, name: String = "", operatingSystem: String = "",
            softwareVersion: String = "", metadata: [UInt8] = [], addresses: [Address] = []
        ) {
            self.isServer = isServer
            self.name = Self.truncated(name, to: Hello.maximumNameLength)
            self.operatingSystem = Self.truncated(operatingSystem, to: PresenceLimits.systemLength)
            self.softwareVersion = Self.truncated(softwareVersion, to: PresenceLimits.systemLength)
            self.metadata = metadata
            var seen: Set<Address> = []
            self.addresses = addresses.filter { seen.insert($0).inserted }
                .prefix(PresenceLimits.addresses).sorted()
        }

        /// Truncates a text to `limit` bytes at a character boundary.
        private static func truncated(_ text: String, to limit: Int) -> String {
            var text = text
            while text.utf8.count > limit { text.removeLast() }
            return text
        }
    }

    package let key: [UInt8]
    package private(set) var version: Version
    package let description: Description
    /// Connected peers, in ascending order of key, without duplicates.
    package let neighbors: [Neighbor]

    package init(
        key: [UInt8], version: Version, _ description: Description, neighbors: [Neighbor]
    ) {
        precondition(key.count == Hello.peerKeyLength, "A key has 32 bytes.")
        self.key = key
        self.version = version
        self.description = description
        self.neighbors = neighbors.sorted { $0.key.lexicographicallyPrecedes($1.key) }
        self.version = version.of(self)
    }

    /// Returns the transport of the connection to `other`, or nil if the record lists none.
    package func kind(ofConnectionWith other: [UInt8]) -> UInt8? {
        var (low, high) = (0, neighbors.count)
        while low < high {
            let middle = (low + high) / 2
            if neighbors[middle].key == other { return neighbors[middle].kind }
            if neighbors[middle].key.lexicographicallyPrecedes(other) {
                low = middle + 1
            } else {
                high = middle
            }
        }
        return nil
    }

    /// Approximate length in memory and on the wire, in bytes.
    package var length: Int {
        128 + description.name.utf8.count + description.operatingSystem.utf8.count
            + description.softwareVersion.utf8.count + description.metadata.count
            + description.addresses.count * PresenceLimits.addressLength
            + neighbors.count * (Hello.peerKeyLength + 1)
    }
}

extension PeerRecord {
    func write(into writer: inout ByteWriter) {
        writer.write(key)
        writer.write(version.opening)
        writer.write(version.salt)
        writer.writeVarint(version.count)
        writer.write(description.isServer ? UInt8(1) : 0)
        writer.writeText(description.name)
        writer.writeText(description.operatingSystem)
        writer.writeText(description.softwareVersion)
        writer.writeVarint(UInt64(description.metadata.count))
        writer.write(description.metadata)
        writer.write(description.addresses)
        writer.writeVarint(UInt64(neighbors.count))
        for neighbor in neighbors {
            writer.write(neighbor.key)
            writer.write(neighbor.kind)
        }
    }

    init(from reader: inout ByteReader) throws(Malformed) {
        key = Array(try reader.readBytes(Hello.peerKeyLength))
        version = Version(
            opening: try reader.readUInt64(), salt: try reader.readUInt64(),
            count: try reader.readVarint())
        let start = reader.offset
        let flags = try reader.readUInt8()
        guard flags <= 1 else { throw .unexpected(flags, at: start) }
        description = Description(
            isServer: flags == 1, name: try reader.readText(limit: Hello.maximumNameLength),
            operatingSystem: try reader.readText(limit: PresenceLimits.systemLength),
            softwareVersion: try reader.readText(limit: PresenceLimits.systemLength),
            metadata: try reader.readMetadata(), addresses: try reader.readPeerAddresses())
        let offset = reader.offset
        let count = try reader.readVarint()
        guard count <= UInt64(PresenceLimits.neighbors) else {
            throw .invalid("more than \(PresenceLimits.neighbors) neighbors", at: offset)
        }
        var neighbors: [Neighbor] = []
        for _ in 0..<count {
            let offset = reader.offset
            let neighbor = Array(try reader.readBytes(Hello.peerKeyLength))
            guard neighbors.last?.key.lexicographicallyPrecedes(neighbor) ?? true else {
                throw .invalid("neighbors out of order", at: offset)
            }
            guard neighbor != key else {
                throw .invalid("a peer that is its own neighbor", at: offset)
            }
            neighbors.append(Neighbor(key: neighbor, kind: try reader.readUInt8()))
        }
        self.neighbors = neighbors
        version = version.of(self)
    }
}

extension ByteReader {
    /// Reads a JSON object, or nothing if the length is zero.
    fileprivate mutating func readMetadata() throws(Malformed) -> [UInt8] {
        let start = offset
        let metadata = Array(try readLengthPrefixed(limit: PresenceLimits.metadataLength))
        guard !metadata.isEmpty else { return [] }
        guard case .object? = try? Value(jsonBytes: metadata) else {
            throw .invalid("metadata that is not a JSON object", at: start)
        }
        return metadata
    }
}

/// Peer records sent in one frame (`format-spec/sync.md`, table 24).
package struct PresenceMessage: Equatable, Sendable {
    package let records: [PeerRecord]

    package init(_ records: [PeerRecord]) {
        self.records = records
    }

    package var bytes: [UInt8] {
        var writer = ByteWriter(capacity: records.reduce(4) { $0 + $1.length })
        writer.writeVarint(UInt64(records.count))
        for record in records { record.write(into: &writer) }
        return writer.bytes
    }

    package init(decoding bytes: UnsafeRawBufferPointer) throws(Malformed) {
        guard bytes.count <= PresenceLimits.messageLength else {
            throw .invalid("more than \(PresenceLimits.messageLength) bytes of records", at: 0)
        }
        var reader = ByteReader(bytes)
        let count = try reader.readVarint()
        guard count > 0 else { throw .invalid("no records", at: 0) }
        var records: [PeerRecord] = []
        // Each record takes bytes, so an exaggerated count ends in a truncation error.
        for _ in 0..<count { records.append(try PeerRecord(from: &reader)) }
        self.records = records
        try reader.checkEnd()
    }
}
