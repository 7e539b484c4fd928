package import SheafBytes

/// An encoder of new documents and tombstones.
package enum Insertion {
    /// Returns the state of a new document; objects in it become maps.
    package static func document(
        _ object: Object, at stamp: Stamp, _ names: NameTable
    ) throws(DocumentError) -> [UInt8] {
        try checkDepth(of: object)
        let covered = stamp == .initial ? initialStamp(object) : stamp
        return try onBytes { () throws(Malformed) in
            try document(at: stamp, noting: covered, capacity: 256) {
                (writer) throws(Malformed) in
                writer.writeFields(object, at: stamp, names)
            }
        }
    }

    /// Returns the state of a document that any peer may insert; it loses to all other writes.
    package static func initial(
        _ object: Object, _ names: NameTable
    ) throws(DocumentError) -> [UInt8] {
        try document(object, at: .initial, names)
    }

    /// Returns the entry for seeds in a version vector.
    ///
    /// Version vectors never cover the stamp of seeds, so another site is derived from the inserted
    /// object; it is equal in all stores.
    package static func initialStamp(_ object: Object) -> Stamp {
        let bytes = EntryWriter.bytes(of: .object(object))
        // Older versions encoded tokens as maps, so their vectors must differ.
        let seed: UInt64 = object.containsAttachmentToken ? 1 : 0
        let hash = bytes.withUnsafeBytes { XXH3.hash64($0, seed: seed) }
        return Stamp(HybridTime(rawValue: 1), Site(rawValue: max(hash, 1)))
    }

    /// Returns the remnant of a document that a store evicts after writing to it.
    ///
    /// Its version vector has the time of the store's last write, and that of the eviction.
    package static func remnant(
        of site: Site, writtenUntil time: HybridTime, evictedAt now: HybridTime
    ) throws(Malformed) -> [UInt8] {
        var vector = VersionVector()
        vector.record(Stamp(time, site))
        vector.record(Stamp(now, EncodedDocument.evictionSite))
        return try DocumentWriter.write(
            vector: vector, base: nil, deletion: nil, isPartial: false, capacity: 48
        ) { (writer) throws(Malformed) in
            writer.write(.noRoot)
        }
    }

    /// Returns the state of a new document with the fields written by `writeFields`.
    static func document(
        at stamp: Stamp, noting covered: Stamp, capacity: Int,
        _ writeFields: (inout EntryWriter) throws(Malformed) -> Void
    ) throws(Malformed) -> [UInt8] {
        try DocumentWriter.write(
            vector: VersionVector(covered), base: nil, deletion: nil, isPartial: false,
            capacity: capacity
        ) { (writer) throws(Malformed) in
            writer.rootStamp = stamp
            writer.writeReferring(.map, to: stamp)
            try writeFields(&writer)
        }
    }

    /// Returns the tombstone that deletes a document; nil if the document does not exist.
    ///
    /// It is both the delta and the new state.
    package static func deletion(
        of document: UnsafeRawBufferPointer, at stamp: Stamp, base: VersionVector? = nil
    ) throws(DocumentError) -> [UInt8]? {
        try onBytes { () throws(Malformed) in
            let document = try EncodedDocument(document)
            guard try document.exists() else { return nil }
            var vector = try document.vector()
            vector.record(stamp)
            return try DocumentWriter.write(
                vector: vector, base: base, deletion: max(stamp, document.deletion() ?? stamp),
                isPartial: false, capacity: 64
            ) { $0.write(.noRoot) }
        }
    }

    /// Maximum number of sites with which the length of a header fits in one byte.
    private static let maximumFastSites = 12

    /// Fast path of `deletion`: writes the tombstone from the header alone, with the same bytes.
    ///
    /// The base is the version vector of the document. Returns nil for a document that does not
    /// exist or was deleted before, for one with more than `maximumFastSites`, and if the site of
    /// the stamp has a later write.
    package static func deletionFromHeader(
        of bytes: UnsafeRawBufferPointer, at stamp: Stamp
    ) throws(Malformed) -> [UInt8]? {
        let document = try EncodedDocument(bytes)
        let header = try document.header()
        let count = header.siteCount
        guard try document.deletion() == nil, try document.exists(), 1...maximumFastSites ~= count
        else {
            return nil
        }
        // The deletion advances the time of its site, or inserts the site in ascending order.
        var siteIndex = 0
        while siteIndex < count, header.site(siteIndex) < stamp.site { siteIndex += 1 }
        let isKnown = siteIndex < count && header.site(siteIndex) == stamp.site
        guard !isKnown || header.time(siteIndex) < stamp.time else { return nil }
        let siteCount = isKnown ? count : count + 1
        let length =
            4 + siteCount * EncodedHeader.siteLength + 2 * EncodedHeader.stampLength
        var last = Site.initial
        for index in 0..<count {
            guard header.site(index) > last else {
                throw .invalid("sites that do not ascend", at: header.sitesAt)
            }
            last = header.site(index)
        }
        var buffer = ByteBuffer(capacity: length + 1)
        buffer.append(HeaderBits.base | HeaderBits.deletion)
        buffer.append(UInt8(length))
        buffer.append(UInt8(siteCount))
        for index in 0..<siteCount {
            let isOwn = index == siteIndex
            let source = index > siteIndex && !isKnown ? index - 1 : index
            buffer.append((isOwn ? stamp.site : header.site(source)).rawValue)
            buffer.append((isOwn ? stamp.time : header.time(source)).rawValue)
        }
        buffer.append(UInt8(1))
        buffer.append(UInt16(siteIndex))
        buffer.append((isKnown ? header.time(siteIndex) : .initial).rawValue)
        buffer.append(UInt16(siteIndex))
        buffer.append(stamp.time.rawValue)
        buffer.append(Tag.noRoot.rawValue)
        let deleted = Array(buffer.bytes)
        withExtendedLifetime(buffer) {}
        return deleted
    }

    /// Returns the edits that give a document the fields of an object; other fields are kept.
    package static func differences(
        between document: UnsafeRawBufferPointer, and object: Object, _ names: NameTable
    ) throws(DocumentError) -> [Edit] {
        try checkDepth(of: object)
        var edits: [Edit] = []
        try onBytes { () throws(Malformed) in
            let document = try EncodedDocument(document)
            try record(object, in: document.fields(), path: [], names, depth: 1, into: &edits)
        }
        return edits
    }

    static func checkDepth(of object: Object) throws(DocumentError) {
        guard !object.isDeeper(than: Value.maximumDepth) else {
            throw .tooDeep(limit: Value.maximumDepth)
        }
    }

    private static func record(
        _ object: Object, in fields: EncodedObject?, path: [String], _ names: NameTable,
        depth: Int, into edits: inout [Edit]
    ) throws(Malformed) {
        for field in object {
            let path = path + [field.name]
            let entry = try fields?.find(FieldName(field.name, in: names))
            let shown = try entry?.shown()
            var isOtherPart = false
            if case .object(let inner) = field.value, let shown {
                let tag = try shown.tag()
                guard ![.map, .bareMap].contains(tag) || inner.isAttachmentToken else {
                    try record(
                        inner, in: try shown.object(), path: path, names, depth: depth + 1,
                        into: &edits)
                    continue
                }
                // An attachment token differs from an equal map or value.
                isOtherPart = inner.isAttachmentToken && tag != .token
            }
            // Equal numbers of two types are equal in queries, but differ in documents.
            if !isOtherPart, let old = try entry?.value(names, depth: depth + 1),
                SortKey.bytes(of: old) == SortKey.bytes(of: field.value)
            {
                continue
            }
            edits.append(.set(path: path, to: field.value))
        }
    }
}

extension EntryWriter {
    /// Writes the fields of a map; all of them share the root stamp.
    mutating func writeFields(
        _ object: Object, without omitted: String? = nil, at stamp: Stamp, _ names: NameTable
    ) {
        let frame = beginObject()
        let omitted = omitted.flatMap { object.index(of: $0) }
        object.withFields { fields in
            for index in fields.indices where index != omitted {
                beginField(fields[index].name, names)
                // Most values are not objects; the first check avoids copying them.
                if fields[index].value.isObject, case .object(let object) = fields[index].value {
                    if object.isAttachmentToken {
                        write(.token, at: stamp)
                        write(fields[index].value, names)
                    } else {
                        write(.map, at: stamp)
                        writeFields(object, at: stamp, names)
                    }
                } else {
                    write(fields[index].value, at: stamp, names)
                }
                endField()
            }
        }
        _ = endObject(frame)
    }
}
