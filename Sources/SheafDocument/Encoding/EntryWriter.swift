import SheafBytes

/// Writes the entries of a document, each field behind the other, and the tables behind them.
struct EntryWriter {
    /// What was written so far.
    private(set) var bytes: [UInt8] = []
    var stamps: StampTable
    let referenceWidth: Int
    /// The stamp of entries that have none of their own; known before the first of them is written.
    var rootStamp: Stamp?
    /// The fields of all objects that are open, the innermost last.
    private var fields: [Field] = []
    private var referenceCount = 0

    private struct Field {
        /// The number of its name, or `FieldName.noNumber` where the name is spelled.
        let number: UInt32
        let start: Int
        var end: Int
    }

    /// An object that is open.
    struct Frame {
        fileprivate let firstField: Int
        fileprivate let start: Int
        fileprivate let referenceCount: Int
    }

    init(stamps: StampTable, referenceWidth: Int, capacity: Int) {
        self.stamps = stamps
        self.referenceWidth = referenceWidth
        bytes.reserveCapacity(capacity)
        fields.reserveCapacity(16)
    }

    var count: Int { bytes.count }

    /// Whether there are more stamps than references of this width can name.
    var hasOverflown: Bool { StampTable.width(forCount: stamps.count) > referenceWidth }

    // MARK: Entries

    /// Writes the tag of an entry with a stamp, and a reference where it is not the root's.
    @inline(__always)
    mutating func write(_ tag: Tag, at stamp: Stamp) {
        guard stamp != rootStamp else { return bytes.append(tag.rawValue) }
        writeReferring(tag, to: stamp)
    }

    /// Writes a tag with a reference in any case.
    mutating func writeReferring(_ tag: Tag, to stamp: Stamp) {
        bytes.append(tag.rawValue | Tag.referenceBit)
        writeReference(to: stamp)
    }

    /// Writes a reference to a stamp.
    mutating func writeReference(to stamp: Stamp) {
        let reference = stamps.reference(to: stamp)
        referenceCount += 1
        switch referenceWidth {
        case 1: bytes.append(UInt8(truncatingIfNeeded: reference))
        case 2: append(UInt16(truncatingIfNeeded: reference))
        default: append(reference)
        }
    }

    /// Writes a tag alone.
    mutating func write(_ tag: Tag) {
        bytes.append(tag.rawValue)
    }

    /// Writes a note on some parts.
    mutating func write(_ tag: Tag, _ parts: PartSet) {
        bytes.append(tag.rawValue)
        bytes.append(parts.rawValue)
    }

    /// Writes bytes as they are.
    @inline(__always)
    mutating func write(_ raw: UnsafeRawBufferPointer) {
        bytes.append(contentsOf: raw)
    }

    mutating func append<Integer: FixedWidthInteger>(_ value: Integer) {
        withUnsafeBytes(of: value.littleEndian) { bytes.append(contentsOf: $0) }
    }

    mutating func write(_ number: Number) {
        switch number {
        case .integer(let value): write(value) { $0.write($1) }
        case .float(let value): write(value) { $0.write($1) }
        }
    }

    /// Writes an integer in the fewest bytes; `tagWriter` writes the tag.
    @inline(__always)
    mutating func write(_ value: Int64, tag tagWriter: (inout EntryWriter, Tag) -> Void) {
        if let value = Int8(exactly: value) {
            tagWriter(&self, .integer8)
            bytes.append(UInt8(bitPattern: value))
        } else if let value = Int16(exactly: value) {
            tagWriter(&self, .integer16)
            append(value)
        } else if let value = Int32(exactly: value) {
            tagWriter(&self, .integer32)
            append(value)
        } else {
            tagWriter(&self, .integer64)
            append(value)
        }
    }

    @inline(__always)
    mutating func write(_ value: Double, tag tagWriter: (inout EntryWriter, Tag) -> Void) {
        tagWriter(&self, .float)
        append(value.bitPattern)
    }

    /// Forgets what was written behind `count`.
    mutating func truncate(to count: Int) {
        bytes.removeSubrange(count...)
    }

    /// Puts the length of what was written behind `start` before it.
    mutating func prependLength(at start: Int) {
        var prefix = ByteWriter(capacity: 10)
        prefix.writeVarint(UInt64(bytes.count - start))
        bytes.insert(contentsOf: prefix.bytes, at: start)
    }

