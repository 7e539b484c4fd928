import SheafBytes

/// An encoder of a document's entries: contents first, then the tables of each object.
package struct EntryWriter: ~Copyable {
    /// The bytes written so far.
    var buffer: ByteBuffer
    var stamps: StampTable
    let referenceWidth: Int
    /// Stamp of entries without a reference; set before the first of them is written.
    var rootStamp: Stamp?
    var fields = FieldList()
    var referenceCount = 0
    /// Whether a name was spelled out, even in content removed since.
    var hasSpelledFields = false
    /// The names that were spelled out, in the order of the texts; nil if they are not recorded.
    var spelledNames: [[UInt8]]?
    /// Successor of the last name number found.
    var nextNumber = 0

    /// An object or array that was begun and not ended.
    struct Level {
        let firstField: Int
        let start: Int
        let referenceCount: Int
    }

    init(stamps: StampTable, referenceWidth: Int, capacity: Int) {
        self.stamps = stamps
        self.referenceWidth = referenceWidth
        buffer = ByteBuffer(capacity: capacity)
    }

    var count: Int { buffer.count }

    /// The bytes written so far; valid until the next write.
    var bytes: UnsafeRawBufferPointer { buffer.bytes }

    /// Whether the stamps exceed the range of references of this width.
    var hasOverflown: Bool { StampTable.width(forCount: stamps.count) > referenceWidth }

    /// Writes the tag of an entry, and a reference unless its stamp is that of the root.
    @inline(__always)
    mutating func write(_ tag: Tag, at stamp: Stamp) {
        guard stamp != rootStamp else { return buffer.append(tag.rawValue) }
        writeReferring(tag, to: stamp)
    }

    /// Writes a tag and a reference.
    mutating func writeReferring(_ tag: Tag, to stamp: Stamp) {
        buffer.append(tag.rawValue | Tag.referenceBit)
        writeReference(to: stamp)
    }

    /// Writes a reference to a stamp.
    mutating func writeReference(to stamp: Stamp) {
        let reference = stamps.reference(to: stamp)
        referenceCount += 1
        switch referenceWidth {
        case 1: buffer.append(UInt8(truncatingIfNeeded: reference))
        case 2: append(UInt16(truncatingIfNeeded: reference))
        default: append(reference)
        }
    }

    /// Writes a tag without a reference.
    mutating func write(_ tag: Tag) {
        buffer.append(tag.rawValue)
    }

    /// Writes an annotation of parts.
    mutating func write(_ tag: Tag, _ parts: PartSet) {
        buffer.append(tag.rawValue)
        buffer.append(parts.rawValue)
    }

    /// Writes raw bytes.
    @inline(__always)
    mutating func write(_ raw: UnsafeRawBufferPointer) {
        buffer.append(raw)
    }

    @inline(__always)
    mutating func append<Integer: FixedWidthInteger & BitwiseCopyable>(_ value: Integer) {
        buffer.append(value)
    }

    /// Writes a number without a stamp.
    mutating func write(_ number: Number) {
        switch number {
        case .integer(let value): write(value, marked: nil)
        case .float(let value): write(value, marked: nil)
        }
    }

    /// Writes a tag, and a reference if there is a stamp other than that of the root.
    @inline(__always)
    mutating func write(_ tag: Tag, marked stamp: Stamp?) {
        guard let stamp, stamp != rootStamp else { return buffer.append(tag.rawValue) }
        writeReferring(tag, to: stamp)
    }

    /// Writes an integer in the fewest bytes.
    @inline(__always)
    mutating func write(_ value: Int64, marked stamp: Stamp?) {
        if let value = Int8(exactly: value) {
            write(.integer8, marked: stamp)
            buffer.append(UInt8(bitPattern: value))
        } else if let value = Int16(exactly: value) {
            write(.integer16, marked: stamp)
            append(value)
        } else if let value = Int32(exactly: value) {
            write(.integer32, marked: stamp)
            append(value)
        } else {
            write(.integer64, marked: stamp)
            append(value)
        }
    }

    @inline(__always)
    mutating func write(_ value: Double, marked stamp: Stamp?) {
        write(.float, marked: stamp)
        append(value.bitPattern)
    }

    /// Removes all bytes from `count` on.
    mutating func truncate(to count: Int) {
        buffer.truncate(to: count)
    }

    /// Inserts the length of the bytes from `start` on before them, as a varint.
    mutating func prependLength(at start: Int) {
        var rest = UInt64(count - start)
        let width = max((UInt64.bitWidth - rest.leadingZeroBitCount + 6) / 7, 1)
        buffer.move(from: start, to: start + width)
        for offset in start..<start + width {
            let more: UInt8 = offset < start + width - 1 ? 0x80 : 0
            buffer.patch(UInt8(truncatingIfNeeded: rest) & 0x7F | more, at: offset)
            rest >>= 7
        }
    }

    mutating func writeVarint(_ value: UInt64) {
        var rest = value
        while rest >= 0x80 {
            buffer.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        buffer.append(UInt8(truncatingIfNeeded: rest))
    }
}
