import SheafBytes

/// Encoding of objects: the contents, then the tables.
extension EntryWriter {
    @inline(__always)
    mutating func beginObject() -> Level {
        Level(firstField: fields.count, start: count, referenceCount: referenceCount)
    }

    /// Returns the number of fields of the innermost object.
    func fieldCount(_ frame: Level) -> Int { fields.count - frame.firstField }

    @inline(__always)
    mutating func beginField(number: UInt32) {
        fields.append(FieldList.Field(number: number, start: count, end: 0))
    }

    mutating func beginField(spelling: UnsafeRawBufferPointer) {
        hasSpelledFields = true
        spelledNames?.append(Array(spelling))
        fields.append(FieldList.Field(number: FieldName.noNumber, start: count, end: 0))
        writeVarint(UInt64(spelling.count))
        buffer.append(spelling)
    }

    @inline(__always)
    mutating func endField() {
        fields.endLast(at: count)
    }

    /// Removes the last field.
    mutating func dropField() {
        truncate(to: fields[fields.count - 1].start)
        fields.removeLast(1)
    }

    /// Ends an object; returns the offset of a field with a duplicate name, or nil.
    mutating func endObject(_ frame: Level, isPartial: Bool = false) -> Int? {
        let range = frame.firstField..<fields.count
        var duplicate: Int?
        if !isSorted(range) { duplicate = sort(range, frame) }
        let length = count - frame.start
        let endWidth: UInt8 = length <= 0xFF ? 0 : length <= 0xFFFF ? 1 : 2
        let list = fields.slice(range)
        var numbered = range.count
        while numbered > 0, list[numbered &- 1].number == FieldName.noNumber { numbered &-= 1 }
        let spelled = range.count - numbered
        let hasWideNames = numbered > 0 && list[numbered - 1].number > 0xFF
        let hasWideCounts = numbered > 0xFF || spelled > 0xFF
        let start = frame.start
        switch endWidth {
        case 0: buffer.append(list.count) { UInt8(truncatingIfNeeded: list[$0].end &- start) }
        case 1: buffer.append(list.count) { UInt16(truncatingIfNeeded: list[$0].end &- start) }
        default: buffer.append(list.count) { UInt32(truncatingIfNeeded: list[$0].end &- start) }
        }
        if hasWideNames {
            buffer.append(numbered) { UInt16(truncatingIfNeeded: list[$0].number) }
        } else {
            buffer.append(numbered) { UInt8(truncatingIfNeeded: list[$0].number) }
        }
        if spelled > 0 { append(count: spelled, isWide: hasWideCounts) }
        append(count: numbered, isWide: hasWideCounts)
        var flags = endWidth
        if hasWideNames { flags |= ShapeBits.wideNames }
        if spelled > 0 { flags |= ShapeBits.spelled }
        if hasWideCounts { flags |= ShapeBits.wideCounts }
        if isPartial { flags |= ShapeBits.partial }
        if referenceCount > frame.referenceCount { flags |= ShapeBits.references }
        buffer.append(flags)
        fields.removeLast(range.count)
        return duplicate
    }

    private mutating func append(count: Int, isWide: Bool) {
        if isWide {
            buffer.append(UInt32(truncatingIfNeeded: count))
        } else {
            buffer.append(UInt8(truncatingIfNeeded: count))
        }
    }
}

/// Sorting of fields.
extension EntryWriter {
    /// Maximum number of fields for insertion sort.
    private static let insertionLimit = 24

    private func isSorted(_ range: Range<Int>) -> Bool {
        let list = fields.slice(range)
        var index = 1
        while index < list.count {
            guard precedes(list[index &- 1], list[index]) else { return false }
            index &+= 1
        }
        return true
    }

    /// Whether a field precedes another one; false for equal names.
    @inline(__always)
    private func precedes(_ left: FieldList.Field, _ right: FieldList.Field) -> Bool {
        if left.number != right.number { return left.number < right.number }
        return left.number == FieldName.noNumber
            && UTF8Order.compare(spelling(left), spelling(right)) < 0
    }

    private func spelling(_ field: FieldList.Field) -> UnsafeRawBufferPointer {
        var reader = ByteReader(bytes, at: field.start)
        guard let length = try? reader.readVarint(),
            let spelling = try? reader.readBytes(Int(length))
        else { preconditionFailure("The writer wrote the name itself.") }
        return spelling
    }

    /// Sorts the fields and their content; returns the offset of a duplicate name, or nil.
    private mutating func sort(_ range: Range<Int>, _ frame: Level) -> Int? {
        if range.count <= Self.insertionLimit {
            sortByInsertion(range)
        } else {
            sortByMerging(range)
        }
        let duplicate = range.dropFirst().first { !precedes(fields[$0 - 1], fields[$0]) }
            .map { max(fields[$0 - 1].start, fields[$0].start) }
        let end = count
        for index in range {
            let field = fields[index]
            let start = count - end + frame.start
            buffer.append(copyOf: field.start..<field.end)
            fields[index] = FieldList.Field(
                number: field.number, start: start, end: count - end + frame.start)
        }
        buffer.move(from: end, to: frame.start)
        return duplicate
    }

    private mutating func sortByInsertion(_ range: Range<Int>) {
        for index in range.dropFirst() {
            let field = fields[index]
            var target = index
            while target > range.lowerBound, precedes(field, fields[target - 1]) {
                fields[target] = fields[target - 1]
                target -= 1
            }
            fields[target] = field
        }
    }

    private mutating func sortByMerging(_ range: Range<Int>) {
        let unsorted = range.map { fields[$0] }
        let order = unsorted.indices.sorted { precedes(unsorted[$0], unsorted[$1]) }
        for (offset, index) in order.enumerated() {
            fields[range.lowerBound + offset] = unsorted[index]
        }
    }
}
