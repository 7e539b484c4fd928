package import SheafBytes

/// Why two documents do not become one.
package enum JoinError: Error, Equatable, Sendable {
    /// One is a delta that builds on what the other has not seen.
    case gap
    case malformed(Malformed)
}

/// The one way in which two states of a document, or what changed of it, become one
/// (`format-spec/documents.md`).
package enum Join {
    /// Joins two states, a state and a delta, or two deltas.
    package static func join(
        _ left: EncodedDocument, _ right: EncodedDocument, _ names: NameTable = NameTable()
    ) throws(JoinError) -> [UInt8] {
        let joiner: Joiner
        do throws(Malformed) { joiner = try Joiner(left, right, names) } catch {
            throw .malformed(error)
        }
        guard joiner.fits else { throw .gap }
        do throws(Malformed) { return try joiner.join() } catch { throw .malformed(error) }
    }
}

/// One of the two documents that are joined.
struct JoinSide {
    let document: EncodedDocument
    let header: EncodedHeader
    let vector: VersionVector
    let base: VersionVector
    let source: CopySource<EncodedHeader>

    init(_ document: EncodedDocument) throws(Malformed) {
        self.document = document
        header = try document.header()
        vector = try header.vector()
        base = document.isPartial ? try header.baseVector() : VersionVector()
        source = CopySource(
            stamps: header, root: try header.rootStamp(readingTo: document.bytes.count))
    }
}

/// Joins two documents, field by field.
final class Joiner {
    let left: JoinSide
    let right: JoinSide
    let names: NameTable
    private let vector: VersionVector
    private let deletion: Stamp?

    init(
        _ left: EncodedDocument, _ right: EncodedDocument, _ names: NameTable
    ) throws(Malformed) {
        self.left = try JoinSide(left)
        self.right = try JoinSide(right)
        self.names = names
        vector = self.left.vector.joined(with: self.right.vector)
        deletion = switch (try left.deletion(), try right.deletion()) {
        case (let left?, let right?): max(left, right)
        case (let left, let right): left ?? right
        }
    }

    /// Whether each has seen what the other builds on.
    var fits: Bool { left.vector.covers(right.base) && right.vector.covers(left.base) }

    func join() throws(Malformed) -> [UInt8] {
        let isPartial = left.document.isPartial && right.document.isPartial
        return try DocumentWriter.write(
            vector: vector, base: isPartial ? left.base.met(by: right.base) : nil,
            deletion: deletion, isPartial: isPartial,
            capacity: left.document.bytes.count + right.document.bytes.count
        ) { (writer) throws(Malformed) in
            try joinRoots(isPartial, into: &writer)
        }
    }

    private func joinRoots(
        _ isPartial: Bool, into writer: inout EntryWriter
    ) throws(Malformed) {
        let contents = try joined(
            try content(of: left.document.root, left, isWhole: !left.document.isPartial),
            try content(of: right.document.root, right, isWhole: !right.document.isPartial),
            dropsSeeds: deletion != nil)
        guard contents.field.dots.allSatisfy({ $0.kind == .mark }) else {
            throw .invalid("a root that is no map", at: left.document.rootStart)
        }
        try writer.writeRoot(marks: contents.field.dots, isPartial: isPartial) {
            (writer) throws(Malformed) in
            try joinFields(
                contents.left, contents.right, dropsSeeds: deletion != nil, depth: 1,
                into: &writer)
        }
    }

    // MARK: Maps

