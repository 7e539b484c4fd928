package import SheafBytes

/// The fields of an object or a map, decoded in place (`format-spec/documents.md`, table 3).
///
/// Reads only within its range, even in malformed bytes.
package struct EncodedObject {
    /// Start of the document, which all offsets are relative to.
    let base: UnsafeRawPointer
    // Offsets are stored as 32 bits: scans keep many objects.
    private let shortStart: UInt32
    private let shortEndsAt: UInt32
    private let shortNamesAt: UInt32
    private let shortNumberedCount: UInt32
    private let shortCount: UInt32
    let flags: UInt8
    private let shortReferenceWidth: UInt8

    @inline(__always)
    var start: Int { Int(shortStart) }
    /// Offset of the list of ends, which follows the contents.
    @inline(__always)
    var endsAt: Int { Int(shortEndsAt) }
    @inline(__always)
    var namesAt: Int { Int(shortNamesAt) }
    @inline(__always)
    var numberedCount: Int { Int(shortNumberedCount) }
    /// Number of fields.
    @inline(__always)
    package var count: Int { Int(shortCount) }
    @inline(__always)
    var referenceWidth: Int { Int(shortReferenceWidth) }

    @inline(__always)
    package init(_ base: UnsafeRawPointer, _ range: Range<Int>, referenceWidth: Int)
        throws(Malformed)
    {
        let end = range.upperBound
        guard range.count >= 2 else { throw .truncated(at: end) }
        guard end <= Int(UInt32.max) else {
            throw .tooLong(at: 0, length: UInt64(end), limit: UInt64(UInt32.max))
        }
        let flags = base.load(fromByteOffset: end &- 1, as: UInt8.self)
        guard flags & ShapeBits.unknown == 0, flags & ShapeBits.endWidth != 3 else {
            throw .unexpected(flags, at: end &- 1)
        }
        var numbered: Int
        var spelled = 0
        var tail = 2
        if flags & (ShapeBits.spelled | ShapeBits.wideCounts) == 0 {
            numbered = Int(base.load(fromByteOffset: end &- 2, as: UInt8.self))
        } else {
            let width = flags & ShapeBits.wideCounts == 0 ? 1 : 4
            let hasSpelled = flags & ShapeBits.spelled != 0
            tail = 1 + (hasSpelled ? 2 : 1) * width
            guard range.count >= tail else { throw .truncated(at: end) }
            numbered = Self.count(base, at: end - 1 - width, width: width)
            if hasSpelled { spelled = Self.count(base, at: end - 1 - 2 * width, width: width) }
        }
        let nameShift = flags & ShapeBits.wideNames == 0 ? 0 : 1
        // Counts have 32 bits, so this cannot overflow 64 bits.
        let namesAt = end &- tail &- numbered &<< nameShift
        let endsAt = namesAt &- (numbered &+ spelled) &<< Int(flags & ShapeBits.endWidth)
        guard endsAt >= range.lowerBound else { throw .truncated(at: end) }
        self.base = base
        shortStart = UInt32(truncatingIfNeeded: range.lowerBound)
        shortEndsAt = UInt32(truncatingIfNeeded: endsAt)
        shortNamesAt = UInt32(truncatingIfNeeded: namesAt)
        shortNumberedCount = UInt32(truncatingIfNeeded: numbered)
        shortCount = UInt32(truncatingIfNeeded: numbered &+ spelled)
        self.flags = flags
        shortReferenceWidth = UInt8(truncatingIfNeeded: referenceWidth)
    }

    private static func count(_ base: UnsafeRawPointer, at offset: Int, width: Int) -> Int {
        width == 1
            ? Int(base.load(fromByteOffset: offset, as: UInt8.self))
            : Int(UInt32(littleEndian: base.loadUnaligned(fromByteOffset: offset, as: UInt32.self)))
    }

    var isPartial: Bool { flags & ShapeBits.partial != 0 }
    var hasReferences: Bool { flags & ShapeBits.references != 0 }

    /// Returns the name number of a numbered field.
    @inline(__always)
    func nameNumber(_ index: Int) -> UInt32 {
        if flags & ShapeBits.wideNames == 0 {
            return UInt32(base.load(fromByteOffset: namesAt &+ index, as: UInt8.self))
        }
        return UInt32(
            UInt16(
                littleEndian: base.loadUnaligned(
                    fromByteOffset: namesAt &+ 2 &* index, as: UInt16.self)))
    }

    /// Returns the end of the content of a field, relative to `start`.
    @inline(__always)
    func end(_ index: Int) -> Int {
        switch flags & ShapeBits.endWidth {
        case 0:
            return Int(base.load(fromByteOffset: endsAt &+ index, as: UInt8.self))
        case 1:
            return Int(
                UInt16(
                    littleEndian: base.loadUnaligned(
                        fromByteOffset: endsAt &+ 2 &* index, as: UInt16.self)))
        default:
            return Int(
                UInt32(
                    littleEndian: base.loadUnaligned(
                        fromByteOffset: endsAt &+ 4 &* index, as: UInt32.self)))
        }
    }

    /// Returns the range of the content of a field.
    @inline(__always)
    func content(_ index: Int) throws(Malformed) -> Range<Int> {
        let lower = index == 0 ? start : start &+ end(index &- 1)
        let upper = start &+ end(index)
        guard lower < upper, upper <= endsAt else { throw .truncated(at: lower) }
        return Range(uncheckedBounds: (lower, upper))
    }

    /// Returns the entry of the field at `index`, which must be less than `count`.
    @inline(__always)
    package func entry(_ index: Int) throws(Malformed) -> EncodedEntry {
        let range = try content(index)
        guard index >= numberedCount else {
            return EncodedEntry(base, range, referenceWidth: referenceWidth)
        }
        let name = try spelling(range)
        guard name.upperBound < range.upperBound else { throw .truncated(at: name.upperBound) }
        return EncodedEntry(
            base, name.upperBound..<range.upperBound, referenceWidth: referenceWidth)
    }

    /// Returns the range of the spelling in the content of a field.
    func spelling(_ content: Range<Int>) throws(Malformed) -> Range<Int> {
        var reader = ByteReader(
            UnsafeRawBufferPointer(start: base, count: content.upperBound),
            at: content.lowerBound)
        let length = try reader.readVarint()
        guard length <= UInt64(reader.remaining) else { throw .truncated(at: content.lowerBound) }
        return reader.offset..<reader.offset + Int(length)
    }

    /// Returns the spelling of a field without a name number.
    func spellingBytes(_ index: Int) throws(Malformed) -> UnsafeRawBufferPointer {
        let range = try spelling(try content(index))
        return UnsafeRawBufferPointer(start: base + range.lowerBound, count: range.count)
    }
}

