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
    /// Periods in which the site made no write.
    package let pauses: [WritePause]

    package init(
        site: Site, directory: UInt64, clock: HybridTime? = nil, pauses: [WritePause] = []
    ) {
        self.site = site
        self.directory = directory
        self.clock = clock
        self.pauses = pauses
    }

    package init(decoding bytes: UnsafeRawBufferPointer) throws(Malformed) {
        var reader = ByteReader(bytes)
        site = Site(rawValue: try reader.readUInt64())
        directory = try reader.readUInt64()
        let time = reader.remaining > 0 ? try reader.readUInt64() : nil
        let pauses = try reader.readPauses()
        // Without pauses the time is left out where there is none.
        guard time != 0 || !pauses.isEmpty else {
            throw .invalid("a clock that is zero", at: reader.offset)
        }
        clock = time.flatMap { $0 == 0 ? nil : HybridTime(rawValue: $0) }
        self.pauses = pauses
        guard site != .initial else { throw .invalid("a site that is zero", at: 0) }
    }

    package var bytes: [UInt8] {
        var writer = ByteWriter(capacity: 16)
        writer.write(site.rawValue)
        writer.write(directory)
        if clock != nil || !pauses.isEmpty { writer.write(clock?.rawValue ?? 0) }
        writer.write(pauses)
        return writer.bytes
    }

    /// Whether a store in a directory goes on with the site.
    package func isOf(directory other: UInt64) -> Bool {
        directory == 0 || other == 0 || directory == other
    }
}
