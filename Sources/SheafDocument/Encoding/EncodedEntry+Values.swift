package import SheafBytes

/// The visible value of an entry.
extension EncodedEntry {
    /// Returns the first visible entry of the field; nil if none is visible.
    @inline(__always)
    package func shown() throws(Malformed) -> EncodedEntry? {
        let tag = rawTag & ~Tag.referenceBit
        if tag < Tag.bareMap.rawValue { return self }
        return try shownUnusually()
    }

    private func shownUnusually() throws(Malformed) -> EncodedEntry? {
        switch try tag() {
        case .bareMap: return try isVisible() ? self : nil
        case .several:
            var entries = try several()
            while let entry = try entries.next() {
                if try entry.isVisible() { return entry }
            }
            return nil
        case .overrides, .empty, .noRoot: return nil
        default: return self
        }
    }

    /// Whether the entry has visible content.
    func isVisible(depth: Int = 1) throws(Malformed) -> Bool {
        switch try tag() {
        case .overrides, .empty, .noRoot: return false
        case .bareMap:
            guard depth < Value.maximumDepth else {
                throw .tooDeep(at: start, limit: Value.maximumDepth)
            }
            let fields = try object()
            for index in 0..<fields.count
            where try fields.entry(index).isVisible(depth: depth + 1) {
                return true
            }
            return false
        case .several:
            return try containsEntry { (entry) throws(Malformed) in
                try entry.isVisible(depth: depth)
            }
        default: return true
        }
    }

    /// Whether the entry is this string.
    @inline(__always)
    package func isString(_ text: UnsafeRawBufferPointer) throws(Malformed) -> Bool {
        guard rawTag & ~Tag.referenceBit == Tag.string.rawValue else { return false }
        let range = try payload()
        guard range.count == text.count, let other = text.baseAddress else {
            return range.isEmpty && text.isEmpty
        }
        return equalBytes(base + range.lowerBound, other, range.count)
    }

    /// Returns the number of an entry; nil for other types.
    @inline(__always)
    package func number() throws(Malformed) -> Number? {
        let range = try payload()
        func load<Integer: FixedWidthInteger>(_: Integer.Type) throws(Malformed) -> Integer {
            guard range.count == MemoryLayout<Integer>.size else { throw .truncated(at: start) }
            return Integer(
                littleEndian: base.loadUnaligned(
                    fromByteOffset: range.lowerBound, as: Integer.self))
        }
        switch rawTag & ~Tag.referenceBit {
        case Tag.integer8.rawValue: return .integer(Int64(try load(Int8.self)))
        case Tag.integer16.rawValue: return .integer(Int64(try load(Int16.self)))
        case Tag.integer32.rawValue: return .integer(Int64(try load(Int32.self)))
        case Tag.integer64.rawValue: return .integer(try load(Int64.self))
        case Tag.float.rawValue: return .float(Double(bitPattern: try load(UInt64.self)))
        default: return nil
        }
    }

    /// Decodes an entry with a tag from 1 to 12; `depth` counts the entry and its containers.
    func plainValue(_ names: NameTable, depth: Int = 1) throws(Malformed) -> Value {
        if let number = try number() { return number.value }
        switch try tag() {
        case .null: return .null
        case .no: return .bool(false)
        case .yes: return .bool(true)
        case .string: return .string(try text(try payloadBytes(), at: start))
        case .bytes: return .bytes(Array(try payloadBytes()))
        case .array:
            guard depth <= Value.maximumDepth else {
                throw .tooDeep(at: start, limit: Value.maximumDepth)
            }
            let array = try array()
            var values: [Value] = []
            values.reserveCapacity(array.count)
            for index in 0..<array.count {
                values.append(try array.element(index).plainValue(names, depth: depth + 1))
            }
            return .array(values)
        case .object:
            guard depth <= Value.maximumDepth else {
                throw .tooDeep(at: start, limit: Value.maximumDepth)
            }
            return .object(
                try object().decode(names) { (entry) throws(Malformed) -> Value? in
                    try entry.plainValue(names, depth: depth + 1)
                })
        default: throw .unexpected(rawTag, at: start)
        }
    }

    /// Returns the visible value of a field; nil if there is none.
    package func value(_ names: NameTable, depth: Int = 1) throws(Malformed) -> Value? {
        guard let shown = try shown(), let tag = Tag(rawValue: shown.rawTag & ~Tag.referenceBit)
        else { return nil }
        switch tag {
        case .token: return try shown.inner().plainValue(names, depth: depth)
        case .map, .bareMap, .mark:
            guard tag != .mark else { return .object(Object()) }
            guard depth <= Value.maximumDepth else {
                throw .tooDeep(at: start, limit: Value.maximumDepth)
            }
            return .object(try shown.object().value(names, depth: depth))
        case .restart, .sum: return try counter().value
        case .olderSum: return try olderCounter().value
        default: return try shown.plainValue(names, depth: depth)
        }
    }

    /// Calls `body` with each entry of a field.
    func forEachEntry(_ body: (EncodedEntry) throws(Malformed) -> Void) throws(Malformed) {
        _ = try containsEntry { (entry) throws(Malformed) in
            try body(entry)
            return false
        }
    }

    /// Whether an entry of a field satisfies a predicate; stops at the first one.
    func containsEntry(
        where isWanted: (EncodedEntry) throws(Malformed) -> Bool
    ) throws(Malformed) -> Bool {
        guard try tag() == .several else { return try isWanted(self) }
        var entries = try several()
        while let entry = try entries.next() {
            guard try entry.tag() != .several else {
                throw .unexpected(entry.rawTag, at: entry.start)
            }
            if try isWanted(entry) { return true }
        }
        return false
    }
}

extension EncodedObject {
    /// Returns the visible fields of the map.
    package func value(_ names: NameTable, depth: Int = 1) throws(Malformed) -> Object {
        try decode(names) { (entry) throws(Malformed) -> Value? in
            try entry.value(names, depth: depth + 1)
        }
    }

    /// Decodes the name of a field; throws if `names` lacks its number.
    package func name(_ index: Int, _ names: NameTable) throws(Malformed) -> String {
        guard index < numberedCount else {
            return try text(try spellingBytes(index), at: try content(index).lowerBound)
        }
        let number = Int(nameNumber(index))
        guard let name = names.name(number) else {
            throw .tooLong(at: namesAt, length: UInt64(number), limit: UInt64(names.count))
        }
        return name
    }

    fileprivate func decode(
        _ names: NameTable, _ value: (EncodedEntry) throws(Malformed) -> Value?
    ) throws(Malformed) -> Object {
        var fields: [Object.Field] = []
        fields.reserveCapacity(count)
        for index in 0..<count {
            guard let value = try value(try entry(index)) else { continue }
            fields.append(Object.Field(try name(index, names), value))
        }
        return Object(sorting: fields)
    }
}

/// Decodes UTF-8; the error for invalid bytes has `offset`.
func text(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(Malformed) -> String {
    let string = bytes.withMemoryRebound(to: UInt8.self) { bytes -> String? in
        guard let text = try? UTF8Span(validating: bytes.span) else { return nil }
        return String(copying: text)
    }
    guard let string else { throw .notText(at: offset) }
    return string
}

/// Whether bytes are valid UTF-8.
func isUTF8(_ bytes: UnsafeRawBufferPointer) -> Bool {
    bytes.withMemoryRebound(to: UInt8.self) { (try? UTF8Span(validating: $0.span)) != nil }
}
