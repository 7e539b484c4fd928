package import SheafBytes

/// Earlier sites of a store (`format-spec/commits.md`, table 1).
///
/// The sites identify documents written by this store that other peers refuse.
package struct FormerSites: Hashable, Sendable {
    /// The sites in order of use, oldest first.
    package private(set) var sites: [Site] = []

    /// Maximum number of sites; beyond it the oldest are dropped.
    package static let maximumCount = 64

    package init() {}

    package init(decoding bytes: UnsafeRawBufferPointer) throws(Malformed) {
        var reader = ByteReader(bytes)
        while reader.remaining > 0 {
            let start = reader.offset
            let site = Site(rawValue: try reader.readUInt64())
            guard site != .initial else { throw .invalid("a zero site", at: start) }
            guard sites.count < Self.maximumCount else {
                throw .invalid("more than \(Self.maximumCount) former sites", at: start)
            }
            guard !sites.contains(site) else {
                throw .invalid("a duplicate site", at: start)
            }
            sites.append(site)
        }
        guard !sites.isEmpty else { throw .invalid("no former sites", at: 0) }
    }

    package var bytes: [UInt8] {
        var writer = ByteWriter(capacity: 8 * sites.count)
        for site in sites { writer.write(site.rawValue) }
        return writer.bytes
    }

    package mutating func add(_ site: Site) {
        sites.removeAll { $0 == site }
        sites.append(site)
        if sites.count > Self.maximumCount { sites.removeFirst() }
    }
}
