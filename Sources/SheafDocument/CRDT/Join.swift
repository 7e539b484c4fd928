import SheafBytes

/// The join of two states or deltas of a document (`format-spec/documents.md`).
package enum Join {
    /// Joins two encoded documents.
    package static func join(
        _ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer, _ names: NameTable,
        base: VersionVector?
    ) throws(DocumentError) -> [UInt8] {
        let (left, right) = try onBytes { () throws(Malformed) in
            (try EncodedDocument(left), try EncodedDocument(right))
        }
        return try join(left, right, names, base: base)
    }

    /// Joins two states, a state and a delta, or two deltas.
    ///
    /// Two joined deltas have the intersection of their bases as base; other results have `base`.
    package static func join(
        _ left: EncodedDocument, _ right: EncodedDocument, _ names: NameTable = NameTable(),
        base: VersionVector? = nil
    ) throws(DocumentError) -> [UInt8] {
        let joined = try onBytes { () throws(Malformed) -> [UInt8]? in
            let joiner = try Joiner(left, right, names)
            return try joiner.coversBases() ? joiner.join(base: base) : nil
        }
        guard let joined else { throw .gap }
        return joined
    }
}

/// One operand of a join; it borrows the document.
struct JoinSide {
    let document: EncodedDocument
    let source: CopySource<EncodedHeader>

    init(_ document: EncodedDocument) throws(Malformed) {
        self.document = document
        let header = try document.header()
        try header.checkSites()
        source = CopySource(
            stamps: header, root: try header.rootStamp(readingTo: document.bytes.count))
    }

    var header: EncodedHeader { source.stamps }
}

/// A join of two documents, field by field.
final class Joiner {
    let left: JoinSide
    let right: JoinSide
    let names: NameTable
    private let deletion: Stamp?

    init(
        _ left: EncodedDocument, _ right: EncodedDocument, _ names: NameTable
    ) throws(Malformed) {
        self.left = try JoinSide(left)
        self.right = try JoinSide(right)
        self.names = names
        deletion =
            switch (try left.deletion(), try right.deletion()) {
            case (let left?, let right?): max(left, right)
            case (let left, let right): left ?? right
            }
    }

    /// Whether each document covers the base of the other.
    func coversBases() throws(Malformed) -> Bool {
        if right.document.isPartial, try !left.header.covers(baseOf: right.header) {
            return false
        }
        guard left.document.isPartial else { return true }
        return try right.header.covers(baseOf: left.header)
    }

    func join(base: VersionVector?) throws(Malformed) -> [UInt8] {
        let isPartial = left.document.isPartial && right.document.isPartial
        return try DocumentWriter.write(
            vector: VersionVector(joining: left.header, right.header),
            base: isPartial
                ? left.header.baseVector().intersection(by: right.header.baseVector()) : base,
            deletion: deletion, isPartial: isPartial,
            capacity: left.document.bytes.count + right.document.bytes.count
        ) { (writer) throws(Malformed) in
            try joinRoots(isPartial, into: &writer)
        }
    }

    private func joinRoots(
        _ isPartial: Bool, into writer: inout EntryWriter
    ) throws(Malformed) {
        if deletion == nil, try joinDeltaRoot(isPartial, into: &writer) { return }
        let contents = try joined(
            try content(of: left.document.root, left, isComplete: !left.document.isPartial),
            try content(of: right.document.root, right, isComplete: !right.document.isPartial),
            dropsSeeds: deletion != nil)
        guard contents.field.dots.allSatisfy({ $0.kind == .mark }) else {
            throw .invalid("a root that is not a map", at: left.document.rootStart)
        }
        try writer.writeRoot(marks: contents.field.dots, isPartial: isPartial) {
            (writer) throws(Malformed) in
            try joinFields(
                contents.left, contents.right, dropsSeeds: deletion != nil, depth: 1,
                into: &writer)
        }
    }

    /// Joins a marked root and a partial bare root; returns false for other roots.
    private func joinDeltaRoot(
        _ isPartial: Bool, into writer: inout EntryWriter
    ) throws(Malformed) -> Bool {
        let (leftRoot, rightRoot) = (left.document.root, right.document.root)
        let marked = Tag.map.rawValue | Tag.referenceBit
        let bare = Tag.bareMap.rawValue
        let isLeftMarked: Bool
        switch (leftRoot.rawTag, rightRoot.rawTag) {
        case (marked, bare): isLeftMarked = true
        case (bare, marked): isLeftMarked = false
        default: return false
        }
        let (leftObject, rightObject) = (try leftRoot.object(), try rightRoot.object())
        // A complete bare map asserts that it has no marks.
        guard isLeftMarked ? rightObject.isPartial : leftObject.isPartial else { return false }
        let mark = isLeftMarked ? left.source.root : right.source.root
        try writer.writeRoot(mark: mark, isPartial: isPartial) { (writer) throws(Malformed) in
            try joinFields(
                MapContent(object: leftObject, isComplete: !leftObject.isPartial),
                MapContent(object: rightObject, isComplete: !rightObject.isPartial),
                dropsSeeds: false, depth: 1, into: &writer)
        }
        return true
    }

