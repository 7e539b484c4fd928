package import SheafBytes
package import SheafDocument

/// An encoded document for tests, in which unexpected errors trap.
package struct BytesDocument: MergingDocument, Hashable {
    /// The encoded state; nil if the document was never written.
    package private(set) var bytes: [UInt8]?
    /// The numbered names used for writing.
    package var names = NameTable()

    package static func == (left: Self, right: Self) -> Bool { areEqual(left.bytes, right.bytes) }

    /// Compares bytes; `==` takes several times as long in a debug build.
    private static func areEqual(_ left: [UInt8]?, _ right: [UInt8]?) -> Bool {
        guard let left, let right else { return left == nil && right == nil }
        return left.hasSameBytes(as: right)
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(bytes == nil)
        bytes?.withUnsafeBytes { hasher.combine(bytes: $0) }
    }

    package init() {}

    package init(_ bytes: [UInt8]?, _ names: NameTable = NameTable()) {
        self.bytes = bytes
        self.names = names
    }

    /// Returns the delta of some edits, or nil if they change nothing.
    package func delta(_ edits: [Edit], stamp: Stamp) -> [UInt8]? {
        read { document in
            let editor = try DocumentEditor(document, at: stamp, names)
            for edit in edits { try editor.apply(edit) }
            let bytes = try editor.finish()
            guard let document else { return bytes }
            let delta = try DocumentEditor.delta(of: edits, in: document, at: stamp, names)
            precondition(
                Self.areEqual(delta?.bytes, bytes), "Edits without a draft yield the same delta.")
            if let delta, delta.isDerivable {
                let isDerivable = try delta.bytes.withUnsafeBytes {
                    try Changes.isDerivable(EncodedDocument($0), since: document.vector())
                }
                precondition(
                    isDerivable, "A delta is wrongly claimed to be derivable from its base.")
            }
            var replacement = PlainReplacement()
            if let replaced = try replacement.state(
                after: edits, in: document.bytes, at: stamp, names)
            {
                let joined = try bytes.map { bytes in
                    try bytes.withUnsafeBytes {
                        try Join.join(
                            document, EncodedDocument($0), names, base: document.vector())
                    }
                }
                precondition(
                    Self.areEqual(replaced, joined), "A replaced value equals a joined one.")
            }
            return bytes
        }
    }

    package mutating func join(_ other: [UInt8]?) {
        guard let other else { return }
        guard let bytes else {
            self.bytes = other
            return
        }
        self.bytes = Self.joined(bytes, other, names)
    }

    package static func joined(_ left: [UInt8], _ right: [UInt8], _ names: NameTable) -> [UInt8] {
        left.withUnsafeBytes { left in
            right.withUnsafeBytes { right in
                do {
                    return try Join.join(EncodedDocument(left), EncodedDocument(right), names)
                } catch {
                    fatalError("\(error)")
                }
            }
        }
    }

    package mutating func apply(_ edits: [Edit], stamp: Stamp) {
        join(delta(edits, stamp: stamp))
    }

    package mutating func delete(stamp: Stamp) {
        join(change(.delete, stamp: stamp))
    }

    package mutating func insert(_ object: Object, stamp: Stamp) {
        join(change(.insert(object), stamp: stamp))
    }

    package mutating func insertDifferences(_ object: Object, stamp: Stamp) {
        join(change(.insertDifferences(object), stamp: stamp))
    }

    package mutating func insertInitial(_ object: Object) {
        join(change(.insertInitial(object), stamp: .initial))
    }

    /// Returns the change of an operation, or nil if it changes nothing.
    ///
    /// The change is a state for a new or deleted document, else a delta.
    package func change(_ write: ModelWrite, stamp: Stamp) -> [UInt8]? {
        switch write {
        case .edit(let edits): return delta(edits, stamp: stamp)
        case .delete:
            return read { document in
                guard let document,
                    let deletion = try Insertion.deletion(of: document.bytes, at: stamp)
                else { return nil }
                let joined = Self.joined(Array(document.bytes), deletion, names)
                precondition(joined == deletion, "A deletion must remove all contents.")
                return deletion
            }
        case .insert(let object):
            let edited = delta([.set(path: [], to: .object(object))], stamp: stamp)
            guard bytes == nil else { return edited }
            let inserted = read { _ in try Insertion.document(object, at: stamp, names) }
            precondition(edited == inserted, "An insertion must equal its edits.")
            var encoder = NewDocumentEncoder(listsNames: false)
            let encoded = read { _ in
                try encoder.encode(object, without: "\u{0}", at: stamp, names)
                return Array(encoder.bytes)
            }
            precondition(
                encoded == inserted || object["\u{0}"] != nil, "All encoders encode alike.")
            return inserted
        case .insertDifferences(let object):
            guard value != nil else { return change(.insert(object), stamp: stamp) }
            let edits = read { document in
                try document.map {
                    try Insertion.differences(between: $0.bytes, and: object, names)
                } ?? []
            }
            return edits.isEmpty ? nil : delta(edits, stamp: stamp)
        case .insertInitial(let object):
            guard bytes == nil else { return nil }
            return read { _ in try Insertion.initial(object, names) }
        }
    }

    package func joined(with other: BytesDocument) -> BytesDocument {
        var joined = self
        joined.join(other.bytes)
        return joined
    }

    package var value: Value? {
        read { try $0?.value(names).map(Value.object) }
    }

    package func value(at path: [String], as part: Part) -> Value? {
        guard !path.isEmpty else { return part == .map ? value : nil }
        return read { document in
            try document?.entry(at: path, names)?.value(as: part, names)
        }
    }

    /// Traps if the bytes are not the canonical encoding of the document.
    package func validate() {
        read { try $0?.validate(names) }
    }

    /// The reason why the bytes are not the canonical encoding of the document, or nil.
    package var mistake: Malformed? {
        guard let bytes else { return nil }
        do throws(Malformed) {
            try bytes.span.withUnsafeBytes { bytes throws(Malformed) in
                try EncodedDocument(bytes).validate(names)
            }
            return nil
        } catch {
            return error
        }
    }

    /// The version vector of the document.
    package var vector: VersionVector { read { try $0?.vector() ?? VersionVector() } }

    package var latestTime: HybridTime { read { try $0?.vector().latest ?? .initial } }

    package var dump: [String] {
        read { document in try document.map { try DocumentDump.lines(of: $0, names) } ?? [] }
    }

    /// Calls `body` with the decoded document; an error traps.
    package func read<Result>(_ body: (EncodedDocument?) throws -> Result) -> Result {
        do {
            guard let bytes else { return try body(nil) }
            return try bytes.withUnsafeBytes { try body(try EncodedDocument($0)) }
        } catch {
            fatalError("\(error)")
        }
    }
}

