import SheafBytes

/// The encoded document that drafts read existing content from.
struct DraftSource {
    let header: EncodedHeader
    /// Stamp of entries without a reference.
    let root: Stamp?
    let names: NameTable
}

/// The pending changes of a map.
final class MapDraft {
    /// Whether the delta names the map completely, and not only its changed fields.
    var isComplete = false
    /// Whether the delta names the marks of the map.
    private(set) var namesMarks = false
    private var ownMarks: [Dot] = []
    private let existing: EncodedObject?
    private let existingMarks: [Dot]
    private let source: DraftSource?
    private var fields: [FieldDraft] = []
    private var positions: [FieldDraft.Name: Int] = [:]

    /// Creates the draft of a new map, or of one that replaces an existing one.
    init() {
        existing = nil
        existingMarks = []
        source = nil
    }

    /// Creates the draft of an existing map, at a field or at the root.
    init(_ object: EncodedObject?, marks: [Dot], _ source: DraftSource?) {
        existing = object
        existingMarks = marks
        self.source = source
    }

    convenience init(root: EncodedEntry?, _ source: DraftSource?) throws(Malformed) {
        guard let root, let source, try root.tag() != .noRoot else {
            self.init(nil, marks: [], source)
            return
        }
        let (object, marks) = try root.map(source)
        self.init(object, marks: marks, source)
    }

    /// The current marks.
    var marks: [Dot] { namesMarks ? ownMarks : isComplete ? [] : existingMarks }

    /// Returns the draft of a field, which may not exist yet.
    func field(_ name: String) throws(Malformed) -> FieldDraft {
        let name = FieldDraft.Name(bytes: Array(name.utf8))
        if let position = positions[name] { return fields[position] }
        let entry = try existingEntry(name)
        let field = FieldDraft(name, entry, source, isComplete: isComplete)
        positions[name] = fields.count
        fields.append(field)
        return field
    }

    private func existingEntry(_ name: FieldDraft.Name) throws(Malformed) -> EncodedEntry? {
        guard !isComplete, let existing else { return nil }
        return try existing.find(name.fieldName(source))
    }

    /// Marks the map as existing, regardless of its fields.
    func mark(at stamp: Stamp) throws(Malformed) {
        // The initial mark is kept: removing it would also require overriding all seeds in the map.
        ownMarks = marks.filter { $0.stamp == .initial } + [Dot(.mark, stamp)]
        if stamp == .initial { ownMarks = [Dot(.mark, stamp)] }
        namesMarks = true
    }

    func markIfUnmarked(at stamp: Stamp) throws(Malformed) {
        if marks.isEmpty { try mark(at: stamp) }
    }

    /// Sets the fields of an object one by one.
    func merge(_ object: Object, at stamp: Stamp) throws(Malformed) {
        for element in object {
            let field = try field(element.name)
            if case .object(let object) = element.value {
                try field.set(object, at: stamp)
            } else {
                try field.replace(
                    .register, with: Dot(.value, stamp, .value(element.value)))
            }
        }
    }

    /// Whether the delta has content for the map, or removes it.
    var isTouched: Bool { isComplete || isChanged }

    /// Whether the marks or a field were changed.
    var isChanged: Bool { namesMarks || fields.contains { $0.isTouched } }

    /// Whether the map or its content has a dot.
    func containsDots() throws(Malformed) -> Bool {
        if !marks.isEmpty { return true }
        for field in fields where try field.containsDots() { return true }
        guard !isComplete, let existing, let source else { return false }
        for index in 0..<existing.count {
            let entry = try existing.entry(index)
            if try positions[name(index)] == nil, try entry.containsDots(source) { return true }
        }
        return false
    }

    /// Whether the map or its content has a seed, written by INSERT INITIAL.
    func containsSeeds() throws(Malformed) -> Bool {
        if marks.contains(where: { $0.stamp == .initial }) { return true }
        for field in fields where try field.containsSeeds() { return true }
        guard !isComplete, let existing, let source else { return false }
        for index in 0..<existing.count {
            let entry = try existing.entry(index)
            if try positions[name(index)] == nil, try entry.containsSeeds(source) { return true }
        }
        return false
    }

    private func name(_ index: Int) throws(Malformed) -> FieldDraft.Name {
        guard let existing else { return FieldDraft.Name(bytes: []) }
        if index >= existing.numberedCount {
            return FieldDraft.Name(bytes: Array(try existing.spellingBytes(index)))
        }
        let number = Int(existing.nameNumber(index))
        guard let name = source?.names.name(number) else {
            throw .tooLong(
                at: existing.namesAt, length: UInt64(number),
                limit: UInt64(source?.names.count ?? 0))
        }
        return FieldDraft.Name(bytes: Array(name.utf8))
    }

    /// Writes the changed fields; returns their number.
    func writeFields(
        into writer: inout EntryWriter, _ names: NameTable, depth: Int
    ) throws(Malformed) -> Int {
        let frame = writer.beginObject()
        for (number, field) in numbered(names) {
            if number == FieldName.noNumber {
                field.name.bytes.withUnsafeBytes { writer.beginField(spelling: $0) }
            } else {
                writer.beginField(number: number)
            }
            if try field.write(into: &writer, names, isPartial: !isComplete, depth: depth) {
                writer.endField()
            } else {
                writer.dropField()
            }
        }
        let count = writer.fieldCount(frame)
        _ = writer.endObject(frame, isPartial: !isComplete)
        return count
    }

    /// Writes the root entry.
    func writeRoot(into writer: inout EntryWriter, _ names: NameTable) throws(Malformed) {
        try writer.writeRoot(marks: namesMarks ? ownMarks : [], isPartial: !isComplete) {
            (writer) throws(Malformed) in
            try writeFields(into: &writer, names, depth: 1)
        }
    }

    /// Returns the changed fields in encoding order, with their name numbers.
    private func numbered(_ names: NameTable) -> [(UInt32, FieldDraft)] {
        fields.filter(\.isTouched).map { field in
            (names.number(of: field.name.bytes).map(UInt32.init) ?? FieldName.noNumber, field)
        }.sorted { left, right in
            if left.0 != right.0 { return left.0 < right.0 }
            return left.1.name.bytes.withUnsafeBytes { left in
                right.1.name.bytes.withUnsafeBytes { UTF8Order.compare(left, $0) < 0 }
            }
        }
    }
}
