package import SheafBytes

/// A document, or what changed of one, in its bytes (`format-spec/documents.md`).
///
/// Nothing is copied, and nothing is read that was not asked for. The bytes must outlive it.
package struct EncodedDocument {
    package let bytes: UnsafeRawBufferPointer
    let base: UnsafeRawPointer
    let flags: UInt8
    /// Where the root entry starts.
    let rootStart: Int

    /// The bytes of a document.
    package static let maximumLength = 15 << 20
    package static let maximumSites = 65_535

    @inline(__always)
    package init(_ bytes: UnsafeRawBufferPointer) throws(Malformed) {
        guard bytes.count >= 4, let base = bytes.baseAddress else { throw .truncated(at: 0) }
        let flags = base.load(as: UInt8.self)
        guard flags & HeaderBits.unknown == 0, flags & HeaderBits.referenceWidth != 0x30 else {
            throw .unexpected(flags, at: 0)
        }
        self.bytes = bytes
        self.base = base
        self.flags = flags
        if flags & HeaderBits.wideNumbers == 0 {
            rootStart = Int(base.load(fromByteOffset: 1, as: UInt8.self))
        } else {
            guard bytes.count >= 10 else { throw .truncated(at: 1) }
            rootStart = Int(
                UInt32(littleEndian: base.loadUnaligned(fromByteOffset: 1, as: UInt32.self)))
        }
        guard rootStart < bytes.count, rootStart >= 3 else { throw .truncated(at: 1) }
    }

    /// Whether this is a delta that names only some of the document.
    package var isPartial: Bool { flags & HeaderBits.partial != 0 }

    @inline(__always)
    var referenceWidth: Int {
        1 &<< Int((flags & HeaderBits.referenceWidth) &>> 4)
    }

    /// The root, as an entry.
    @inline(__always)
    var root: EncodedEntry {
        EncodedEntry(base, rootStart..<bytes.count, referenceWidth: referenceWidth)
    }

    /// The fields of the document; nil where it does not exist.
    @inline(__always)
    package func fields() throws(Malformed) -> EncodedObject? {
        let root = root
        switch root.rawTag {
        case Tag.map.rawValue | Tag.referenceBit, Tag.bareMap.rawValue:
            return try root.object()
        default:
            return try unusualFields()
        }
    }

    private func unusualFields() throws(Malformed) -> EncodedObject? {
        switch try root.tag() {
        case .noRoot: return nil
        case .several:
            var entries = try root.several()
            guard let first = try entries.next(), try first.tag() == .map else {
                throw .unexpected(root.rawTag, at: rootStart)
            }
            return try first.object()
        default: throw .unexpected(root.rawTag, at: rootStart)
        }
    }
}