    /// Writes the fields that two maps have together; returns how many there are.
    func joinFields(
        _ left: MapContent, _ right: MapContent, dropsSeeds: Bool, depth: Int,
        into writer: inout EntryWriter
    ) throws(Malformed) -> Int {
        guard depth <= Value.maximumDepth else {
            throw .tooDeep(at: left.object?.start ?? 0, limit: Value.maximumDepth)
        }
        let frame = writer.beginObject()
        var leftFields = try FieldCursor(left.object, names)
        var rightFields = try FieldCursor(right.object, names)
        while true {
            let order = try leftFields.compare(rightFields)
            guard let order else { break }
            let leftIndex = order <= 0 ? leftFields.index : nil
            let rightIndex = order >= 0 ? rightFields.index : nil
            if let leftIndex {
                try leftFields.beginField(leftIndex, in: &writer)
            } else if let rightIndex {
                try rightFields.beginField(rightIndex, in: &writer)
            }
            let isThere = try joinEntries(
                try leftIndex.flatMap { (index) throws(Malformed) in
                    try left.object?.entry(index)
                },
                try rightIndex.flatMap { (index) throws(Malformed) in
                    try right.object?.entry(index)
                },
                leftIsWhole: left.isWhole, rightIsWhole: right.isWhole, dropsSeeds: dropsSeeds,
                depth: depth, into: &writer)
            if isThere { writer.endField() } else { writer.dropField() }
            if leftIndex != nil { leftFields.advance() }
            if rightIndex != nil { rightFields.advance() }
        }
        let count = writer.fieldCount(frame)
        _ = writer.endObject(frame, isPartial: !left.isWhole && !right.isWhole)
        return count
    }

    // MARK: Fields

    /// Writes what two fields have together; false where nothing is left.
    @inline(__always)
    private func joinEntries(
        _ leftEntry: EncodedEntry?, _ rightEntry: EncodedEntry?, leftIsWhole: Bool,
        rightIsWhole: Bool, dropsSeeds: Bool, depth: Int, into writer: inout EntryWriter
    ) throws(Malformed) -> Bool {
        // What only one side names stands as it does there.
        if !dropsSeeds {
            if let leftEntry, rightEntry == nil, !rightIsWhole {
                try writer.copy(leftEntry, from: left.source, depth: depth)
                return true
            }
            if let rightEntry, leftEntry == nil, !leftIsWhole {
                try writer.copy(rightEntry, from: right.source, depth: depth)
                return true
            }
            if let leftEntry, let rightEntry,
                let isThere = try joinRegisters(leftEntry, rightEntry, depth, &writer)
            {
                return isThere
            }
        }
        return try joinParts(
            leftEntry, rightEntry, leftIsWhole: leftIsWhole, rightIsWhole: rightIsWhole,
            dropsSeeds: dropsSeeds, depth: depth, into: &writer)
    }

    /// Joins two fields that hold one value each, of which one is replaced; nil for all others.
    private func joinRegisters(
        _ leftEntry: EncodedEntry, _ rightEntry: EncodedEntry, _ depth: Int,
        _ writer: inout EntryWriter
    ) throws(Malformed) -> Bool? {
        guard try leftEntry.tag().isValue, try rightEntry.tag().isValue else { return nil }
        let leftStamp = try leftEntry.stamp(left.header, root: left.source.root)
        let rightStamp = try rightEntry.stamp(right.header, root: right.source.root)
        guard leftStamp != rightStamp else { return nil }
        switch (right.vector.covers(leftStamp), left.vector.covers(rightStamp)) {
        case (true, false): try writer.copy(rightEntry, from: right.source, depth: depth)
        case (false, true): try writer.copy(leftEntry, from: left.source, depth: depth)
        default: return nil
        }
        return true
    }

    private func joinParts(
        _ leftEntry: EncodedEntry?, _ rightEntry: EncodedEntry?, leftIsWhole: Bool,
        rightIsWhole: Bool, dropsSeeds: Bool, depth: Int, into writer: inout EntryWriter
    ) throws(Malformed) -> Bool {
        let contents = try joined(
            try content(of: leftEntry, left, isWhole: leftIsWhole),
            try content(of: rightEntry, right, isWhole: rightIsWhole), dropsSeeds: dropsSeeds)
        let dropsSeeds = dropsSeeds || contents.field.overrides.contains(.map)
        var field = contents.field
        if leftIsWhole || rightIsWhole { field.named = [] }
        return try field.write(into: &writer, names, depth: depth) { (writer) throws(Malformed) in
            try joinFields(
                contents.left, contents.right, dropsSeeds: dropsSeeds, depth: depth + 1,
                into: &writer)
        }
    }
}

extension Optional {
    /// As `flatMap`, which loses the type of the error.
    @inline(__always)
    fileprivate func flatMap<Result>(
        _ transform: (Wrapped) throws(Malformed) -> Result?
    ) throws(Malformed) -> Result? {
        guard let self else { return nil }
        return try transform(self)
    }
}
