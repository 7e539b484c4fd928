package import SheafBytes

extension EncodedDocument {
    /// Returns the document with the name numbers of another table.
    ///
    /// Names without a number in that table are spelled out.
    package func renamed(
        from names: NameTable, to others: NameTable
    ) throws(Malformed) -> [UInt8] {
        let header = try header()
        let base = flags & HeaderBits.base == 0 ? nil : try header.baseVector()
        let source = CopySource(
            stamps: header, root: try header.rootStamp(readingTo: bytes.count))
        return try rewritten(
            from: names, to: others, source, vector: try header.vector(), base: base)
    }

    /// Returns the document with the given version vector and base, and the stamps of `source`.
    func rewritten(
        from names: NameTable, to others: NameTable, _ source: CopySource<some StampSource>,
        vector: VersionVector, base: VersionVector?
    ) throws(Malformed) -> [UInt8] {
        let renaming = Renaming(names: names, others: others, source: source)
        return try DocumentWriter.write(
            vector: vector, base: base, deletion: try header().deletion(),
            isPartial: isPartial, capacity: bytes.count + 64
        ) { (writer) throws(Malformed) in
            guard try root.tag() != .noRoot else { return writer.write(.noRoot) }
            // The root always has a reference to its stamp.
            writer.rootStamp = nil
            try renaming.write(root, isRoot: true, depth: 0, into: &writer)
        }
    }
}

/// A rewriter of entries with other name numbers.
struct Renaming<Stamps: StampSource> {
    let names: NameTable
    let others: NameTable
    let source: CopySource<Stamps>

    func write(
        _ entry: EncodedEntry, isRoot: Bool = false, depth: Int, into writer: inout EntryWriter
    ) throws(Malformed) {
        let tag = try entry.tag()
        switch tag {
        case .map, .bareMap:
            guard depth < Value.maximumDepth else {
                throw .tooDeep(at: entry.start, limit: Value.maximumDepth)
            }
            if tag == .map {
                writer.write(tag, at: try entry.stamp(source.stamps, root: source.root))
                if isRoot { writer.rootStamp = source.root }
            } else {
                writer.write(tag)
            }
            let object = try entry.object()
            try writeFields(object, into: &writer) { (entry, writer) throws(Malformed) in
                try write(entry, depth: depth + 1, into: &writer)
            }
        case .several:
            writer.write(tag)
            var entries = try entry.several()
            while let entry = try entries.next() {
                guard try entry.tag() != .several else {
                    throw .unexpected(entry.rawTag, at: entry.start)
                }
                let start = writer.count
                if isRoot { writer.rootStamp = nil }
                try write(entry, isRoot: isRoot, depth: depth, into: &writer)
                writer.prependLength(at: start)
            }
            if isRoot { writer.rootStamp = source.root }
        case .token:
            writer.write(tag, at: try entry.stamp(source.stamps, root: source.root))
            let value = try entry.inner()
            writer.write(try value.tag())
            try writePayload(of: value, depth: depth, into: &writer)
        case .array, .object:
            writer.write(tag, at: try entry.stamp(source.stamps, root: source.root))
            try writePayload(of: entry, depth: depth, into: &writer)
        default:
            try writer.copy(entry, from: source, depth: depth)
        }
    }

    /// Writes the payload of a value.
    private func writePayload(
        of value: EncodedEntry, depth: Int, into writer: inout EntryWriter
    ) throws(Malformed) {
        let tag = try value.tag()
        guard depth < Value.maximumDepth || tag != .array && tag != .object else {
            throw .tooDeep(at: value.start, limit: Value.maximumDepth)
        }
        switch tag {
        case .array:
            let array = try value.array()
            let start = writer.count
            var ends: [Int] = []
            ends.reserveCapacity(array.count)
            for index in 0..<array.count {
                let element = try array.element(index)
                writer.write(try element.tag())
                try writePayload(of: element, depth: depth + 1, into: &writer)
                ends.append(writer.count - start)
            }
            writer.endArray(ends)
        case .object:
            try writeFields(try value.object(), into: &writer) {
                (entry, writer) throws(Malformed) in
                writer.write(try entry.tag())
                try writePayload(of: entry, depth: depth + 1, into: &writer)
            }
        default: writer.write(try value.payloadBytes())
        }
    }

    /// Writes fields in order of their new numbers, since stamps are numbered by first use.
    private func writeFields(
        _ object: EncodedObject, into writer: inout EntryWriter,
        _ write: (EncodedEntry, inout EntryWriter) throws(Malformed) -> Void
    ) throws(Malformed) {
        var order: [(number: UInt32, spelling: [UInt8], index: Int)] = []
        order.reserveCapacity(object.count)
        for index in 0..<object.count {
            let spelling = Array(try object.name(index, names).utf8)
            let number = others.number(of: spelling).map(UInt32.init) ?? FieldName.noNumber
            order.append((number, spelling, index))
        }
        order.sort { left, right in
            left.number != right.number
                ? left.number < right.number
                : left.spelling.withUnsafeBytes { left in
                    right.spelling.withUnsafeBytes { UTF8Order.compare(left, $0) < 0 }
                }
        }
        let frame = writer.beginObject()
        for (number, spelling, index) in order {
            if number == FieldName.noNumber {
                spelling.withUnsafeBytes { writer.beginField(spelling: $0) }
            } else {
                writer.beginField(number: number)
            }
            try write(try object.entry(index), &writer)
            writer.endField()
        }
        guard writer.endObject(frame, isPartial: object.isPartial) == nil else {
            throw .invalid("a duplicate name", at: object.namesAt)
        }
    }
}
