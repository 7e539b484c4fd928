import SheafBytes

/// Fast path for edits of a short document that replace or add few values at its root.
///
/// The new state is written from the old one. It is the join of the old state with the delta of
/// `DocumentEditor`, which need not exist then.
package struct PlainReplacement: ~Copyable {
    private static let maximumCount = 8
    /// Values are shorter than attachment ids, so none of them can be part of a token.
    private static let maximumTextLength = 63

    /// The memory of each state in turn, with references of one byte.
    private var writer = EntryWriter(
        stamps: StampTable(VersionVector()), referenceWidth: 1, capacity: 1 << 12)

    package init() {}

    /// Returns the state after edits at `stamp`, with the version vector before them as its base.
    ///
    /// Returns nil if the fast path does not apply.
    package mutating func state(
        after edits: [Edit], in bytes: UnsafeRawBufferPointer, at stamp: Stamp, _ names: NameTable
    ) throws(DocumentError) -> [UInt8]? {
        guard !edits.isEmpty, edits.count <= Self.maximumCount else { return nil }
        return try onBytes { () throws(Malformed) in
            let document = try EncodedDocument(bytes)
            let root = document.root
            guard !document.isPartial, root.rawTag == Tag.map.rawValue | Tag.referenceBit,
                try document.deletion() == nil
            else { return nil }
            let fields = try root.object()
            guard fields.count == fields.numberedCount else { return nil }
            let header = try document.header()
            guard header.time(of: stamp.site) < stamp.time else { return nil }
            let source = CopySource(
                stamps: header, root: try header.rootStamp(readingTo: bytes.count))
            guard let order = try Self.sorted(edits, in: fields, source, names) else { return nil }
            return try write(edits, order, in: fields, source, at: stamp, names)
        }
    }

    /// Returns the edits in the order of their name numbers; nil if the fast path does not apply.
    private static func sorted(
        _ edits: [Edit], in fields: EncodedObject, _ source: CopySource<EncodedHeader>,
        _ names: NameTable
    ) throws(Malformed) -> [(number: UInt32, edit: Int)]? {
        var order: [(number: UInt32, edit: Int)] = []
        order.reserveCapacity(edits.count)
        for (index, edit) in edits.enumerated() {
            guard case .set(let path, let value, let mode) = edit, path.count == 1,
                mode != .attachment, isBrief(value),
                let known = path[0].withRawUTF8({ names.number(of: $0) })
            else { return nil }
            let number = UInt32(known)
            if let found = fields.index(ofNumber: number) {
                let entry = try fields.entry(found)
                // Removing a seed requires an override.
                guard try entry.tag().isValue,
                    try entry.stamp(source.stamps, root: source.root) != .initial
                else { return nil }
            }
            let place = order.firstIndex { $0.number >= number } ?? order.count
            guard place == order.count || order[place].number != number else { return nil }
            order.insert((number, index), at: place)
        }
        return order
    }

    private static func isBrief(_ value: Value) -> Bool {
        switch value {
        case .null, .bool, .integer, .float: true
        case .string(let text): text.utf8.count <= maximumTextLength
        case .bytes, .array, .object: false
        }
    }

    /// Returns the new state; nil if references need more than one byte.
    private mutating func write(
        _ edits: [Edit], _ order: [(number: UInt32, edit: Int)], in fields: EncodedObject,
        _ source: CopySource<EncodedHeader>, at stamp: Stamp, _ names: NameTable
    ) throws(Malformed) -> [UInt8]? {
        let base = try source.stamps.vector()
        var vector = base
        vector.record(stamp)
        writer.restart()
        writer.stamps = StampTable(vector)
        try writer.writeRoot(mark: source.root, isPartial: false) {
            (writer) throws(Malformed) in
            let frame = writer.beginObject()
            var next = 0
            for (number, edit) in order {
                next = try writer.copyFields(from: next, of: fields, below: number, source)
                if next < fields.count, fields.nameNumber(next) == number { next += 1 }
                guard case .set(_, let value, _) = edits[edit] else { continue }
                writer.beginField(number: number)
                writer.write(value, at: stamp, names)
                writer.endField()
            }
            _ = try writer.copyFields(from: next, of: fields, below: FieldName.noNumber, source)
            let count = writer.fieldCount(frame)
            _ = writer.endObject(frame)
            return count
        }
        guard !writer.hasOverflown else { return nil }
        return DocumentWriter.assemble(&writer, base: base, deletion: nil, isPartial: false)
    }
}

extension EntryWriter {
    /// Copies numbered fields from `index` on with name numbers below `limit`.
    ///
    /// Returns the index of the first field that is not copied.
    fileprivate mutating func copyFields(
        from index: Int, of object: EncodedObject, below limit: UInt32,
        _ source: CopySource<EncodedHeader>
    ) throws(Malformed) -> Int {
        var next = index
        while true {
            next += try copyPlainFields(next, of: object, below: Int(limit))
            guard next < object.count, object.nameNumber(next) < limit else { return next }
            // The next field has a stamp of its own.
            beginField(number: object.nameNumber(next))
            try copy(try object.entry(next), from: source, depth: 1)
            endField()
            next += 1
        }
    }
}