/// What stands before the root: who wrote, when, and what had been seen.
package struct EncodedHeader {
    private let base: UnsafeRawPointer
    private let rootStart: Int
    private let referenceWidth: Int
    let siteCount: Int
    private let sitesAt: Int
    private let baseCount: Int?
    private let basesAt: Int
    private let deletionAt: Int?
    private let olderAt: Int
    let olderCount: Int

    static let siteLength = 16
    static let stampLength = 10

    /// The header of the document that these bytes begin with; it has been looked at before.
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
        var reader = ByteReader(
            UnsafeRawBufferPointer(start: base, count: end), at: isWide ? 5 : 2)
        func number() throws(Malformed) -> Int {
            isWide ? Int(try reader.readUInt32()) : Int(try reader.readUInt8())
        }
        siteCount = try number()
        guard siteCount <= EncodedDocument.maximumSites else {
            throw .tooLong(
                at: 2, length: UInt64(siteCount), limit: UInt64(EncodedDocument.maximumSites))
        }
        sitesAt = reader.offset
        _ = try reader.readBytes(siteCount * Self.siteLength)
        if flags & HeaderBits.base != 0 {
            let count = try number()
            baseCount = count
            basesAt = reader.offset
            _ = try reader.readBytes(count * Self.stampLength)
        } else {
            baseCount = nil
            basesAt = reader.offset
        }
        if flags & HeaderBits.deletion != 0 {
            deletionAt = reader.offset
            _ = try reader.readBytes(Self.stampLength)
        } else {
            deletionAt = nil
        }
        olderAt = reader.offset
        guard reader.remaining % Self.stampLength == 0 else { throw .truncated(at: olderAt) }
        olderCount = reader.remaining / Self.stampLength
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

    /// The index of a site and a time, as they stand at an offset.
    private func indexed(_ offset: Int) throws(Malformed) -> (index: Int, time: HybridTime) {
        let index = Int(
            UInt16(littleEndian: base.loadUnaligned(fromByteOffset: offset, as: UInt16.self)))
        guard index < siteCount else {
            throw .tooLong(at: offset, length: UInt64(index), limit: UInt64(siteCount))
        }
        return (index, HybridTime(rawValue: load(offset + 2)))
    }

    /// The stamp that a reference means.
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

    /// The stamp of the entries that have none of their own: that of the root's latest mark.
    ///
    /// Nothing is read from `end` on.
    func rootStamp(readingTo end: Int) throws(Malformed) -> Stamp? {
        var reader = ByteReader(UnsafeRawBufferPointer(start: base, count: end), at: rootStart)
        var tag = try reader.readUInt8()
        if tag == Tag.several.rawValue {
            _ = try reader.readVarint()
            tag = try reader.readUInt8()
        }
        guard tag == Tag.map.rawValue | Tag.referenceBit else { return nil }
        return try stamp(
            try EncodedEntry.reference(
                base, at: reader.offset, width: referenceWidth, end: end))
    }

    /// What the document has seen.
    func vector() throws(Malformed) -> VersionVector {
        guard let vector = VersionVector(
            sorted: (0..<siteCount).map { VersionVector.Entry(site: site($0), time: time($0)) })
        else { throw .invalid("sites that do not ascend", at: sitesAt) }
        return vector
    }

    /// What had been seen before what the document says of changes.
    func baseVector() throws(Malformed) -> VersionVector {
        guard let baseCount else { return VersionVector() }
        var times = (0..<siteCount).map { time($0) }
        var last = -1
        for position in 0..<baseCount {
            let offset = basesAt + position * Self.stampLength
            let (index, time) = try indexed(offset)
            guard index > last, time < times[index] else {
                throw .invalid("a base that does not come before its site's time", at: offset)
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

    /// When the document was deleted last.
    func deletion() throws(Malformed) -> Stamp? {
        guard let deletionAt else { return nil }
        let (index, time) = try indexed(deletionAt)
        return Stamp(time, site(index))
    }

    /// Checks what reading does not need: order, covering, and that nothing is written twice.
    func validate() throws(Malformed) {
        for index in 0..<siteCount {
            let offset = sitesAt + index * Self.siteLength
            guard site(index) != .initial else { throw .invalid("a site of zero", at: offset) }
            guard time(index) > .initial else { throw .invalid("a time of zero", at: offset + 8) }
            guard index == 0 || site(index - 1) < site(index) else {
                throw .invalid("a site that does not ascend", at: offset)
            }
        }
        _ = try baseVector()
        if let deletionAt {
            let (index, time) = try indexed(deletionAt)
            guard time > .initial, time <= self.time(index) else {
                throw .invalid("a deletion that its document has not seen", at: deletionAt)
            }
        }
        var seen = Set<Stamp>()
        for position in 0..<olderCount {
            let offset = olderAt + position * Self.stampLength
            let (index, time) = try indexed(offset)
            guard time > .initial, time < self.time(index),
                seen.insert(Stamp(time, site(index))).inserted
            else { throw .invalid("a stamp that is not older, or stands there twice,", at: offset) }
        }
    }
}

extension EncodedDocument {
    package func header() throws(Malformed) -> EncodedHeader { try EncodedHeader(ofDocumentAt: base) }

    /// What the document has seen.
    package func vector() throws(Malformed) -> VersionVector { try header().vector() }

    /// What had been seen before the change that the document came with.
    package func baseVector() throws(Malformed) -> VersionVector { try header().baseVector() }

    /// When the document was deleted last.
    package func deletion() throws(Malformed) -> Stamp? {
        flags & HeaderBits.deletion == 0 ? nil : try header().deletion()
    }

    /// Whether there is a document, and not only what is left of one.
    package func exists() throws(Malformed) -> Bool {
        guard let fields = try fields() else { return false }
        if try root.tag() != .bareMap { return true }
        for index in 0..<fields.count where try fields.entry(index).isVisible() { return true }
        return false
    }
}
