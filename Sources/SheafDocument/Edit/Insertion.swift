package import SheafBytes

/// Documents that are new, and the end of others.
package enum Insertion {
    /// The state of a document that is inserted where there was none; objects in it are maps.
    package static func document(
        _ object: Object, at stamp: Stamp, _ names: NameTable
    ) throws(EditError) -> [UInt8] {
        try document(object, without: nil, at: stamp, names).bytes
    }

    /// The same without one of the fields, which is not where the id of a document belongs.
    package static func document(
        _ object: Object, without omitted: String?, at stamp: Stamp, _ names: NameTable
    ) throws(EditError) -> ChangedBytes {
        try checkDepth(of: object)
        let noted = stamp == .initial ? initialStamp(object) : stamp
        var spellsNames = false
        let bytes = try document(at: stamp, noting: noted, capacity: 256) {
            (writer) throws(Malformed) in
            writer.writeFields(object, without: omitted, at: stamp, names)
            spellsNames = writer.hasSpelledFields
        }
        return ChangedBytes(bytes: bytes, isTold: false, spellsNames: spellsNames)
    }

    /// The state of a document that many may insert, and that loses to every other write.
    package static func initial(
        _ object: Object, _ names: NameTable
    ) throws(EditError) -> [UInt8] {
        try document(object, at: .initial, names)
    }

    /// What the vectors of documents note for seeds: as they have no stamp, the site is made from
    /// what was inserted, and so is the same wherever the same is inserted.
    package static func initialStamp(_ object: Object) -> Stamp {
        let bytes = EntryWriter.bytes(of: .object(object))
        // A store of an older version made maps of tokens: the two have different vectors.
        let seed: UInt64 = object.holdsAttachmentToken ? 1 : 0
        let hash = bytes.withUnsafeBytes { XXH3.hash64($0, seed: seed) }
        return Stamp(HybridTime(rawValue: 1), Site(rawValue: max(hash, 1)))
    }

    /// What is left of a document that was taken away from the site that has written some of it: how far
    /// it has, and when that was.
    package static func remnant(
        of site: Site, writtenUntil time: HybridTime, evictedAt now: HybridTime
    ) throws(Malformed) -> [UInt8] {
        var vector = VersionVector()
        vector.note(Stamp(time, site))
        vector.note(Stamp(now, EncodedDocument.evictionSite))
        return try DocumentWriter.write(
            vector: vector, base: nil, deletion: nil, isPartial: false, capacity: 48
        ) { (writer) throws(Malformed) in
            writer.write(.noRoot)
        }
    }

    /// The state of a new document; `writeFields` writes its fields.
    static func document(
        at stamp: Stamp, noting noted: Stamp, capacity: Int,
        _ writeFields: (inout EntryWriter) throws(Malformed) -> Void
    ) throws(EditError) -> [UInt8] {
        var vector = VersionVector()
        vector.note(noted)
        do throws(Malformed) {
            return try DocumentWriter.write(
                vector: vector, base: nil, deletion: nil, isPartial: false, capacity: capacity
            ) { (writer) throws(Malformed) in
                writer.rootStamp = stamp
                writer.writeReferring(.map, to: stamp)
                try writeFields(&writer)
            }
        } catch {
            throw .malformed(error)
        }
    }

    /// What is left of a document when it is deleted; nil where there is none.
    ///
    /// It is the new state as well, with the base that it is given.
    package static func deletion(
        of document: EncodedDocument, at stamp: Stamp, base: VersionVector? = nil
    ) throws(EditError) -> [UInt8]? {
        do throws(Malformed) {
            guard try document.exists() else { return nil }
            var vector = try document.vector()
            vector.note(stamp)
            return try DocumentWriter.write(
                vector: vector, base: base, deletion: max(stamp, document.deletion() ?? stamp),
                isPartial: false, capacity: 64
            ) { $0.write(.noRoot) }
        } catch {
            throw .malformed(error)
        }
    }

    /// The edits that make a document show what an object says, as far as it does not yet; fields
    /// that the object does not have stay.
    package static func differences(
        between document: EncodedDocument, and object: Object, _ names: NameTable
    ) throws(EditError) -> [Edit] {
        try checkDepth(of: object)
        var edits: [Edit] = []
        do throws(Malformed) {
            try note(
                object, in: document.fields(), path: [], names, depth: 1, into: &edits)
        } catch {
            throw .malformed(error)
        }
        return edits
    }

    private static func checkDepth(of object: Object) throws(EditError) {
        guard !object.isDeeper(than: Value.maximumDepth) else {
            throw .tooDeep(limit: Value.maximumDepth)
        }
    }

    private static func note(
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
                    try note(
                        inner, in: try shown.object(), path: path, names, depth: depth + 1,
                        into: &edits)
                    continue
                }
                // A token is not the map or the value that looks like it.
                isOtherPart = inner.isAttachmentToken && tag != .token
            }
            // Equal numbers of two types are one to a query, but not the same document.
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
    /// Writes the fields of a map, with all that is in them as old as the root.
    mutating func writeFields(
        _ object: Object, without omitted: String? = nil, at stamp: Stamp, _ names: NameTable
    ) {
        let frame = beginObject()
        let omitted = omitted.flatMap { object.place(of: $0) }
        object.withFields { fields in
            for index in fields.indices where index != omitted {
                beginField(fields[index].name, names)
                if case .object(let object) = fields[index].value {
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
