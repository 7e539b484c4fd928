import SheafBytes
import SheafDocument
import Testing

/// Tests of filters on one field, in documents and in columns, against the order of values.
@Suite struct FieldComparisonTests {
    /// The values of the field; nil for a missing one.
    private static let fields: [Value?] = [
        nil, .null, false, true, .integer(.min), -200, 0, 1, 32_768, .integer(1 << 53 + 1),
        .integer(.max), .float(-.infinity), -1.5, -0.0, 0.5, 1.0, .float(0x1p53), .float(0x1p63),
        .float(.nan), "", "a", "a\0", "abcdefgh", "abcdefgi", "abcdefghi", "abcdefghj",
        "caf\u{E9}", .bytes([1]), [1], ["a": 1],
    ]

    private let names = NameTable()

    /// Whether a comparison holds; nil if the values have no common type.
    private func answer(
        _ found: Value?, _ outcomes: FieldFilter.Outcomes, _ operand: Value
    ) -> Bool? {
        guard let found, found.kind == operand.kind, found.kind != .null else { return nil }
        if found == operand { return outcomes.contains(.equal) }
        return outcomes.contains(found < operand ? .less : .greater)
    }

    /// The indexes of the fields for which a condition has a result.
    private func indexes(_ isWanted: (Value?) -> Bool) -> [Int] {
        Self.fields.indices.filter { isWanted(Self.fields[$0]) }
    }

    /// Documents with the values at a path.
    private struct Documents {
        let start: UnsafePointer<EncodedObject>
        let count: Int

        /// Returns the indexes of the documents that a filter selects.
        func selected(by filter: FieldFilter) throws -> [Int] {
            let kept = UnsafeMutablePointer<UInt16>.allocate(capacity: count)
            defer { kept.deallocate() }
            let all = (0..<count).map { UInt16($0) }
            let number = try all.withUnsafeBufferPointer {
                try filter.select($0, of: start, into: kept)
            }
            let selected = (0..<number).map { Int(kept[$0]) }
            let held = try (0..<count).filter { try filter.holds(start[$0]) }
            #expect(selected == held)
            return selected
        }
    }

