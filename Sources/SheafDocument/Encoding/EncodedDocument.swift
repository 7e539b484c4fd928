package import SheafBytes

/// An encoded document or delta (`format-spec/documents.md`).
///
/// The bytes are borrowed, must outlive the document, and are decoded lazily.
package struct EncodedDocument {
    package let bytes: UnsafeRawBufferPointer
    let base: UnsafeRawPointer
    let flags: UInt8
    /// Offset of the root entry.
    let rootStart: Int

    /// Maximum length of an encoded document.
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

    /// Whether this is a delta with only some parts of the document.
    package var isPartial: Bool { flags & HeaderBits.partial != 0 }

    /// Whether the document has a base: the version vector before the change.
    package var hasBase: Bool { flags & HeaderBits.base != 0 }

    @inline(__always)
    var referenceWidth: Int {
        1 &<< Int((flags & HeaderBits.referenceWidth) &>> 4)
    }

    /// The root entry.
    @inline(__always)
    var root: EncodedEntry {
        EncodedEntry(base, rootStart..<bytes.count, referenceWidth: referenceWidth)
    }

    /// Returns the fields of the document; nil if it has no root.
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

    /// Returns the version vector after the change.
    package func vector() throws(Malformed) -> VersionVector { try header().vector() }

    /// Returns the hash of the version vector after the change.
    package func vectorHash() throws(Malformed) -> UInt64 { try header().vectorHash }

    /// Returns the version vector before the change.
    package func baseVector() throws(Malformed) -> VersionVector { try header().baseVector() }

    /// Returns the stamp of the last deletion.
    package func deletion() throws(Malformed) -> Stamp? {
        flags & HeaderBits.deletion == 0 ? nil : try header().deletion()
    }

    /// The site of the eviction time in a remnant; never drawn by a store.
    package static let evictionSite = Site(rawValue: .max)

    /// Whether this is a remnant: the version vector of an evicted document, never replicated.
    package var isRemnant: Bool {
        root.rawTag == Tag.noRoot.rawValue
            && flags & (HeaderBits.deletion | HeaderBits.partial) == 0
    }

    /// Whether the document exists, and is not a tombstone.
    package func exists() throws(Malformed) -> Bool {
        guard let fields = try fields() else { return false }
        if try root.tag() != .bareMap { return true }
        for index in 0..<fields.count where try fields.entry(index).isVisible() { return true }
        return false
    }
    /// Returns the fields of the document; nil if it does not exist or is a tombstone.
    @inline(__always)
    package func existingFields() throws(Malformed) -> EncodedObject? {
        let fields = try fields()
        guard root.rawTag == Tag.bareMap.rawValue else { return fields }
        return try exists() ? fields : nil
    }
}
