import SheafBytes

/// Checks documents that are like most, and leaves all others to the validator.
///
/// Those are states that one site wrote at once, whose fields hold plain values and maps of them. It writes nothing anew, and so takes a tenth of the time. What it takes for right the validator does, too.
struct QuickCheck {
    private let base: UnsafeRawPointer
    private let document: EncodedDocument
    /// How many names have numbers.
    private let nameCount: Int

    /// Whether a document is right beyond doubt.
    static func passes(_ document: EncodedDocument, _ names: NameTable) -> Bool {
        guard document.flags == 0, document.bytes.count <= EncodedDocument.maximumLength else {
            return false
        }
        return (try? QuickCheck(document, names.count).isRight()) ?? false
    }

    private init(_ document: EncodedDocument, _ nameCount: Int) {
        self.document = document
        self.nameCount = nameCount
        base = document.base
    }

    private func isRight() throws(Malformed) -> Bool {
        let header = try document.header()
        guard header.olderCount == 0, header.siteCount > 0,
            document.rootStart == 3 + header.siteCount * EncodedHeader.siteLength
        else { return false }
        for index in 0..<header.siteCount {
            guard header.time(index) > .initial, header.site(index) > .initial,
                index == 0 || header.site(index - 1) < header.site(index)
            else { return false }
        }
        // The root refers to the latest write of a site.
        let root = document.root
        guard root.rawTag == Tag.map.rawValue | Tag.referenceBit,
            document.bytes.count - document.rootStart > 3,
            Int(base.load(fromByteOffset: document.rootStart + 1, as: UInt8.self))
                < header.siteCount
        else { return false }
        return try areRight(try root.object(), depth: 1)
    }

    private func areRight(_ object: EncodedObject, depth: Int) throws(Malformed) -> Bool {
        // Names that are all spelled or all numbered, counts of one byte, ends of the fewest bytes, no
        // references.
        let isNumbered = object.numberedCount > 0
        guard depth <= Value.maximumDepth, !isNumbered || object.numberedCount == object.count
        else { return false }
        var shape: UInt8 = object.count == 0 || isNumbered ? 0 : ShapeBits.spelled
        if isNumbered, object.nameNumber(object.count - 1) > 0xFF { shape |= ShapeBits.wideNames }
        guard object.flags & ~ShapeBits.endWidth == shape else { return false }
        let length = object.endsAt - object.start
        let width = length <= 0xFF ? 0 : length <= 0xFFFF ? 1 : 2
        guard Int(object.flags & ShapeBits.endWidth) == width else { return false }
        guard object.count > 0 else { return length == 0 }
        guard object.end(object.count - 1) == length else { return false }
        if isNumbered { return try areRight(numbered: object, depth: depth) }
        var last: Range<Int>?
        for index in 0..<object.count {
            let content = try object.content(index)
            let name = try object.spelling(content)
            guard name.upperBound < content.upperBound, isText(name) else { return false }
            if let last, UTF8Order.compare(bytes(last), bytes(name)) >= 0 { return false }
            last = name
            guard try isRight(try object.entry(index), depth: depth) else { return false }
        }
        return true
    }

    private func areRight(numbered object: EncodedObject, depth: Int) throws(Malformed) -> Bool {
        guard object.nameNumber(object.count - 1) < nameCount else { return false }
        for index in 0..<object.count {
            if index > 0, object.nameNumber(index - 1) >= object.nameNumber(index) { return false }
            guard try isRight(try object.entry(index), depth: depth) else { return false }
        }
        return true
    }

    private func isRight(_ entry: EncodedEntry, depth: Int) throws(Malformed) -> Bool {
        let payload = entry.start + 1..<entry.end
        func load<Integer: FixedWidthInteger>(_: Integer.Type) -> Integer {
            Integer(
                littleEndian: base.loadUnaligned(
                    fromByteOffset: payload.lowerBound, as: Integer.self))
        }
        switch entry.rawTag {
        case Tag.null.rawValue, Tag.no.rawValue, Tag.yes.rawValue: return payload.isEmpty
        case Tag.integer8.rawValue: return payload.count == 1
        case Tag.integer16.rawValue:
            return payload.count == 2 && Int8(exactly: load(Int16.self)) == nil
        case Tag.integer32.rawValue:
            return payload.count == 4 && Int16(exactly: load(Int32.self)) == nil
        case Tag.integer64.rawValue:
            return payload.count == 8 && Int32(exactly: load(Int64.self)) == nil
        case Tag.float.rawValue: return payload.count == 8
        case Tag.string.rawValue: return isText(payload)
        case Tag.bytes.rawValue: return true
        case Tag.map.rawValue: return try areRight(try entry.object(), depth: depth + 1)
        default: return false
        }
    }

    private func bytes(_ range: Range<Int>) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: base + range.lowerBound, count: range.count)
    }

    /// Whether some bytes are UTF-8; most texts are ASCII.
    private func isText(_ range: Range<Int>) -> Bool {
        let text = bytes(range)
        var position = 0
        while position + 8 <= text.count {
            let word = text.loadUnaligned(fromByteOffset: position, as: UInt64.self)
            if word & 0x8080_8080_8080_8080 != 0 { return isUnusualText(text) }
            position += 8
        }
        while position < text.count {
            if text[position] >= 0x80 { return isUnusualText(text) }
            position += 1
        }
        return true
    }

    private func isUnusualText(_ text: UnsafeRawBufferPointer) -> Bool {
        String(validating: text, as: UTF8.self) != nil
    }
}
