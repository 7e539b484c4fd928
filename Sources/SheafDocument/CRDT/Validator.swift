package import SheafBytes

extension EncodedDocument {
    /// Throws if a document from an untrusted source violates the format.
    ///
    /// Encodings are canonical, so the document is rewritten and compared. The first violation
    /// found is reported.
    package func validate(_ names: NameTable) throws(Malformed) {
        _ = try validateAndFindTokens(names)
    }

    /// Validates the document, and returns whether it has tokens.
    package func validateAndFindTokens(_ names: NameTable) throws(Malformed) -> Bool {
        guard bytes.count <= EncodedDocument.maximumLength else {
            throw .tooLong(
                at: 0, length: UInt64(bytes.count), limit: UInt64(EncodedDocument.maximumLength))
        }
        // The fast path accepts only values and maps.
        guard !QuickCheck.passes(self, names) else { return false }
        try validateThoroughly(names)
        return try hasTokens()
    }

    /// Validates the document without the fast path.
    package func validateThoroughly(_ names: NameTable) throws(Malformed) {
        let validator = try Validator(self, names)
        let rewritten = try validator.rewrite()
        guard rewritten.withUnsafeBytes({ $0.hasSameBytes(as: bytes) }) else {
            let offset = zip(rewritten, bytes).enumerated().first { $0.element.0 != $0.element.1 }
            throw .invalid(
                "a non-canonical encoding",
                at: offset?.offset ?? min(rewritten.count, bytes.count))
        }
    }
}

/// A rewriter of a document that checks the rules whose violation a comparison would not detect.
private struct Validator {
    private let side: JoinSide
    private let base: VersionVector?
    private let deletion: Stamp?
    private let names: NameTable

    init(_ document: EncodedDocument, _ names: NameTable) throws(Malformed) {
        try document.header().validate()
        side = try JoinSide(document)
        base = document.flags & HeaderBits.base == 0 ? nil : try document.baseVector()
        deletion = try document.deletion()
        self.names = names
    }

    func rewrite() throws(Malformed) -> [UInt8] {
        let document = side.document
        return try DocumentWriter.write(
            vector: side.header.vector(), base: base, deletion: deletion,
            isPartial: document.isPartial,
            capacity: document.bytes.count
        ) { (writer) throws(Malformed) in
            try rewriteRoot(document.root, isPartial: document.isPartial, into: &writer)
        }
    }

    private func rewriteRoot(
        _ root: EncodedEntry, isPartial: Bool, into writer: inout EntryWriter
    ) throws(Malformed) {
        let field = try root.content(side, isComplete: !isPartial)
        let object = field.map.object
        if object == nil {
            guard try root.tag() == .noRoot, !isPartial else {
                throw .unexpected(root.rawTag, at: root.start)
            }
        }
        guard field.overrides.isEmpty, field.dots.allSatisfy({ $0.kind == .mark }),
            object.map(\.isPartial) ?? isPartial == isPartial
        else { throw .invalid("a root that is no map, or has a wrong partial bit", at: root.start) }
        try check(field, at: root.start, dropsSeeds: deletion != nil)
        try writer.writeRoot(marks: field.dots, isPartial: isPartial) {
            (writer) throws(Malformed) in
            guard let object else { return 0 }
            return try rewriteFields(
                object, dropsSeeds: deletion != nil, depth: 1, into: &writer)
        }
    }

    private func rewriteFields(
        _ object: EncodedObject, dropsSeeds: Bool, depth: Int, into writer: inout EntryWriter
    ) throws(Malformed) -> Int {
        guard depth <= Value.maximumDepth else {
            throw .tooDeep(at: object.start, limit: Value.maximumDepth)
        }
        let frame = writer.beginObject()
        for index in 0..<object.count {
            try begin(index, of: object, in: &writer)
            try rewrite(
                try object.entry(index), isPartial: object.isPartial, dropsSeeds: dropsSeeds,
                depth: depth, into: &writer)
            writer.endField()
        }
        guard writer.endObject(frame, isPartial: object.isPartial) == nil else {
            throw .invalid("a duplicate name", at: object.namesAt)
        }
        return object.count
    }

    private func begin(
        _ index: Int, of object: EncodedObject, in writer: inout EntryWriter
    ) throws(Malformed) {
        let name = try object.name(index, names)
        if index >= object.numberedCount, let number = names.number(of: Array(name.utf8)),
            object.index(ofNumber: UInt32(number)) != nil
        {
            throw .invalid("a duplicate name", at: try object.content(index).lowerBound)
        }
        try writer.beginField(index, of: object)
    }

