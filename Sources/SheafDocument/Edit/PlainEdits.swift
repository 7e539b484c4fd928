import SheafBytes

/// What edits change in a document, or a document that is new, and what is known of it.
package struct ChangedBytes: Sendable {
    package let bytes: [UInt8]
    /// Whether every field that it names has a new value, so that a base tells all that was touched.
    package let isTold: Bool
    /// Whether there may be names in it that have no number.
    package let spellsNames: Bool

    /// What little is known is not said.
    package init(bytes: [UInt8], isTold: Bool = false, spellsNames: Bool = true) {
        self.bytes = bytes
        self.isTold = isTold
        self.spellsNames = spellsNames
    }
}

extension DocumentEditor {
    /// Returns the delta of some edits that are made one after the other; nil where they change nothing.
    ///
    /// With `keepsCounters`, values that would hide a counter are refused.
    package static func delta(
        of edits: [Edit], in document: EncodedDocument, at stamp: Stamp, _ names: NameTable,
        keepsCounters: Bool = false
    ) throws(EditError) -> ChangedBytes? {
        // These set values where there are values or nothing.
        if let delta = try PlainEdits.delta(of: edits, in: document, at: stamp, names) {
            return delta
        }
        if keepsCounters {
            let hidden: HiddenCounter?
            do throws(Malformed) {
                hidden = try HiddenCounter.first(of: edits, in: document, names)
            } catch {
                throw .malformed(error)
            }
            if let hidden { throw .counter(hidden) }
        }
        let editor = try DocumentEditor(document, at: stamp, names)
        for edit in edits { try editor.apply(edit) }
        return try editor.finish().map { ChangedBytes(bytes: $0) }
    }
}

/// Edits that set fields of the root to values, where there was one value or none: most edits are like
/// that, and their delta is written without drafts of what else might be there.
private enum PlainEdits {
    private static let maximumCount = 8

    /// The same delta that an editor makes; nil where one is needed.
    static func delta(
        of edits: [Edit], in document: EncodedDocument, at stamp: Stamp, _ names: NameTable
    ) throws(EditError) -> ChangedBytes? {
        do throws(Malformed) {
            guard try arePlain(edits, in: document, names) else { return nil }
            let header = try document.header()
            let seen = try header.vector()
            var vector = seen
            vector.note(stamp)
            var spellsNames = false
            let bytes = try DocumentWriter.write(
                vector: vector, base: seen, deletion: try document.deletion(), isPartial: true,
                capacity: 256
            ) { (writer) throws(Malformed) in
                try writer.writeRoot(mark: nil, isPartial: true) { (writer) throws(Malformed) in
                    let frame = writer.beginObject()
                    for edit in edits {
                        guard case .set(let path, let value, _) = edit else { continue }
                        writer.beginField(path[0], names)
                        writer.write(value, at: stamp, names)
                        writer.endField()
                    }
                    _ = writer.endObject(frame, isPartial: true)
                    spellsNames = writer.hasSpelledFields
                    return edits.count
                }
            }
            return ChangedBytes(bytes: bytes, isTold: true, spellsNames: spellsNames)
        } catch {
            throw .malformed(error)
        }
    }

    private static func arePlain(
        _ edits: [Edit], in document: EncodedDocument, _ names: NameTable
    ) throws(Malformed) -> Bool {
        let root = document.root
        guard !edits.isEmpty, edits.count <= maximumCount, !document.isPartial,
            root.rawTag == Tag.map.rawValue | Tag.referenceBit
        else { return false }
        let header = try document.header()
        let mark = try header.rootStamp(readingTo: document.bytes.count)
        let fields = try root.object()
        for (index, edit) in edits.enumerated() {
            guard case .set(let path, let value, let mode) = edit, path.count == 1,
                mode.isRegister(value), !value.isDeeper(than: Value.maximumDepth - 1)
            else { return false }
            for other in edits[..<index] {
                guard case .set(let earlier, _, _) = other,
                    UTF8Order.compare(earlier[0], path[0]) != 0
                else { return false }
            }
            guard let entry = try fields.find(FieldName(path[0], in: names)) else { continue }
            // Who takes a seed away has to say so.
            guard try entry.tag().isValue, try entry.stamp(header, root: mark) != .initial else {
                return false
            }
        }
        return true
    }
}

extension Edit.Mode {
    /// Whether a value that is set like this is one register.
    fileprivate func isRegister(_ value: Value) -> Bool {
        switch (self, value) {
        case (.attachment, _), (.merging, .object): false
        case (.register, _), (.merging, _): true
        }
    }
}
