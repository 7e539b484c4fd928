import SheafBytes

/// An entry at a field or an element of an array, decoded in place.
package struct EncodedEntry {
    let base: UnsafeRawPointer
    let start: Int
    let end: Int
    let referenceWidth: Int

    @inline(__always)
    init(_ base: UnsafeRawPointer, _ range: Range<Int>, referenceWidth: Int) {
        self.base = base
        start = range.lowerBound
        end = range.upperBound
        self.referenceWidth = referenceWidth
    }

    /// The tag, including the reference bit.
    @inline(__always)
    var rawTag: UInt8 { base.load(fromByteOffset: start, as: UInt8.self) }

    @inline(__always)
    var hasReference: Bool { rawTag & Tag.referenceBit != 0 }

    @inline(__always)
    func tag() throws(Malformed) -> Tag {
        guard let tag = Tag(rawValue: rawTag & ~Tag.referenceBit) else {
            throw .unexpected(rawTag, at: start)
        }
        return tag
    }

    /// Returns the range of the payload, which follows the tag and the reference.
    @inline(__always)
    func payload() throws(Malformed) -> Range<Int> {
        let lower = start &+ 1 &+ (hasReference ? referenceWidth : 0)
        guard lower <= end else { throw .truncated(at: start) }
        return Range(uncheckedBounds: (lower, end))
    }

    /// Returns the bytes of the payload, borrowed from the document.
    @inline(__always)
    func payloadBytes() throws(Malformed) -> UnsafeRawBufferPointer {
        let range = try payload()
        return UnsafeRawBufferPointer(start: base + range.lowerBound, count: range.count)
    }

    /// Returns the reference after the tag; only for entries with the reference bit.
    func reference() throws(Malformed) -> UInt32 {
        try EncodedEntry.reference(base, at: start + 1, width: referenceWidth, end: end)
    }

    static func reference(
        _ base: UnsafeRawPointer, at offset: Int, width: Int, end: Int
    ) throws(Malformed) -> UInt32 {
        guard offset + width <= end else { throw .truncated(at: offset) }
        switch width {
        case 1:
            let value = base.load(fromByteOffset: offset, as: UInt8.self)
            return value == .max ? .max : UInt32(value)
        case 2:
            let value = UInt16(
                littleEndian: base.loadUnaligned(fromByteOffset: offset, as: UInt16.self))
            return value == .max ? .max : UInt32(value)
        default:
            return UInt32(
                littleEndian: base.loadUnaligned(fromByteOffset: offset, as: UInt32.self))
        }
    }

    /// Returns the payload as an object; the tag is not checked.
    @inline(__always)
    func object() throws(Malformed) -> EncodedObject {
        try EncodedObject(base, try payload(), referenceWidth: referenceWidth)
    }

    /// Returns the payload as an array; the tag is not checked.
    func array() throws(Malformed) -> EncodedArray {
        try EncodedArray(base, try payload(), referenceWidth: referenceWidth)
    }

    /// Returns the entry nested in a token, restart or sum, after `skipped` bytes.
    func inner(skipping skipped: Int = 0) throws(Malformed) -> EncodedEntry {
        let range = try payload()
        guard range.count > skipped else { throw .truncated(at: range.lowerBound) }
        return EncodedEntry(
            base, range.lowerBound + skipped..<range.upperBound, referenceWidth: referenceWidth)
    }

    /// Returns the entries of a *several* entry, in order.
    func several() throws(Malformed) -> SeveralEntries {
        SeveralEntries(base, try payload(), referenceWidth: referenceWidth)
    }

    /// Returns the parts of an *overrides* or *empty* entry.
    func partSet() throws(Malformed) -> PartSet {
        let bytes = try payloadBytes()
        guard bytes.count == 1, bytes[0] != 0, bytes[0] <= PartSet.all.rawValue else {
            throw .unexpected(bytes.first ?? 0, at: start)
        }
        return PartSet(rawValue: bytes[0])
    }
}

/// An iterator over the entries of a *several* entry.
struct SeveralEntries {
    private let base: UnsafeRawPointer
    private var offset: Int
    private let end: Int
    private let referenceWidth: Int

    init(_ base: UnsafeRawPointer, _ range: Range<Int>, referenceWidth: Int) {
        self.base = base
        offset = range.lowerBound
        end = range.upperBound
        self.referenceWidth = referenceWidth
    }

    mutating func next() throws(Malformed) -> EncodedEntry? {
        guard offset < end else { return nil }
        var reader = ByteReader(UnsafeRawBufferPointer(start: base, count: end), at: offset)
        let length = try reader.readVarint()
        guard length > 0, length <= UInt64(reader.remaining) else {
            throw .truncated(at: offset)
        }
        offset = reader.offset + Int(length)
        return EncodedEntry(
            base, reader.offset..<offset, referenceWidth: referenceWidth)
    }
}

/// The elements of an array, decoded in place (`format-spec/documents.md`, table 4).
package struct EncodedArray {
    let base: UnsafeRawPointer
    let start: Int
    let endsAt: Int
    package let count: Int
    let flags: UInt8
    private let referenceWidth: Int

    init(_ base: UnsafeRawPointer, _ range: Range<Int>, referenceWidth: Int) throws(Malformed) {
        let end = range.upperBound
        guard range.count >= 2 else { throw .truncated(at: end) }
        flags = base.load(fromByteOffset: end - 1, as: UInt8.self)
        guard flags & ~(ShapeBits.endWidth | ShapeBits.wideCounts) == 0,
            flags & ShapeBits.endWidth != 3
        else { throw .unexpected(flags, at: end - 1) }
        let width = flags & ShapeBits.wideCounts == 0 ? 1 : 4
        guard range.count >= 1 + width else { throw .truncated(at: end) }
        count =
            width == 1
            ? Int(base.load(fromByteOffset: end - 2, as: UInt8.self))
            : Int(
                UInt32(littleEndian: base.loadUnaligned(fromByteOffset: end - 5, as: UInt32.self)))
        let endsAt = end - 1 - width - count << Int(flags & ShapeBits.endWidth)
        guard endsAt >= range.lowerBound else { throw .truncated(at: end) }
        self.base = base
        start = range.lowerBound
        self.endsAt = endsAt
        self.referenceWidth = referenceWidth
    }

    /// Returns the element at `index`, which must be less than `count`.
    func element(_ index: Int) throws(Malformed) -> EncodedEntry {
        let lower = index == 0 ? start : start + end(index - 1)
        let upper = start + end(index)
        guard lower < upper, upper <= endsAt else { throw .truncated(at: lower) }
        return EncodedEntry(base, lower..<upper, referenceWidth: referenceWidth)
    }

    private func end(_ index: Int) -> Int {
        switch flags & ShapeBits.endWidth {
        case 0: Int(base.load(fromByteOffset: endsAt + index, as: UInt8.self))
        case 1:
            Int(
                UInt16(
                    littleEndian: base.loadUnaligned(
                        fromByteOffset: endsAt + 2 * index, as: UInt16.self)))
        default:
            Int(
                UInt32(
                    littleEndian: base.loadUnaligned(
                        fromByteOffset: endsAt + 4 * index, as: UInt32.self)))
        }
    }
}
