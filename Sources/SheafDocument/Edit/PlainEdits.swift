import SheafBytes

/// An encoded delta or new document, with properties known from its creation.
package struct ChangedBytes: Sendable {
    package let bytes: [UInt8]
    /// Whether each named field has a new value, so that the base alone identifies the changes.
    package let isDerivable: Bool
    /// Whether the encoding may spell out names.
    package let spellsNames: Bool

    /// Creates encoded bytes; the defaults apply if nothing is known.
    package init(bytes: [UInt8], isDerivable: Bool = false, spellsNames: Bool = true) {
        self.bytes = bytes
        self.isDerivable = isDerivable
        self.spellsNames = spellsNames
    }
}

extension DocumentEditor {
    /// Returns the delta of consecutive edits of an encoded document; nil if they change nothing.
    package static func delta(
        of edits: [Edit], in bytes: UnsafeRawBufferPointer, at stamp: Stamp, _ names: NameTable,
        keepsCounters: Bool = false
    ) throws(DocumentError) -> ChangedBytes? {
        let document = try onBytes { () throws(Malformed) in try EncodedDocument(bytes) }
        return try delta(of: edits, in: document, at: stamp, names, keepsCounters: keepsCounters)
    }

    /// Returns the delta of consecutive edits; nil if they change nothing.
    ///
    /// With `keepsCounters`, values that would hide a counter are refused.
    package static func delta(
        of edits: [Edit], in document: EncodedDocument, at stamp: Stamp, _ names: NameTable,
        keepsCounters: Bool = false
    ) throws(DocumentError) -> ChangedBytes? {
        // No counter can be hidden where only registers are replaced.
        let plain = try onBytes { () throws(Malformed) in
            try PlainEdits.delta(of: edits, in: document, at: stamp, names)
        }
        if let plain { return plain }
        if keepsCounters {
            let hidden = try onBytes { () throws(Malformed) in
                try HiddenCounter.first(of: edits, in: document, names)
            }
            if let hidden { throw .counter(hidden) }
        }
        let editor = try DocumentEditor(document, at: stamp, names)
        for edit in edits { try editor.apply(edit) }
        return try editor.finish().map { ChangedBytes(bytes: $0) }
    }
}

/// Fast path for edits that set root fields with at most one register, as most edits do.
///
/// The delta is written without drafts.
private enum PlainEdits {
    private static let maximumCount = 8

    /// Returns the delta that an editor would produce; nil if the fast path does not apply.
    static func delta(
        of edits: [Edit], in document: EncodedDocument, at stamp: Stamp, _ names: NameTable
    ) throws(Malformed) -> ChangedBytes? {
        guard try arePlain(edits, in: document, names) else { return nil }
        let header = try document.header()
        let seen = try header.vector()
        var vector = seen
        vector.record(stamp)
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
        return ChangedBytes(bytes: bytes, isDerivable: true, spellsNames: spellsNames)
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
            // Removing a seed requires an override.
            guard try entry.tag().isValue, try entry.stamp(header, root: mark) != .initial else {
                return false
            }
        }
        return true
    }
}

extension Edit.Mode {
    /// Whether a value set in this mode becomes one register.
    fileprivate func isRegister(_ value: Value) -> Bool {
        switch (self, value) {
        case (.attachment, _), (.merging, .object): false
        case (.register, _), (.merging, _): true
        }
    }
}