    private func rewrite(
        _ entry: EncodedEntry, isPartial: Bool, dropsSeeds: Bool, depth: Int,
        into writer: inout EntryWriter
    ) throws(Malformed) {
        let field = try entry.content(side, isComplete: !isPartial)
        if dropsSeeds, !field.overrides.isEmpty {
            throw .invalid("redundant overrides", at: entry.start)
        }
        // Overriding a map affects its content, but not the other parts of the field.
        try check(field, at: entry.start, dropsSeeds: dropsSeeds)
        let dropsSeeds = dropsSeeds || field.overrides.contains(.map)
        try entry.forEachEntry { (entry) throws(Malformed) in
            let tag = try entry.tag()
            if tag == .noRoot || tag == .empty && !isPartial {
                throw .unexpected(entry.rawTag, at: entry.start)
            }
            if !tag.hasStamp, entry.hasReference {
                throw .unexpected(entry.rawTag, at: entry.start)
            }
            if tag == .mark, try !entry.payload().isEmpty {
                throw .invalid("a mark with content", at: entry.start)
            }
        }
        for dot in field.dots {
            if case .encoded(let value) = dot.content {
                try checkValue(value, depth: depth, isNumber: dot.kind.part.isCounter)
            }
        }
        var contents = FieldContents()
        contents.dots = field.dots
        contents.hasMap = field.map.object != nil
        contents.overrides = field.overrides
        contents.named = isPartial ? field.named : []
        guard field.map.object.map({ isPartial || !$0.isPartial }) ?? true else {
            throw .invalid("a partial map in a complete one", at: entry.start)
        }
        let isPresent = try contents.write(into: &writer, names, depth: depth) {
            (writer) throws(Malformed) in
            guard let object = field.map.object else { return 0 }
            return try rewriteFields(
                object, dropsSeeds: dropsSeeds, depth: depth + 1, into: &writer)
        }
        guard isPresent else { throw .invalid("an empty field", at: entry.start) }
    }

    /// Checks the dots of a field against each other, and against overrides.
    private func check(
        _ field: FieldSide, at offset: Int, dropsSeeds: Bool
    ) throws(Malformed) {
        if field.dots.count > 1 {
            let writers = Set(
                field.dots.map {
                    Dot.Identity(kind: $0.kind, stamp: Stamp(.initial, $0.stamp.site))
                })
            guard writers.count == field.dots.count else {
                throw .invalid("two dots of one kind and site", at: offset)
            }
        }
        for dot in field.dots {
            if dot.stamp == .initial,
                dropsSeeds || field.overrides.contains(PartSet(dot.kind.part))
            {
                throw .invalid("an overridden seed", at: offset)
            }
        }
    }

    /// Checks a register, or the content of another dot, by rewriting it.
    private func checkValue(
        _ entry: EncodedEntry, depth: Int, isNumber: Bool
    ) throws(Malformed) {
        let isRight = try isNumber ? entry.number() != nil : entry.tag().isValue
        guard isRight else { throw .unexpected(entry.rawTag, at: entry.start) }
        var writer = EntryWriter(
            stamps: StampTable(VersionVector()), referenceWidth: 1,
            capacity: entry.end - entry.start)
        try rewriteValue(entry, depth: depth, into: &writer)
        let payload = try entry.payloadBytes()
        let isAsWritten = UnsafeRawBufferPointer(rebasing: writer.bytes.dropFirst())
            .hasSameBytes(as: payload)
        withExtendedLifetime(writer) {}
        guard isAsWritten else {
            throw .invalid("a value in a non-canonical encoding", at: entry.start)
        }
    }

    private func rewriteValue(
        _ entry: EncodedEntry, depth: Int, into writer: inout EntryWriter
    ) throws(Malformed) {
        let tag = try entry.tag()
        switch tag {
        case .null, .no, .yes: writer.write(tag)
        case .integer8, .integer16, .integer32, .integer64, .float:
            guard let number = try entry.number() else {
                throw .unexpected(entry.rawTag, at: entry.start)
            }
            writer.write(number)
        case .string:
            writer.write(tag)
            _ = try text(try entry.payloadBytes(), at: entry.start)
            writer.write(try entry.payloadBytes())
        case .bytes:
            writer.write(tag)
            writer.write(try entry.payloadBytes())
        case .array:
            guard depth < Value.maximumDepth else {
                throw .tooDeep(at: entry.start, limit: Value.maximumDepth)
            }
            writer.write(tag)
            let array = try entry.array()
            let start = writer.count
            var ends: [Int] = []
            for index in 0..<array.count {
                try rewritePlain(try array.element(index), depth: depth + 1, into: &writer)
                ends.append(writer.count - start)
            }
            writer.endArray(ends)
        case .object:
            guard depth < Value.maximumDepth else {
                throw .tooDeep(at: entry.start, limit: Value.maximumDepth)
            }
            writer.write(tag)
            let object = try entry.object()
            let frame = writer.beginObject()
            for index in 0..<object.count {
                try begin(index, of: object, in: &writer)
                try rewritePlain(try object.entry(index), depth: depth + 1, into: &writer)
                writer.endField()
            }
            guard writer.endObject(frame) == nil else {
                throw .invalid("a duplicate name", at: object.namesAt)
            }
        default: throw .unexpected(entry.rawTag, at: entry.start)
        }
    }

    /// Rewrites an element of a value, which must have no reference.
    private func rewritePlain(
        _ entry: EncodedEntry, depth: Int, into writer: inout EntryWriter
    ) throws(Malformed) {
        guard !entry.hasReference else { throw .unexpected(entry.rawTag, at: entry.start) }
        try rewriteValue(entry, depth: depth, into: &writer)
    }
}

extension Part {
    var isCounter: Bool { self == .counter || self == .olderCounter }
}