    mutating func writeVarint(_ value: UInt64) {
        var rest = value
        while rest >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(truncatingIfNeeded: rest))
    }

    // MARK: Objects

    @inline(__always)
    mutating func beginObject() -> Frame {
        Frame(firstField: fields.count, start: bytes.count, referenceCount: referenceCount)
    }

    /// How many fields the innermost object has so far.
    func fieldCount(_ frame: Frame) -> Int { fields.count - frame.firstField }

    @inline(__always)
    mutating func beginField(number: UInt32) {
        fields.append(Field(number: number, start: bytes.count, end: 0))
    }

    mutating func beginField(spelling: UnsafeRawBufferPointer) {
        fields.append(Field(number: FieldName.noNumber, start: bytes.count, end: 0))
        writeVarint(UInt64(spelling.count))
        bytes.append(contentsOf: spelling)
    }

    @inline(__always)
    mutating func endField() {
        fields[fields.count &- 1].end = bytes.count
    }

    /// Takes back the field that was begun last.
    mutating func dropField() {
        guard let field = fields.popLast() else { return }
        truncate(to: field.start)
    }

    /// Ends an object; returns where a field starts whose name comes twice, if one does.
    mutating func endObject(_ frame: Frame, isPartial: Bool = false) -> Int? {
        let range = frame.firstField..<fields.count
        var duplicate: Int?
        if !isSorted(range) { duplicate = sort(range, frame) }
        let length = bytes.count - frame.start
        let endWidth: UInt8 = length <= 0xFF ? 0 : length <= 0xFFFF ? 1 : 2
        var numbered = range.count
        while numbered > 0,
            fields[range.lowerBound &+ numbered &- 1].number == FieldName.noNumber
        { numbered &-= 1 }
        let spelled = range.count - numbered
        for field in fields[range] {
            let end = field.end - frame.start
            switch endWidth {
            case 0: bytes.append(UInt8(truncatingIfNeeded: end))
            case 1: append(UInt16(truncatingIfNeeded: end))
            default: append(UInt32(truncatingIfNeeded: end))
            }
        }
        let hasWideNames = numbered > 0 && fields[range.lowerBound + numbered - 1].number > 0xFF
        for index in range.lowerBound..<range.lowerBound + numbered {
            let number = fields[index].number
            if hasWideNames {
                append(UInt16(truncatingIfNeeded: number))
            } else {
                bytes.append(UInt8(truncatingIfNeeded: number))
            }
        }
        let hasWideCounts = numbered > 0xFF || spelled > 0xFF
        func appendCount(_ count: Int) {
            if hasWideCounts {
                append(UInt32(truncatingIfNeeded: count))
            } else {
                bytes.append(UInt8(truncatingIfNeeded: count))
            }
        }
        if spelled > 0 { appendCount(spelled) }
        appendCount(numbered)
        var flags = endWidth
        if hasWideNames { flags |= ShapeBits.wideNames }
        if spelled > 0 { flags |= ShapeBits.spelled }
        if hasWideCounts { flags |= ShapeBits.wideCounts }
        if isPartial { flags |= ShapeBits.partial }
        if referenceCount > frame.referenceCount { flags |= ShapeBits.references }
        bytes.append(flags)
        fields.removeSubrange(range)
        return duplicate
    }

    /// Notes that something with references was copied as bytes.
    mutating func noteReferences() {
        referenceCount += 1
    }

    private func isSorted(_ range: Range<Int>) -> Bool {
        guard range.count > 1 else { return true }
        for index in range.lowerBound + 1..<range.upperBound {
            let (left, right) = (fields[index - 1].number, fields[index].number)
            if left < right { continue }
            guard left == right, left == FieldName.noNumber,
                compareSpellings(fields[index - 1], fields[index]) < 0
            else { return false }
        }
        return true
    }

    private func compareSpellings(_ left: Field, _ right: Field) -> Int {
        bytes.withUnsafeBytes { bytes in
            UTF8Order.compare(Self.spelling(left, bytes), Self.spelling(right, bytes))
        }
    }

    private static func spelling(
        _ field: Field, _ bytes: UnsafeRawBufferPointer
    ) -> UnsafeRawBufferPointer {
        var reader = ByteReader(bytes, at: field.start)
        guard let length = try? reader.readVarint(),
            let spelling = try? reader.readBytes(Int(length))
        else { preconditionFailure("The writer wrote the name itself.") }
        return spelling
    }

    private mutating func sort(_ range: Range<Int>, _ frame: Frame) -> Int? {
        var sorted = Array(fields[range])
        sorted.sort { left, right in
            if left.number != right.number { return left.number < right.number }
            return left.number == FieldName.noNumber && compareSpellings(left, right) < 0
        }
        var duplicate: Int?
        for index in sorted.indices.dropFirst()
        where sorted[index - 1].number == sorted[index].number
            && (sorted[index].number != FieldName.noNumber
                || compareSpellings(sorted[index - 1], sorted[index]) == 0)
        {
            duplicate = max(sorted[index - 1].start, sorted[index].start)
            break
        }
        var contents: [UInt8] = []
        contents.reserveCapacity(bytes.count - frame.start)
        for (index, field) in sorted.enumerated() {
            let start = frame.start + contents.count
            contents.append(contentsOf: bytes[field.start..<field.end])
            fields[range.lowerBound + index] = Field(
                number: field.number, start: start, end: frame.start + contents.count)
        }
        bytes.replaceSubrange(frame.start..., with: contents)
        return duplicate
    }
}
