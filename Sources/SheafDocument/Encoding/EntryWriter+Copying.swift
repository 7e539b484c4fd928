import SheafBytes

/// The stamps of the document that entries are copied from.
struct CopySource<Stamps: StampSource> {
    let stamps: Stamps
    /// Stamp of entries without a reference.
    let root: Stamp?
}

/// Copies entries of another document and rewrites their references.
extension EntryWriter {
    /// Whether entries without references can be copied byte by byte, as the root stamps are equal.
    func copiesPlainly(from source: CopySource<some StampSource>) -> Bool {
        rootStamp != nil && source.root == rootStamp
    }

    /// Copies plain fields from `index` on with name numbers below `limit`; returns their count.
    mutating func copyPlainFields(
        _ index: Int, of object: EncodedObject, below limit: Int
    ) throws(Malformed) -> Int {
        let (base, end, count) = (object.base, object.endsAt, object.numberedCount)
        let first = index == 0 ? object.start : object.start &+ object.end(index &- 1)
        let shift = self.count &- first
        var (next, lower) = (index, first)
        fields.reserve(count &- index)
        while next < count {
            let number = object.nameNumber(next)
            guard Int(number) < limit else { break }
            let upper = object.start &+ object.end(next)
            guard lower < upper, upper <= end else { throw .truncated(at: lower) }
            guard EncodedEntry.isPlain(base, lower, upper) else { break }
            fields.appendReserved(
                FieldList.Field(number: number, start: lower &+ shift, end: upper &+ shift))
            lower = upper
            next &+= 1
        }
        write(UnsafeRawBufferPointer(start: base + first, count: lower &- first))
        return next &- index
    }

    /// Copies an entry with all its content.
    mutating func copy(
        _ entry: EncodedEntry, from source: CopySource<some StampSource>, depth: Int
    ) throws(Malformed) {
        // Most entries share the root stamp and are then copied byte by byte.
        if entry.isPlain, copiesPlainly(from: source) {
            return write(
                UnsafeRawBufferPointer(
                    start: entry.base + entry.start, count: entry.end &- entry.start))
        }
        try copyReferring(entry, from: source, depth: depth)
    }

    private mutating func copyReferring(
        _ entry: EncodedEntry, from source: CopySource<some StampSource>, depth: Int
    ) throws(Malformed) {
        let tag = try entry.tag()
        if tag.rawValue <= Tag.token.rawValue {
            write(tag, at: try entry.stamp(source.stamps, root: source.root))
            return write(try entry.payloadBytes())
        }
        try copyUnusual(entry, tag, from: source, depth: depth)
    }

    private mutating func copyUnusual(
        _ entry: EncodedEntry, _ tag: Tag, from source: CopySource<some StampSource>, depth: Int
    ) throws(Malformed) {
        switch tag {
        case .bareMap, .map:
            guard depth < Value.maximumDepth else {
                throw .tooDeep(at: entry.start, limit: Value.maximumDepth)
            }
            let object = try entry.object()
            if tag == .map {
                write(tag, at: try entry.stamp(source.stamps, root: source.root))
            } else {
                write(tag)
            }
            if !object.hasReferences, source.root == rootStamp {
                return write(try entry.payloadBytes())
            }
            let frame = beginObject()
            for index in 0..<object.count {
                try beginField(index, of: object)
                try copy(try object.entry(index), from: source, depth: depth + 1)
                endField()
            }
            _ = endObject(frame, isPartial: object.isPartial)
        case .several:
            write(tag)
            var entries = try entry.several()
            while let entry = try entries.next() {
                guard try entry.tag() != .several else {
                    throw .unexpected(entry.rawTag, at: entry.start)
                }
                let start = count
                try copyReferring(entry, from: source, depth: depth)
                prependLength(at: start)
            }
        case .overrides, .empty:
            write(tag)
            write(try entry.payloadBytes())
        case .noRoot:
            throw .unexpected(entry.rawTag, at: entry.start)
        case .sum:
            write(tag, at: try entry.stamp(source.stamps, root: source.root))
            writeReference(to: try source.stamps.stamp(try entry.epochReference()))
            let number = try entry.inner(skipping: entry.referenceWidth)
            write(
                UnsafeRawBufferPointer(
                    start: number.base + number.start, count: number.end - number.start))
        default:
            write(tag, at: try entry.stamp(source.stamps, root: source.root))
            write(try entry.payloadBytes())
        }
    }

    /// Begins a field with the name of a field in another object.
    mutating func beginField(_ index: Int, of object: EncodedObject) throws(Malformed) {
        if index < object.numberedCount {
            beginField(number: object.nameNumber(index))
        } else {
            beginField(spelling: try object.spellingBytes(index))
        }
    }
}

extension EncodedEntry {
    /// Whether the entry is a value, token or map without references, even in its content.
    var isPlain: Bool { Self.isPlain(base, start, end) }

    @inline(__always)
    static func isPlain(_ base: UnsafeRawPointer, _ start: Int, _ end: Int) -> Bool {
        let tag = base.load(fromByteOffset: start, as: UInt8.self)
        if tag <= Tag.token.rawValue { return true }
        // The flags in the last byte of a map indicate whether its content has references.
        return tag <= Tag.bareMap.rawValue && end &- start > 2
            && base.load(fromByteOffset: end &- 1, as: UInt8.self) & ShapeBits.references == 0
    }

    /// Returns the latest stamp in an entry; nil if it has only annotations.
    func latestStamp(
        _ source: CopySource<some StampSource>, depth: Int
    ) throws(Malformed) -> Stamp? {
        let tag = try tag()
        var latest = tag.hasStamp ? try stamp(source.stamps, root: source.root) : nil
        func include(_ stamp: Stamp?) {
            if let stamp { latest = max(latest ?? stamp, stamp) }
        }
        switch tag {
        case .map, .bareMap:
            guard depth < Value.maximumDepth else {
                throw .tooDeep(at: start, limit: Value.maximumDepth)
            }
            let object = try object()
            for index in 0..<object.count {
                include(try object.entry(index).latestStamp(source, depth: depth + 1))
            }
        case .several:
            try forEachEntry { (entry) throws(Malformed) in
                include(try entry.latestStamp(source, depth: depth))
            }
        default: break
        }
        return latest
    }
}
