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

    /// Whether it says what had been seen before the change that it came with.
    package var hasBase: Bool { flags & HeaderBits.base != 0 }

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

extension EncodedDocument {
    package func header() throws(Malformed) -> EncodedHeader {
        try EncodedHeader(ofDocumentAt: base)
    }

    /// What the document has seen.
    package func vector() throws(Malformed) -> VersionVector { try header().vector() }

    /// What had been seen before the change that the document came with.
    package func baseVector() throws(Malformed) -> VersionVector { try header().baseVector() }

    /// When the document was deleted last.
    package func deletion() throws(Malformed) -> Stamp? {
        flags & HeaderBits.deletion == 0 ? nil : try header().deletion()
    }

    /// The site at which a remnant has the time of its eviction; no store draws it.
    package static let evictionSite = Site(rawValue: .max)

    /// Whether this is what is left of a document that was taken away here: nothing to be seen, and nothing
    /// that others should know.
    package var isRemnant: Bool {
        root.rawTag == Tag.noRoot.rawValue
            && flags & (HeaderBits.deletion | HeaderBits.partial) == 0
    }

    /// Whether there is a document, and not only what is left of one.
    package func exists() throws(Malformed) -> Bool {
        guard let fields = try fields() else { return false }
        if try root.tag() != .bareMap { return true }
        for index in 0..<fields.count where try fields.entry(index).isVisible() { return true }
        return false
    }
    /// The fields of the document; nil where there is none, or only what is left of one.
    @inline(__always)
    package func existingFields() throws(Malformed) -> EncodedObject? {
        let fields = try fields()
        guard root.rawTag == Tag.bareMap.rawValue else { return fields }
        return try exists() ? fields : nil
    }
}
