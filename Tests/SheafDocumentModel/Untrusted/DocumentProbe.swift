package import SheafDocument

/// A probe that reads untrusted bytes as documents in all supported ways.
///
/// No input may trap, and valid documents must satisfy all invariants. Tests and a fuzzer use it;
/// its functions return a description of the violated invariant.
package struct DocumentProbe {
    /// The operation on a document; the fuzzer runs one per input.
    package enum Aspect: Hashable, Sendable {
        case reading, renaming, joining, inserting
        /// The edits with this index.
        case editing(Int)

        package static let all =
            [reading, renaming, joining, inserting] + edits.indices.map(editing)
    }

    private let names: NameTable
    private let stateBytes: [UInt8]

    /// Creates a probe; `names` are the numbered names.
    package init(_ names: NameTable) {
        self.names = names
        let object = Object.of(
            ("a", ["x": 1, "y": [:]]), ("b", "text"), ("c", [1, ["d": 0.5]]), ("n6", 2))
        var state = BytesDocument(nil, names)
        state.insert(object, stamp: Self.stamp(5, 3))
        state.apply(
            [
                .increment(path: ["k"], by: .integer(1)),
                .incrementOlder(path: ["a"], by: .integer(2)),
                .set(path: ["b"], to: "token", as: .attachment),
            ], stamp: Self.stamp(7, 1))
        stateBytes = state.bytes ?? []
    }

    /// A table with enough names that some numbers need two bytes.
    package static let manyNames =
        NameTable(
            ["a", "b", "x", "q", "y", ""] + (6..<300).map { "n\($0)" }) ?? NameTable()

    private static func stamp(_ time: UInt64, _ site: UInt64) -> Stamp {
        Stamp(HybridTime(rawValue: time), Site(rawValue: site))
    }

    /// Reads one untrusted document; returns the violated invariant, if any.
    package func read(_ bytes: UnsafeRawBufferPointer, _ aspects: [Aspect] = Aspect.all) -> String?
    {
        guard let document = try? EncodedDocument(bytes) else { return nil }
        for aspect in aspects { read(document, aspect) }
        guard isCanonical(document) else { return nil }
        for aspect in aspects {
            do {
                if let violation = try check(document, aspect) { return violation }
            } catch {
                return "\(aspect) of a valid document fails: \(error)"
            }
        }
        return nil
    }

    /// Reads and joins two untrusted documents; returns the violated invariant, if any.
    package func read(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> String? {
        guard let left = try? EncodedDocument(left), let right = try? EncodedDocument(right) else {
            return nil
        }
        let joined = try? Join.join(left, right, names)
        let swapped = try? Join.join(right, left, names)
        if let one = try? Changes.extract(
            from: left, since: try right.vector(), touched: [right], names)
        {
            readShallowly(one)
        }
        guard isCanonical(left), isCanonical(right) else { return nil }
        guard joined == swapped else { return "a join of two valid documents is not commutative" }
        guard let joined else { return nil }
        guard joined.withUnsafeBytes({ isValid($0) }) else {
            return "the join of two valid documents is invalid"
        }
        let again = joined.withUnsafeBytes { bytes in
            try? Join.join(EncodedDocument(bytes), right, names)
        }
        return again == joined ? nil : "a repeated join differs"
    }

    // MARK: Untrusted documents

    private func read(_ document: EncodedDocument, _ aspect: Aspect) {
        switch aspect {
        case .reading:
            _ = try? document.exists()
            _ = try? document.baseVector()
            _ = try? document.deletion()
            _ = try? document.settingBase(document.vector())
            _ = try? document.value(names)
            var writer = JSONWriter()
            _ = try? writer.write(document, names)
            _ = try? DotWalk.visit(document, names) { _ in }
            readFields(document)
        case .renaming:
            _ = try? document.forEachSpelledName { _ in }
            _ = try? document.renamed(from: names, to: NameTable())
            _ = try? document.renamed(from: NameTable(), to: names)
        case .joining: join(document)
        case .inserting:
            _ = try? Insertion.deletion(of: document.bytes, at: Self.stamp(60, 1))
            _ = try? Insertion.differences(
                between: document.bytes, and: .of(("a", ["x": ["q": 1]]), ("b", 2), ("n6", [])),
                names)
            _ = try? Changes.isDerivable(document, since: VersionVector())
        case .editing(let index):
            _ = try? delta(document, edits[index], Self.stamp(50, UInt64(index % 3) + 1))
        }
    }

    private func readFields(_ document: EncodedDocument) {
        for path in [["a"], ["a", "x"], ["b"], ["n6"], [""], ["c", "d", "e"]] {
            guard let entry = try? document.entry(at: path, names) else { continue }
            for part in Part.allCases { _ = try? entry.value(as: part, names) }
            _ = try? entry.value(names)
            _ = try? entry.number()
            let shown = try? entry.shown()
            _ = try? shown?.number()
            _ = "text".utf8.withContiguousStorageIfAvailable { text in
                try? shown?.isString(UnsafeRawBufferPointer(text))
            }
        }
    }

    private func join(_ document: EncodedDocument) {
        _ = try? Join.join(document, document, names)
        stateBytes.withUnsafeBytes { bytes in
            guard let state = try? EncodedDocument(bytes) else { return }
            for (left, right) in [(state, document), (document, state)] {
                if let joined = try? Join.join(left, right, names) { readShallowly(joined) }
            }
            _ = try? Changes.extract(
                from: document, since: VersionVector(), touched: [state], names)
            _ = try? Changes.extract(
                from: state, since: VersionVector(), touched: [document], names)
            _ = try? Changes.extract(
                from: document, since: try document.baseVector(), touched: [document, document],
                names)
        }
    }

    /// Reads bytes derived from an invalid document, which may be invalid themselves.
    private func readShallowly(_ bytes: [UInt8]) {
        bytes.withUnsafeBytes { bytes in
            guard let document = try? EncodedDocument(bytes) else { return }
            _ = try? document.value(names)
            _ = try? document.validate(names)
        }
    }

    // MARK: Valid documents

    private func isValid(_ bytes: UnsafeRawBufferPointer) -> Bool {
        (try? EncodedDocument(bytes).validate(names)) != nil
    }

    /// Whether a document is valid and uses numbers for all numbered names.
    private func isCanonical(_ document: EncodedDocument) -> Bool {
        guard (try? document.validate(names)) != nil else { return false }
        var hasNumbered = false
        _ = try? document.forEachSpelledName { spelling in
            if names.number(of: spelling) != nil { hasNumbered = true }
        }
        return !hasNumbered
    }

    private func check(_ document: EncodedDocument, _ aspect: Aspect) throws -> String? {
        switch aspect {
        case .reading: try checkReading(document)
        case .renaming: try checkRenaming(document)
        case .joining: try checkJoin(document)
        case .inserting: nil
        case .editing(let index): try checkEdits(document, edits[index])
        }
    }

    private func checkReading(_ document: EncodedDocument) throws -> String? {
        let value = try document.value(names)
        if !document.isPartial {
            var writer = JSONWriter()
            try writer.write(document, names)
            let json = value.map { Value.object($0).json } ?? "null"
            if String(decoding: writer.bytes, as: UTF8.self) != json {
                return "JSON is \(String(decoding: writer.bytes, as: UTF8.self)), expected \(json)"
            }
        }
        try DotWalk.visit(document, names) { _ in }
        return nil
    }

    private func checkJoin(_ document: EncodedDocument) throws -> String? {
        // A join ignores the base of a state.
        let joined = try Join.join(document, document, names)
        let expected = document.isPartial ? Array(document.bytes) : try document.settingBase(nil)
        return joined == expected ? nil : "a join with itself differs"
    }

    private func checkRenaming(_ document: EncodedDocument) throws -> String? {
        let spelled = try document.renamed(from: names, to: NameTable())
        return try spelled.withUnsafeBytes { bytes in
            let portable = try EncodedDocument(bytes)
            do { try portable.validate(NameTable()) } catch {
                return "the document with spelled names is invalid: \(error)"
            }
            let back = try portable.renamed(from: NameTable(), to: names)
            return back == Array(document.bytes) ? nil : "renaming it back does not restore it"
        }
    }

    private func checkEdits(_ document: EncodedDocument, _ edits: [Edit]) throws -> String? {
        let seen = try document.vector()
        guard !document.isPartial, seen.latest.rawValue < .max else { return nil }
        let stamp = Self.stamp(
            seen.latest.rawValue + 1, seen.entries.first?.site.rawValue ?? 9)
        let delta = try delta(document, edits, stamp)
        guard try delta?.bytes == drafted(document, edits, stamp) else {
            return "the draft editor encodes \(edits) as a different delta"
        }
        guard let delta else { return nil }
        return try delta.bytes.withUnsafeBytes { bytes -> String? in
            let change = try EncodedDocument(bytes)
            do { try change.validate(names) } catch {
                return "the delta of \(edits) is invalid: \(error)"
            }
            if let violation = try checkClaims(delta, change, seen) { return violation }
            return try checkDelta(change, on: document, seen)
        }
    }

    /// Checks the properties claimed at the creation of a delta.
    private func checkClaims(
        _ delta: ChangedBytes, _ change: EncodedDocument, _ seen: VersionVector
    ) throws -> String? {
        if delta.isDerivable, try !Changes.isDerivable(change, since: seen) {
            return "a delta is wrongly claimed to be derivable from its base"
        }
        var spellsNames = false
        try change.forEachSpelledName { _ in spellsNames = true }
        return delta.spellsNames || !spellsNames ? nil : "a delta spells names, against its claim"
    }

    private func checkDelta(
        _ delta: EncodedDocument, on document: EncodedDocument, _ seen: VersionVector
    ) throws -> String? {
        let joined = try Join.join(document, delta, names)
        return try joined.withUnsafeBytes { bytes -> String? in
            let state = try EncodedDocument(bytes)
            do { try state.validate(names) } catch {
                return "the edited document is invalid: \(error)"
            }
            let extracted = try Changes.extract(from: state, since: seen, touched: [delta], names)
            return try extracted.withUnsafeBytes { bytes -> String? in
                let extract = try EncodedDocument(bytes)
                do { try extract.validate(names) } catch {
                    return "an extract is invalid: \(error)"
                }
                let again = try Join.join(document, extract, names)
                return again == joined ? nil : "joining an extract differs from joining the delta"
            }
        }
    }

    private func delta(
        _ document: EncodedDocument, _ edits: [Edit], _ stamp: Stamp
    ) throws(DocumentError) -> ChangedBytes? {
        try DocumentEditor.delta(of: edits, in: document, at: stamp, names)
    }

    private func drafted(
        _ document: EncodedDocument, _ edits: [Edit], _ stamp: Stamp
    ) throws(DocumentError) -> [UInt8]? {
        let editor = try DocumentEditor(document, at: stamp, names)
        for edit in edits { try editor.apply(edit) }
        return try editor.finish()
    }
}

private let edits: [[Edit]] = [
    [.set(path: ["a", "x"], to: ["q": 1])],
    [.set(path: [], to: ["a": 1, "b": ["x": [1, 2.5]]])],
    [.set(path: ["a"], to: ["q": 1], as: .register), .set(path: ["b"], to: 1, as: .attachment)],
    [.unset(path: ["a"])],
    [.unset(path: ["b", "x"]), .unset(path: ["n6"], parts: [.map, .counter])],
    [.increment(path: ["a"], by: .integer(1)), .increment(path: ["k", "x"], by: .float(0.5))],
    [.incrementOlder(path: ["a"], by: .integer(.max)), .restart(path: ["b"], with: .integer(2))],
    [.unset(path: ["a"]), .set(path: ["a", "y"], to: 1), .unset(path: ["a", "y"])],
    // The edits below need no draft if the fields have at most one value.
    [.set(path: ["b"], to: 1)],
    [.set(path: ["n6"], to: "text"), .set(path: ["a"], to: ["q": 1], as: .register)],
    [.set(path: [""], to: 1), .set(path: ["new"], to: [["n7": 2]]), .set(path: ["c"], to: .null)],
]
