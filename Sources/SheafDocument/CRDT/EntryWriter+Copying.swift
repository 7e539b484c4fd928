import SheafBytes

/// Where entries are copied from.
struct CopySource<Stamps: StampSource> {
    let stamps: Stamps
    /// The stamp of entries there that have none of their own.
    let root: Stamp?
}

/// Copying entries of another document: references are others there.
extension EntryWriter {
    /// Copies an entry with everything in it.
    @inline(__always)
    mutating func copy(
        _ entry: EncodedEntry, from source: CopySource<some StampSource>, depth: Int
    ) throws(Malformed) {
        // Most fields are as old as the root, and then their bytes are the same everywhere.
        if entry.rawTag <= Tag.token.rawValue, source.root == rootStamp, rootStamp != nil {
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
            write(UnsafeRawBufferPointer(start: number.base + number.start, count: number.end - number.start))
        default:
            write(tag, at: try entry.stamp(source.stamps, root: source.root))
            write(try entry.payloadBytes())
        }
    }

    /// Begins a field with the name of another one.
    mutating func beginField(_ index: Int, of object: EncodedObject) throws(Malformed) {
        if index < object.numberedCount {
            beginField(number: object.nameNumber(index))
        } else {
            beginField(spelling: try object.spellingBytes(index))
        }
    }
}

extension EncodedEntry {
    /// The latest stamp of anything in an entry; none where there are only notes.
    func latestStamp(
        _ source: CopySource<some StampSource>, depth: Int
    ) throws(Malformed) -> Stamp? {
        let tag = try tag()
        var latest = tag.hasStamp ? try stamp(source.stamps, root: source.root) : nil
        func note(_ stamp: Stamp?) {
            if let stamp { latest = max(latest ?? stamp, stamp) }
        }
        switch tag {
        case .map, .bareMap:
            guard depth < Value.maximumDepth else {
                throw .tooDeep(at: start, limit: Value.maximumDepth)
            }
            let object = try object()
            for index in 0..<object.count {
                note(try object.entry(index).latestStamp(source, depth: depth + 1))
            }
        case .several:
            try forEachEntry { (entry) throws(Malformed) in
                note(try entry.latestStamp(source, depth: depth))
            }
        default: break
        }
        return latest
    }
}
