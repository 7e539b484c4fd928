package import SheafBytes

/// The delta of a document between two states.
package enum Changes {
    /// Returns the delta from `base` to `state`, with its new dots and the parts in `touched`.
    package static func extract(
        from state: EncodedDocument, since base: VersionVector, touched: [EncodedDocument],
        _ names: NameTable
    ) throws(Malformed) -> [UInt8] {
        // A complete document in `touched` covers all parts.
        if touched.contains(where: { !$0.isPartial }) {
            return try state.settingBase(nil)
        }
        let extraction = try Extraction(state, base, names)
        let named = try touched.map { (document) throws(Malformed) in try JoinSide(document) }
        return try extraction.write(named)
    }

    /// Whether `base` identifies the parts of a delta: each has a dot that `base` does not cover.
    package static func isDerivable(
        _ delta: EncodedDocument, since base: VersionVector
    ) throws(Malformed) -> Bool {
        guard delta.isPartial else { return false }
        return try isNew(delta.root, try JoinSide(delta), base, isPartial: true, depth: 1)
    }

    private static func isNew(
        _ entry: EncodedEntry, _ side: JoinSide, _ base: VersionVector, isPartial: Bool, depth: Int
    ) throws(Malformed) -> Bool {
        guard depth <= Value.maximumDepth else {
            throw .tooDeep(at: entry.start, limit: Value.maximumDepth)
        }
        let field = try entry.content(side, isComplete: !isPartial)
        func hasNew(_ kind: (Dot.Kind) -> Bool) -> Bool {
            field.dots.contains {
                kind($0.kind) && $0.stamp != .initial && !base.covers($0.stamp)
            }
        }
        for part in Part.allCases
        where part != .map && field.dots.contains(where: { $0.kind.part == part })
            && !hasNew({ $0.part == part })
        {
            return false
        }
        if isPartial {
            // An emptied part or a complete map has no new dot to identify it.
            let present = field.dots.reduce(into: PartSet()) { $0.insert(PartSet($1.kind.part)) }
            guard field.named.subtracting(present).isEmpty, !field.named.contains(.map) else {
                return false
            }
        }
        // An override of seeds may be the only change of its part.
        for part in Part.allCases
        where field.overrides.contains(part) && (part == .map || !hasNew({ $0.part == part })) {
            return false
        }
        guard let object = field.map.object else { return true }
        if field.namesMarks, !hasNew({ $0 == .mark }) { return false }
        for index in 0..<object.count
        where try !isNew(
            try object.entry(index), side, base, isPartial: object.isPartial, depth: depth + 1)
        {
            return false
        }
        return true
    }
}

/// A writer of the changed parts of a state as a delta.
private struct Extraction {
    private let state: EncodedDocument
    private let side: JoinSide
    private let base: VersionVector
    private let names: NameTable

    init(
        _ state: EncodedDocument, _ base: VersionVector, _ names: NameTable
    ) throws(Malformed) {
        self.state = state
        side = try JoinSide(state)
        self.base = base
        self.names = names
    }

    func write(_ touched: [JoinSide]) throws(Malformed) -> [UInt8] {
        let field = try state.root.content(side, isComplete: true)
        return try DocumentWriter.write(
            vector: try side.header.vector(), base: base, deletion: try state.deletion(),
            isPartial: true,
            capacity: 256
        ) { (writer) throws(Malformed) in
            let namesMarks = try areMarksTouched(
                field,
                touched.map { (side) throws(Malformed) in
                    (try side.document.root.content(side, isComplete: false), side)
                })
            try writer.writeRoot(
                marks: namesMarks ? field.dots : [], isPartial: true
            ) { (writer) throws(Malformed) in
                try writeFields(
                    field.map.object,
                    try touched.compactMap { (side) throws(Malformed) in
                        try side.document.fields().map { ($0, side) }
                    }, depth: 1, into: &writer)
            }
        }
    }

    private func isUncovered(_ dot: Dot) -> Bool {
        dot.stamp != .initial && !base.covers(dot.stamp)
    }

    private func areMarksTouched(
        _ field: FieldSide, _ touched: [(FieldSide, JoinSide)]
    ) -> Bool {
        field.dots.contains { $0.kind == .mark && isUncovered($0) }
            || touched.contains { $0.0.namesMarks } && field.dots.contains { $0.kind == .mark }
    }

