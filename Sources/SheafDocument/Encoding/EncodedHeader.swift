import SheafBytes

/// The header of a document: version vector, base, deletion, and older stamps.
package struct EncodedHeader {
    private let base: UnsafeRawPointer
    private let rootStart: Int
    private let referenceWidth: Int
    package let siteCount: Int
    let sitesAt: Int
    /// Number of sites with another time in the base; nil for an empty base.
    let baseCount: Int?
    let basesAt: Int
    private let deletionAt: Int?
    private let olderAt: Int
    let olderCount: Int

    static let siteLength = 16
    static let stampLength = 10

    /// Decodes the header of a document whose first bytes were already checked.
    init(ofDocumentAt base: UnsafeRawPointer) throws(Malformed) {
        self.base = base
        let flags = base.load(as: UInt8.self)
        let isWide = flags & HeaderBits.wideNumbers != 0
        let end =
            isWide
            ? Int(UInt32(littleEndian: base.loadUnaligned(fromByteOffset: 1, as: UInt32.self)))
            : Int(base.load(fromByteOffset: 1, as: UInt8.self))
        rootStart = end
        referenceWidth = 1 << Int((flags & HeaderBits.referenceWidth) >> 4)
        let width = isWide ? 4 : 1
        var offset = isWide ? 5 : 2
        func number() throws(Malformed) -> Int {
            guard offset <= end - width else { throw .truncated(at: offset) }
            defer { offset += width }
            return isWide
                ? Int(
                    UInt32(
                        littleEndian: base.loadUnaligned(fromByteOffset: offset, as: UInt32.self)))
                : Int(base.load(fromByteOffset: offset, as: UInt8.self))
        }
        siteCount = try number()
        guard siteCount <= EncodedDocument.maximumSites else {
            throw .tooLong(
                at: 2, length: UInt64(siteCount), limit: UInt64(EncodedDocument.maximumSites))
        }
        sitesAt = offset
        offset += siteCount * Self.siteLength
        baseCount = flags & HeaderBits.base == 0 ? nil : try number()
        basesAt = offset
        offset += (baseCount ?? 0) * Self.stampLength
        deletionAt = flags & HeaderBits.deletion == 0 ? nil : offset
        if deletionAt != nil { offset += Self.stampLength }
        olderAt = offset
        guard olderAt <= end, (end - olderAt) % Self.stampLength == 0 else {
            throw .truncated(at: olderAt)
        }
        olderCount = (end - olderAt) / Self.stampLength
    }

    private func load(_ offset: Int) -> UInt64 {
        UInt64(littleEndian: base.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
    }

    func site(_ index: Int) -> Site {
        Site(rawValue: load(sitesAt + index * Self.siteLength))
    }

    func time(_ index: Int) -> HybridTime {
        HybridTime(rawValue: load(sitesAt + index * Self.siteLength + 8))
    }

    /// Returns a site index and a time stored at an offset.
    private func indexed(_ offset: Int) throws(Malformed) -> (index: Int, time: HybridTime) {
        let index = Int(
            UInt16(littleEndian: base.loadUnaligned(fromByteOffset: offset, as: UInt16.self)))
        guard index < siteCount else {
            throw .tooLong(at: offset, length: UInt64(index), limit: UInt64(siteCount))
        }
        return (index, HybridTime(rawValue: load(offset + 2)))
    }

    /// Returns the site index and time of an entry of the base.
    func base(_ position: Int) throws(Malformed) -> (index: Int, time: HybridTime) {
        try indexed(basesAt + position * Self.stampLength)
    }

    /// Returns the stamp of a reference; `.max` refers to `Stamp.initial`.
    @inline(__always)
    func stamp(_ reference: UInt32) throws(Malformed) -> Stamp {
        if reference == .max { return .initial }
        let index = Int(reference)
        if index < siteCount { return Stamp(time(index), site(index)) }
        guard index - siteCount < olderCount else {
            throw .tooLong(
                at: olderAt, length: UInt64(reference), limit: UInt64(siteCount + olderCount))
        }
        let (site, time) = try indexed(olderAt + (index - siteCount) * Self.stampLength)
        return Stamp(time, self.site(site))
    }

    /// Returns the stamp of entries without a reference: that of the root's latest mark.
    ///
    /// Reads no bytes at `end` or later.
    func rootStamp(readingTo end: Int) throws(Malformed) -> Stamp? {
        guard rootStart < end else { throw .truncated(at: rootStart) }
        var tag = base.load(fromByteOffset: rootStart, as: UInt8.self)
        var offset = rootStart + 1
        if tag == Tag.several.rawValue {
            var reader = ByteReader(UnsafeRawBufferPointer(start: base, count: end), at: offset)
            _ = try reader.readVarint()
            tag = try reader.readUInt8()
            offset = reader.offset
        }
        guard tag == Tag.map.rawValue | Tag.referenceBit else { return nil }
        return try stamp(
            try EncodedEntry.reference(
                base, at: offset, width: referenceWidth, end: end))
    }

    /// Returns the version vector; throws if its sites do not ascend.
    func vector() throws(Malformed) -> VersionVector {
        guard
            let vector = VersionVector(
                sorted: (0..<siteCount).map { VersionVector.Entry(site: site($0), time: time($0)) })
        else { throw .invalid("sites that do not ascend", at: sitesAt) }
        return vector
    }

    /// The hash of the version vector, which is that of `VersionVector`.
    var vectorHash: UInt64 {
        let bytes = UnsafeRawBufferPointer(
            start: base + sitesAt, count: siteCount * Self.siteLength)
        return XXH3.hash64(bytes)
    }

    /// The latest time in the version vector.
    package var latest: HybridTime {
        var latest = HybridTime.initial
        for index in 0..<siteCount { latest = max(latest, time(index)) }
        return latest
    }

    /// Returns the time of a site in the version vector.
    package func time(of site: Site) -> HybridTime {
        for index in 0..<siteCount where self.site(index) == site { return time(index) }
        return .initial
    }

    /// Returns the base: the version vector before the change.
    func baseVector() throws(Malformed) -> VersionVector {
        guard let baseCount else { return VersionVector() }
        var times = (0..<siteCount).map { time($0) }
        var last = -1
        for position in 0..<baseCount {
            let offset = basesAt + position * Self.stampLength
            let (index, time) = try indexed(offset)
            guard index > last, time < times[index] else {
                throw .invalid("a base not earlier than its site's time", at: offset)
            }
            last = index
            times[index] = time
        }
        let entries = times.enumerated().filter { $0.element > .initial }.map {
            VersionVector.Entry(site: site($0.offset), time: $0.element)
        }
        guard let vector = VersionVector(sorted: entries) else {
            throw .invalid("sites that do not ascend", at: sitesAt)
        }
        return vector
    }

    /// Returns the stamp of the last deletion.
    func deletion() throws(Malformed) -> Stamp? {
        guard let deletionAt else { return nil }
        let (index, time) = try indexed(deletionAt)
        return Stamp(time, site(index))
    }

    /// Throws unless the entries of the header are ordered, covered and unique.
    func validate() throws(Malformed) {
        for index in 0..<siteCount {
            let offset = sitesAt + index * Self.siteLength
            guard site(index) != .initial else { throw .invalid("a zero site", at: offset) }
            guard time(index) > .initial else { throw .invalid("a zero time", at: offset + 8) }
            guard index == 0 || site(index - 1) < site(index) else {
                throw .invalid("a site out of order", at: offset)
            }
        }
        _ = try baseVector()
        if let deletionAt {
            let (index, time) = try indexed(deletionAt)
            guard time > .initial, time <= self.time(index) else {
                throw .invalid("a deletion not covered by the version vector", at: deletionAt)
            }
        }
        var seen = Set<Stamp>()
        for position in 0..<olderCount {
            let offset = olderAt + position * Self.stampLength
            let (index, time) = try indexed(offset)
            guard time > .initial, time < self.time(index),
                seen.insert(Stamp(time, site(index))).inserted
            else { throw .invalid("a stamp that is not older, or a duplicate", at: offset) }
        }
    }
}