    // MARK: Maps

    /// Joins the fields of two maps and writes them; returns their number.
    func joinFields(
        _ left: MapContent, _ right: MapContent, dropsSeeds: Bool, depth: Int,
        into writer: inout EntryWriter
    ) throws(Malformed) -> Int {
        guard depth <= Value.maximumDepth else {
            throw .tooDeep(at: left.object?.start ?? 0, limit: Value.maximumDepth)
        }
        let frame = writer.beginObject()
        let copiesLeft = writer.copiesPlainly(from: self.left.source)
        let copiesRight = writer.copiesPlainly(from: self.right.source)
        var leftFields = try FieldCursor(left.object, names)
        var rightFields = try FieldCursor(right.object, names)
        while let order = try leftFields.compare(rightFields) {
            // A field of one side is copied unless the other map is complete or seeds are dropped.
            if order < 0, !right.isComplete, !dropsSeeds {
                if copiesLeft, try leftFields.copyPlain(below: rightFields.number, into: &writer) {
                    continue
                }
                if let entry = try leftFields.beginField(in: &writer) {
                    try writer.copy(entry, from: self.left.source, depth: depth)
                }
                writer.endField()
                leftFields.advance()
                continue
            }
            if order > 0, !left.isComplete, !dropsSeeds {
                if copiesRight, try rightFields.copyPlain(below: leftFields.number, into: &writer) {
                    continue
                }
                if let entry = try rightFields.beginField(in: &writer) {
                    try writer.copy(entry, from: self.right.source, depth: depth)
                }
                writer.endField()
                rightFields.advance()
                continue
            }
            var leftEntry: EncodedEntry?
            var rightEntry: EncodedEntry?
            if order <= 0 {
                leftEntry = try leftFields.beginField(in: &writer)
                rightEntry = order == 0 ? try rightFields.entry() : nil
            } else {
                rightEntry = try rightFields.beginField(in: &writer)
            }
            let isPresent = try joinEntries(
                leftEntry, rightEntry, leftIsComplete: left.isComplete,
                rightIsComplete: right.isComplete,
                dropsSeeds: dropsSeeds, depth: depth, into: &writer)
            if isPresent { writer.endField() } else { writer.dropField() }
            if order <= 0 { leftFields.advance() }
            if order >= 0 { rightFields.advance() }
        }
        let count = writer.fieldCount(frame)
        _ = writer.endObject(frame, isPartial: !left.isComplete && !right.isComplete)
        return count
    }

    // MARK: Fields

    /// Joins two entries and writes the result; returns false if nothing remains.
    @inline(never)
    private func joinEntries(
        _ leftEntry: EncodedEntry?, _ rightEntry: EncodedEntry?, leftIsComplete: Bool,
        rightIsComplete: Bool, dropsSeeds: Bool, depth: Int, into writer: inout EntryWriter
    ) throws(Malformed) -> Bool {
        if !dropsSeeds, let leftEntry, let rightEntry,
            let isPresent = try joinRegisters(leftEntry, rightEntry, depth, &writer)
        {
            return isPresent
        }
        return try joinParts(
            leftEntry, rightEntry, leftIsComplete: leftIsComplete, rightIsComplete: rightIsComplete,
            dropsSeeds: dropsSeeds, depth: depth, into: &writer)
    }

    /// Joins two single values if exactly one is covered by the other operand; nil otherwise.
    private func joinRegisters(
        _ leftEntry: EncodedEntry, _ rightEntry: EncodedEntry, _ depth: Int,
        _ writer: inout EntryWriter
    ) throws(Malformed) -> Bool? {
        guard try leftEntry.tag().isValue, try rightEntry.tag().isValue else { return nil }
        let leftStamp = try leftEntry.stamp(left.header, root: left.source.root)
        let rightStamp = try rightEntry.stamp(right.header, root: right.source.root)
        guard leftStamp != rightStamp else { return nil }
        switch (right.header.covers(leftStamp), left.header.covers(rightStamp)) {
        case (true, false): try writer.copy(rightEntry, from: right.source, depth: depth)
        case (false, true): try writer.copy(leftEntry, from: left.source, depth: depth)
        default: return nil
        }
        return true
    }

    @inline(never)
    private func joinParts(
        _ leftEntry: EncodedEntry?, _ rightEntry: EncodedEntry?, leftIsComplete: Bool,
        rightIsComplete: Bool, dropsSeeds: Bool, depth: Int, into writer: inout EntryWriter
    ) throws(Malformed) -> Bool {
        let contents = try joined(
            try content(of: leftEntry, left, isComplete: leftIsComplete),
            try content(of: rightEntry, right, isComplete: rightIsComplete), dropsSeeds: dropsSeeds)
        let dropsSeeds = dropsSeeds || contents.field.overrides.contains(.map)
        var field = contents.field
        if leftIsComplete || rightIsComplete { field.named = [] }
        return try field.write(into: &writer, names, depth: depth) { (writer) throws(Malformed) in
            try joinFields(
                contents.left, contents.right, dropsSeeds: dropsSeeds, depth: depth + 1,
                into: &writer)
        }
    }
}
