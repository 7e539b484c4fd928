package import SheafBytes

/// Reading components as elements.
extension SortKeyReader {
    /// Reads all components but the last, which is an id; returns the range of the id.
    ///
    /// The elements refer to `bytes`. Those of the kind `other` must be decoded.
    package static func readElements(
        _ bytes: UnsafeRawBufferPointer, descending: [Bool],
        into elements: UnsafeMutablePointer<FieldElement>
    ) throws(Malformed) -> Range<Int> {
        // The trailer follows all components, which store no length, so they are skipped first.
        var finder = SortKeyReader(bytes: bytes, trailerStart: 0)
        let count = descending.count - 1
        for index in 0..<count { try finder.skipComponent(descending[index]) }
        let start = finder.offset
        try finder.skipComponent(false)
        var reader = SortKeyReader(bytes: bytes, trailerStart: finder.offset)
        for index in 0..<count {
            reader.mask = descending[index] ? 0xFF : 0
            (elements + index).initialize(to: try reader.nextElement())
        }
        return start..<finder.offset
    }

    private mutating func nextElement() throws(Malformed) -> FieldElement {
        let tag = try readTag()
        switch tag {
        case .missing: return FieldElement(.missing)
        case .null: return FieldElement(.null)
        case .no: return FieldElement(.no)
        case .yes: return FieldElement(.yes)
        case .number: return FieldElement(plain: try readNumber())
        case .string:
            let start = offset
            guard mask == 0, let end = plainEnd() else {
                try skipText()
                return FieldElement(.other)
            }
            offset = end + 1
            return FieldElement(text: UnsafeRawBufferPointer(rebasing: bytes[start..<end]))
        case .bytes:
            try skipText()
            return FieldElement(.other)
        case .array, .object, .end:
            // The trailer has a form for each nested number, so the value is read to count them.
            _ = try readValue(tag, depth: 0)
            return FieldElement(.other)
        }
    }
}

/// Reading a part of an encoded id.
extension SortKeyReader {
    /// Creates a reader at the value of a path in an encoded id; nil if there is none.
    ///
    /// Each name is an encoded component. Numbers of ids are integers, so ids have no trailer.
    init?(
        id bytes: UnsafeRawBufferPointer, at names: [[UInt8]]
    ) throws(Malformed) {
        self.init(bytes: bytes, trailerStart: bytes.count)
        for name in names {
            guard try readTag() == .object, try seek(name) else { return nil }
        }
    }

    /// Moves to the value of a field of the current object; returns false if it has none.
    private mutating func seek(_ name: [UInt8]) throws(Malformed) -> Bool {
        while offset < bytes.count, bytes[offset] == SortKey.Tag.string.rawValue {
            let end = offset + name.count
            if end <= bytes.count,
                name.span.withUnsafeBytes({
                    $0.elementsEqual(UnsafeRawBufferPointer(rebasing: bytes[offset..<end]))
                })
            {
                offset = end
                return true
            }
            try skipComponent(false)
            try skipComponent(false)
        }
        return false
    }

    /// Returns the current value as an element, which is `other` if it must be decoded.
    mutating func element() throws(Malformed) -> FieldElement {
        switch try readTag() {
        case .string:
            guard let end = plainEnd() else { return FieldElement(.other) }
            return FieldElement(text: UnsafeRawBufferPointer(rebasing: bytes[offset..<end]))
        case .number: return FieldElement(plain: try readNumber())
        case .no: return FieldElement(.no)
        case .yes: return FieldElement(.yes)
        default: return FieldElement(.other)
        }
    }

    /// Returns the current value.
    mutating func value() throws(Malformed) -> Value { try readValue(try readTag(), depth: 0) }
}
