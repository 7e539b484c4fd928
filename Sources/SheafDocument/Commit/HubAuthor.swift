package import SheafBytes

/// One opening of the store of a hub, whose messages in a shard have ascending sequences.
package struct HubAuthor: Hashable, Comparable, Sendable {
    /// The site of the store when the opening began.
    package let site: Site
    /// Random number drawn at the opening.
    package let opening: UInt64

    package init(site: Site, opening: UInt64) {
        self.site = site
        self.opening = opening
    }

    package static func < (left: HubAuthor, right: HubAuthor) -> Bool {
        (left.site, left.opening) < (right.site, right.opening)
    }
}

extension ByteWriter {
    package mutating func write(_ author: HubAuthor) {
        write(author.site.rawValue)
        write(author.opening)
    }
}

extension ByteReader {
    package mutating func readAuthor() throws(Malformed) -> HubAuthor {
        let start = offset
        let author = HubAuthor(
            site: Site(rawValue: try readUInt64()), opening: try readUInt64())
        guard author.site != .initial, author.opening != 0 else {
            throw .invalid("an author without a site or an opening", at: start)
        }
        return author
    }
}