extension EncodedObject {
    /// Returns the entry of a field; nil if there is none.
    @inline(__always)
    package func find(_ name: FieldName) throws(Malformed) -> EncodedEntry? {
        if name.number != FieldName.noNumber, let index = index(ofNumber: name.number) {
            return try entry(index)
        }
        guard count > numberedCount else { return nil }
        return try findSpelled(name)
    }

    /// Returns the index of the field with this name number; nil if there is none.
    @inline(__always)
    func index(ofNumber number: UInt32) -> Int? {
        var low = 0
        var left = numberedCount
        guard left > 0 else { return nil }
        if flags & ShapeBits.wideNames == 0, left <= 16, namesAt &+ left >= 8 {
            return indexAmongFew(number)
        }
        if flags & ShapeBits.wideNames == 0 {
            // This binary search has no branches.
            let names = base + namesAt
            while left > 1 {
                let half = left &>> 1
                let name = names.load(fromByteOffset: low &+ half, as: UInt8.self)
                low = UInt32(name) <= number ? low &+ half : low
                left &-= half
            }
            return UInt32(names.load(fromByteOffset: low, as: UInt8.self)) == number ? low : nil
        }
        while left > 1 {
            let half = left &>> 1
            low = nameNumber(low &+ half) <= number ? low &+ half : low
            left &-= half
        }
        return nameNumber(low) == number ? low : nil
    }

    /// Searches up to sixteen one-byte name numbers, eight at a time.
    @inline(__always)
    private func indexAmongFew(_ number: UInt32) -> Int? {
        guard number <= 0xFF else { return nil }
        let count = numberedCount
        let pattern = 0x0101_0101_0101_0101 &* UInt64(number)
        if count > 8 {
            let index = Self.firstByte(equalTo: pattern, in: names(at: namesAt))
            if index < 8 { return index }
        }
        // The last eight names are loaded; with fewer, the bytes before them are shifted out.
        let word = names(at: namesAt &+ count &- 8)
        let missing = max(8 &- count, 0)
        let index = Self.firstByte(
            equalTo: pattern &>> UInt64(8 &* missing), in: word &>> UInt64(8 &* missing))
        return index &+ missing < 8 ? count &- 8 &+ missing &+ index : nil
    }

    @inline(__always)
    private func names(at offset: Int) -> UInt64 {
        UInt64(littleEndian: base.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
    }

    /// Returns the index of the first byte equal to that of the pattern; 8 if there is none.
    @inline(__always)
    private static func firstByte(equalTo pattern: UInt64, in word: UInt64) -> Int {
        let difference = word ^ pattern
        let zeros = (difference &- 0x0101_0101_0101_0101) & ~difference & 0x8080_8080_8080_8080
        return zeros.trailingZeroBitCount &>> 3
    }

    /// Finds a field whose name is spelled out; the name may have a number by now.
    private func findSpelled(_ name: FieldName) throws(Malformed) -> EncodedEntry? {
        guard
            let index = try name.spelling.span.withUnsafeBytes({ spelling throws(Malformed) in
                try self.index(ofSpelling: spelling)
            })
        else { return nil }
        return try entry(index)
    }

    /// Returns the index of the spelled-out field with this name; nil if there is none.
    func index(ofSpelling spelling: UnsafeRawBufferPointer) throws(Malformed) -> Int? {
        var low = numberedCount
        var high = count
        while low < high {
            let middle = (low + high) / 2
            let order = UTF8Order.compare(try spellingBytes(middle), spelling)
            if order == 0 { return middle }
            if order < 0 { low = middle + 1 } else { high = middle }
        }
        return nil
    }
}