    /// Calls `body` with a document for each value, in the field at the end of a path.
    private func withDocuments(
        _ path: [String], _ body: (Documents) throws -> Void
    ) throws {
        let stamp = Stamp(HybridTime(rawValue: 5), Site(rawValue: 7))
        let states = try Self.fields.map { value in
            var object = Object()
            for name in path.reversed() {
                var outer = Object()
                outer[name] = name == path.last ? value : .object(object)
                object = outer
            }
            return try Insertion.document(object, at: stamp, names)
        }
        let bytes = Array(states.joined())
        try bytes.withUnsafeBytes { bytes in
            var documents: [EncodedObject] = []
            var start = 0
            for state in states {
                let part = UnsafeRawBufferPointer(rebasing: bytes[start..<start + state.count])
                documents.append(try #require(try EncodedDocument(part).fields()))
                start += state.count
            }
            try documents.withUnsafeBufferPointer { documents in
                let start = try #require(documents.baseAddress)
                try body(Documents(start: start, count: documents.count))
            }
        }
    }

    /// The values of columns, which have no bytes, arrays and objects.
    private func isPlain(_ value: Value?) -> Bool {
        switch value {
        case .bytes?, .array?, .object?: false
        default: true
        }
    }

    /// Returns the column of the documents with plain values.
    private func column(
        _ path: FieldPath, of documents: Documents
    ) throws -> ElementColumn {
        var builder = ElementColumnBuilder(path)
        for index in indexes(isPlain) { try builder.append(documents.start[index]) }
        let column = builder.finish()
        return try #require(column)
    }

    /// Returns the indexes of the documents that a condition selects in a column.
    private func selected(
        by condition: ElementCondition?, in column: ElementColumn
    ) throws -> [Int] {
        let filter = ElementFilter(try #require(condition)) { _ in 0 }
        let plain = indexes(isPlain)
        let rows = UnsafeMutablePointer<UInt16>.allocate(capacity: plain.count)
        defer { rows.deallocate() }
        for row in plain.indices { (rows + row).initialize(to: UInt16(row)) }
        let columns = [column.elements]
        let count = try columns.withUnsafeBufferPointer { columns in
            let base = try #require(columns.baseAddress)
            return filter.select(rows, plain.count, of: base)
        }
        return withExtendedLifetime(column) { (0..<count).map { plain[Int(rows[$0])] } }
    }

    /// The outcomes have a bit for less, equal and greater.
    @Test(
        arguments: [
            (1, ["f"]), (2, ["f"]), (3, ["f"]), (5, ["f"]), (6, ["f"]), (2, ["m", "f"]),
            (4, ["m", "f"]),
        ] as [(UInt8, [String])])
    func `a comparison accepts the values of the same type in an accepted order`(
        _ bits: UInt8, _ path: [String]
    ) throws {
        let outcomes = FieldFilter.Outcomes(rawValue: bits)
        let fieldPath = FieldPath(path, in: names)
        let plain = Set(indexes(isPlain))
        try withDocuments(path) { documents in
            let column = try column(fieldPath, of: documents)
            for operand in Self.fields.compactMap({ $0 }) {
                let filter = FieldFilter.compare(fieldPath, outcomes, operand, names)
                let accepted = indexes { answer($0, outcomes, operand) == true }
                let refused = indexes { answer($0, outcomes, operand) == false }
                let decided = indexes { answer($0, outcomes, operand) != nil }
                let within = indexes { answer($0, outcomes, operand) != false }
                let comment: Comment = "\(outcomes.rawValue), \(operand)"
                #expect(try documents.selected(by: filter) == accepted, comment)
                #expect(try documents.selected(by: filter.negated) == refused, comment)
                #expect(try documents.selected(by: filter.allowingUnknown) == within, comment)
                let bound = FieldBound(fieldPath, outcomes, names)
                bound.replace(with: operand)
                #expect(try documents.selected(by: bound.filter) == within, comment)
                for (condition, expected) in [
                    (filter.elementCondition, accepted),
                    (filter.negated.elementCondition, refused),
                    (bound.filter.elementCondition, within),
                    (FieldFilter.all([filter, bound.filter]).elementCondition, accepted),
                    (FieldFilter.any([filter, bound.filter]).elementCondition, within),
                    (FieldFilter.any([bound.filter.negated, filter]).elementCondition, decided),
                ] {
                    let found = try selected(by: condition, in: column)
                    #expect(found == expected.filter { plain.contains($0) }, comment)
                }
            }
        }
    }

    @Test func `all documents are within a bound without a value`() throws {
        let path = FieldPath(["f"], in: names)
        let bound = FieldBound(path, .less, names)
        try withDocuments(["f"]) { documents in
            let column = try column(path, of: documents)
            let all = Array(Self.fields.indices)
            for _ in 0..<2 {
                #expect(try documents.selected(by: bound.filter) == all)
                let condition = bound.filter.elementCondition
                let found = try selected(by: condition, in: column)
                #expect(found == indexes(isPlain))
                bound.replace(with: -200)
                let within = indexes { answer($0, .less, -200) != false }
                #expect(try documents.selected(by: bound.filter) == within)
                bound.replace(with: nil)
            }
        }
    }

    @Test func `a prefix has an answer for texts only`() throws {
        let path = FieldPath(["f"], in: names)
        try withDocuments(["f"]) { documents in
            let column = try column(path, of: documents)
            for prefix in ["", "a", "ab", "abcdefgh", "abcdefghij", "caf\u{E9}", "c"] {
                let bytes = Array(prefix.utf8)
                func starts(_ value: Value?) -> Bool? {
                    value?.string.map { $0.utf8.starts(with: bytes) }
                }
                let filter = FieldFilter.hasPrefix(path, bytes, names)
                let (accepted, refused) = (
                    indexes { starts($0) == true }, indexes { starts($0) == false }
                )
                #expect(try documents.selected(by: filter) == accepted, "\(prefix)")
                #expect(try documents.selected(by: filter.negated) == refused, "\(prefix)")
                for (condition, expected) in [
                    (filter.elementCondition, accepted),
                    (filter.negated.elementCondition, refused),
                ] {
                    let found = try selected(by: condition, in: column)
                    #expect(found == expected, "\(prefix)")
                }
            }
        }
    }

    @Test(arguments: [
        Value.Kind.boolean, .number, .bytes, .string, .array, .object, .null,
    ])
    func `a filter on the type of a field has an answer for each type`(kind: Value.Kind) throws {
        let path = FieldPath(["f"], in: names)
        let filter = FieldFilter.ofType(path, names) { value in
            guard let value else { return .unknown }
            return value.kind == kind && value != true ? .yes : .no
        }
        try withDocuments(["f"]) { documents in
            let column = try column(path, of: documents)
            let accepted = indexes { $0.map { $0.kind == kind && $0 != true } == true }
            let refused = indexes { $0.map { $0.kind == kind && $0 != true } == false }
            #expect(try documents.selected(by: filter) == accepted)
            #expect(try documents.selected(by: filter.negated) == refused)
            for (condition, expected) in [
                (filter.elementCondition, accepted), (filter.negated.elementCondition, refused),
            ] {
                let found = try selected(by: condition, in: column)
                #expect(found == expected.filter { isPlain(Self.fields[$0]) })
            }
        }
    }
}
