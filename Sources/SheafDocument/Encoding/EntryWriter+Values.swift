import SheafBytes

/// Encoding of values, with or without a stamp.
extension EntryWriter {
    /// Writes a value without a stamp, as an element of an array, object or token.
    mutating func write(_ value: Value, _ names: NameTable) {
        write(value, marked: nil, names)
    }

    /// Writes a register.
    @inline(__always)
    mutating func write(_ value: Value, at stamp: Stamp, _ names: NameTable) {
        write(value, marked: stamp, names)
    }

    private mutating func write(_ value: Value, marked stamp: Stamp?, _ names: NameTable) {
        switch value {
        case .null: write(.null, marked: stamp)
        case .bool(let value): write(value ? .yes : .no, marked: stamp)
        case .integer(let value): write(value, marked: stamp)
        case .float(let value): write(value, marked: stamp)
        case .string(let value):
            write(.string, marked: stamp)
            value.withRawUTF8 { write($0) }
        case .bytes(let value):
            write(.bytes, marked: stamp)
            value.withUnsafeBytes { write($0) }
        case .array(let values):
            write(.array, marked: stamp)
            let frame = beginArray()
            values.withUnsafeBufferPointer { values in
                for index in values.indices {
                    write(values[index], marked: nil, names)
                    endElement(frame)
                }
            }
            endArray(frame)
        case .object(let object):
            write(.object, marked: stamp)
            let frame = beginObject()
            object.withFields { fields in
                for index in fields.indices {
                    beginField(fields[index].name, names)
                    write(fields[index].value, marked: nil, names)
                    endField()
                }
            }
            _ = endObject(frame)
        }
    }

    /// Ends an array whose elements end at the given offsets.
    mutating func endArray(_ ends: [Int]) {
        endArray(ends.count, last: ends.last ?? 0) { ends[$0] }
    }

    /// Begins an array whose elements `endElement` ends.
    @inline(__always)
    mutating func beginArray() -> Level { beginObject() }

    /// Records that an element of an array ends here.
    ///
    /// Elements are kept as fields without a name: a Swift array would be allocated each time.
    @inline(__always)
    mutating func endElement(_ frame: Level) {
        fields.append(
            FieldList.Field(number: FieldName.noNumber, start: frame.start, end: count))
    }

    /// Ends an array that `beginArray` began.
    mutating func endArray(_ frame: Level) {
        let list = fields.slice(frame.firstField..<fields.count)
        endArray(list.count, last: list.last.map { $0.end - frame.start } ?? 0) {
            list[$0].end - frame.start
        }
        fields.removeLast(list.count)
    }

    @inline(__always)
    private mutating func endArray(_ number: Int, last: Int, end: (Int) -> Int) {
        let width: UInt8 = last <= 0xFF ? 0 : last <= 0xFFFF ? 1 : 2
        switch width {
        case 0: buffer.append(number) { UInt8(truncatingIfNeeded: end($0)) }
        case 1: buffer.append(number) { UInt16(truncatingIfNeeded: end($0)) }
        default: buffer.append(number) { UInt32(truncatingIfNeeded: end($0)) }
        }
        if number > 0xFF {
            append(UInt32(truncatingIfNeeded: number))
            append(width | ShapeBits.wideCounts)
        } else {
            append(UInt8(truncatingIfNeeded: number))
            append(width)
        }
    }

    /// Begins a field; its name is written as a number if it has one.
    @inline(__always)
    mutating func beginField(_ name: String, _ names: NameTable) {
        name.withRawUTF8 { beginField($0, names) }
    }

    /// Begins a field; its name is written as a number if it has one.
    @inline(__always)
    mutating func beginField(_ spelling: UnsafeRawBufferPointer, _ names: NameTable) {
        // Names often occur in the order of their numbers.
        if let number = names.number(of: spelling, guess: nextNumber) {
            nextNumber = Int(number) + 1
            beginField(number: UInt32(number))
        } else {
            beginField(spelling: spelling)
        }
    }
}
