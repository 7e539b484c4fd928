package import SheafBytes

/// The site of a store, as stored in the log (`format-spec/commits.md`, table 1).
package struct SiteRecord: Hashable, Sendable {
    package let site: Site
    /// The identity of the store's files, a hash of the directory and its mark file; 0 if unknown.
    ///
    /// A copy in another directory is another store: with the same site, both would use the same
    /// stamps for different writes.
    package let directory: UInt64
    /// The latest time of the site, if the log has records with a later time; nil otherwise.
    ///
    /// Record times never decrease, so after a clock that was ahead is corrected they exceed the
    /// times of the site.
    package let clock: HybridTime?
    /// Periods in which the site made no writes.
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
        // The time is stored if pauses follow it, or if it is not zero.
        guard time != 0 || !pauses.isEmpty else {
            throw .invalid("a zero clock", at: reader.offset)
        }
        clock = time.flatMap { $0 == 0 ? nil : HybridTime(rawValue: $0) }
        self.pauses = pauses
        guard site != .initial else { throw .invalid("a zero site", at: 0) }
    }

    package var bytes: [UInt8] {
        var writer = ByteWriter(capacity: 16)
        writer.write(site.rawValue)
        writer.write(directory)
        if clock != nil || !pauses.isEmpty { writer.write(clock?.rawValue ?? 0) }
        writer.write(pauses)
        return writer.bytes
    }

    /// Whether a store in a directory continues with the site.
    package func isOf(directory other: UInt64) -> Bool {
        directory == 0 || other == 0 || directory == other
    }
}