/// Dumps of encoded documents, in the format of `ModelDocument.dump`.
package enum DocumentDump {
    package static func lines(of document: EncodedDocument, _ names: NameTable) throws -> [String] {
        var lines = try document.vector().entries.map {
            line([], "vector", Stamp($0.time, $0.site))
        }
        if let deletion = try document.deletion() { lines.append(line([], "deletion", deletion)) }
        try DotWalk.visit(document, names) { item in
            switch item.kind {
            case .overrides(let parts):
                for part in Part.allCases where parts.contains(PartSet(part)) {
                    lines.append(line(item.path, "override", what: "\(part)"))
                }
            case .empty(let parts), .named(let parts):
                lines.append(line(item.path, "empty", what: "\(parts)"))
            default:
                lines.append(
                    line(
                        item.path, "\(item.kind)", item.stamp, item.epoch,
                        what: item.value.map(key) ?? ""))
            }
        }
        return lines.sorted()
    }

    private static func key(_ value: Value) -> String {
        var writer = SortKeyWriter()
        writer.append(value)
        return DumpText.hexadecimal(writer.bytes)
    }

    private static func line(
        _ path: [String], _ kind: String, _ stamp: Stamp? = nil, _ epoch: Stamp? = nil,
        what: String = ""
    ) -> String {
        let names = DumpText.path(path.map { Array($0.utf8) })
        return [names, kind, text(stamp), text(epoch), what].joined(separator: "|")
    }

    private static func text(_ stamp: Stamp?) -> String {
        stamp.map { "\($0.time.rawValue).\($0.site.rawValue)" } ?? ""
    }
}