    /// Writes the changed fields of a partial map; returns their number.
    private func writeFields(
        _ object: EncodedObject?, _ touched: [(EncodedObject, JoinSide)], depth: Int,
        into writer: inout EntryWriter
    ) throws(Malformed) -> Int {
        guard depth <= Value.maximumDepth else {
            throw .tooDeep(at: object?.start ?? 0, limit: Value.maximumDepth)
        }
        let frame = writer.beginObject()
        var cursors: [FieldCursor] = [try FieldCursor(object, names)]
        for (object, _) in touched { cursors.append(try FieldCursor(object, names)) }
        while let first = try Self.first(of: cursors) {
            _ = try first.beginField(in: &writer)
            var entry: EncodedEntry?
            var sides: [(FieldSide, JoinSide)] = []
            for position in cursors.indices {
                guard !cursors[position].isAtEnd, try cursors[position].compare(first) == 0
                else { continue }
                let found = try cursors[position].entry()
                if position == 0 {
                    entry = found
                } else if let found {
                    let side = touched[position - 1].1
                    sides.append((try found.content(side, isComplete: false), side))
                }
                cursors[position].advance()
            }
            if try writeField(entry, sides, depth: depth, into: &writer) {
                writer.endField()
            } else {
                writer.dropField()
            }
        }
        let count = writer.fieldCount(frame)
        _ = writer.endObject(frame, isPartial: true)
        return count
    }

    private static func first(of cursors: [FieldCursor]) throws(Malformed) -> FieldCursor? {
        var first: FieldCursor?
        for cursor in cursors where !cursor.isAtEnd {
            if let other = first, let order = try cursor.compare(other), order >= 0 { continue }
            first = cursor
        }
        return first
    }

    private func writeField(
        _ entry: EncodedEntry?, _ touched: [(FieldSide, JoinSide)], depth: Int,
        into writer: inout EntryWriter
    ) throws(Malformed) -> Bool {
        let field = try entry?.content(side, isComplete: true) ?? FieldSide(side, isComplete: true)
        var contents = FieldContents()
        for part in Part.allCases where part != .map {
            let dots = field.dots.filter { $0.kind.part == part }
            let isNamed = touched.contains { $0.0.named.contains(PartSet(part)) }
            guard isNamed || dots.contains(where: isUncovered) else { continue }
            contents.named.insert(PartSet(part))
            contents.dots += dots
        }
        let isMapNamed = touched.contains { $0.0.named.contains(.map) }
        let marks = field.dots.filter { $0.kind == .mark }
        if isMapNamed || areMarksTouched(field, touched) { contents.dots += marks }
        if isMapNamed { contents.named.insert(.map) }
        // Overrides are written for named parts, and for those that a touched delta overrides.
        let stated = touched.reduce(contents.named) { $0.union($1.0.overrides) }
        contents.overrides = field.overrides.intersection(stated)
        contents.hasMap = field.map.object != nil || touched.contains { $0.0.map.object != nil }
        return try contents.write(into: &writer, names, depth: depth) {
            (writer) throws(Malformed) in
            if isMapNamed {
                return try copyFields(field.map.object, depth: depth + 1, into: &writer)
            }
            return try writeFields(
                field.map.object,
                touched.compactMap { (field, side) in field.map.object.map { ($0, side) } },
                depth: depth + 1, into: &writer)
        }
    }

    private func copyFields(
        _ object: EncodedObject?, depth: Int, into writer: inout EntryWriter
    ) throws(Malformed) -> Int {
        let frame = writer.beginObject()
        guard let object else {
            _ = writer.endObject(frame)
            return 0
        }
        for index in 0..<object.count {
            try writer.beginField(index, of: object)
            try writer.copy(try object.entry(index), from: side.source, depth: depth)
            writer.endField()
        }
        _ = writer.endObject(frame)
        return object.count
    }
}

extension Array {
    /// Maps as `compactMap` does, but preserves the type of the error.
    fileprivate func compactMap<Result>(
        _ transform: (Element) throws(Malformed) -> Result?
    ) throws(Malformed) -> [Result] {
        var results: [Result] = []
        for element in self {
            if let result = try transform(element) { results.append(result) }
        }
        return results
    }
}
