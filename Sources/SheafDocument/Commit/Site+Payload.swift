package import SheafBytes

/// The site of a store as the log has it (`format-spec/commits.md`, table 1).
package struct SiteRecord: Hashable, Sendable {
    package let site: Site
    /// The directory that the store was in when the site was drawn; 0 where nobody knows.
    ///
    /// A copy in another directory is another store, though it begins with the same log: with the same
    /// site, both would write other things with the same stamps.
    package let directory: UInt64
    /// The latest time of the site's clock, where the records of the log have a later one; nil where they have not.
    ///
    /// The times of records never go back, so after a clock that was ahead was set they say nothing of the site.
    package let clock: HybridTime?

    package init(site: Site, directory: UInt64, clock: HybridTime? = nil) {
        self.site = site
        self.directory = directory
        self.clock = clock
    }

    package init(decoding bytes: UnsafeRawBufferPointer) throws(Malformed) {
        var reader = ByteReader(bytes)
        site = Site(rawValue: try reader.readUInt64())
        directory = try reader.readUInt64()
        clock = reader.remaining > 0 ? HybridTime(rawValue: try reader.readUInt64()) : nil
        guard reader.remaining == 0 else {
            throw .invalid("something behind the site", at: reader.offset)
        }
        guard site != .initial else { throw .invalid("a site that is zero", at: 0) }
    }

    package var bytes: [UInt8] {
        var writer = ByteWriter(capacity: 16)
        writer.write(site.rawValue)
        writer.write(directory)
        if let clock { writer.write(clock.rawValue) }
        return writer.bytes
    }

    /// Whether a store in a directory goes on with the site.
    package func isOf(directory other: UInt64) -> Bool {
        directory == 0 || other == 0 || directory == other
    }
}
