import SheafBytes

/// Filters that compare the value of a field.
extension FieldFilter {
    /// The accepted results of a comparison.
    package struct Outcomes: OptionSet, Sendable {
        package let rawValue: UInt8

        package init(rawValue: UInt8) {
            self.rawValue = rawValue
        }

        package static let less = Outcomes(rawValue: 1)
        package static let equal = Outcomes(rawValue: 2)
        package static let greater = Outcomes(rawValue: 4)

        @inline(__always)
        func answer(_ order: Int) -> Answer {
            let outcome: Outcomes = order < 0 ? .less : order == 0 ? .equal : .greater
            return contains(outcome) ? .yes : .no
        }
    }

    /// Returns a filter for documents whose field compares to a value with an accepted result.
    package static func compare(
        _ path: FieldPath, _ outcomes: Outcomes, _ value: Value, _ names: NameTable
    ) -> FieldFilter {
        guard path.isShown else { return compareDecoded(path, outcomes, value, names) }
        let filter =
            switch value {
            case .string(let text): compare(path, outcomes, text, value, names)
            case .integer(let integer): compare(path, outcomes, integer, value, names)
            case .float(let float): compare(path, outcomes, float, value, names)
            default: compareDecoded(path, outcomes, value, names)
            }
        return filter.decided(by: .comparison(path, outcomes, value))
    }

    private static func compare(
        _ path: FieldPath, _ outcomes: Outcomes, _ text: String, _ value: Value,
        _ names: NameTable
    ) -> FieldFilter {
        let bytes = Array(text.utf8)
        if outcomes == .equal {
            return FieldFilter { (fields) throws(Malformed) in
                let entry = try path.find(in: fields)
                return try equals(entry, bytes, value, names)
            } _: { (indexes, count, documents) throws(Malformed) in
                try select(indexes, count, documents, path) { (entry) throws(Malformed) in
                    try equals(entry, bytes, value, names)
                }
            }
        }
        return FieldFilter { (fields) throws(Malformed) in
            let entry = try path.find(in: fields)
            return try order(entry, outcomes, bytes, value, names)
        } _: { (indexes, count, documents) throws(Malformed) in
            try select(indexes, count, documents, path) { (entry) throws(Malformed) in
                try order(entry, outcomes, bytes, value, names)
            }
        }
    }

    private static func compare(
        _ path: FieldPath, _ outcomes: Outcomes, _ integer: Int64, _ value: Value,
        _ names: NameTable
    ) -> FieldFilter {
        FieldFilter { (fields) throws(Malformed) in
            let entry = try path.find(in: fields)
            return try order(entry, outcomes, integer, value, names)
        } _: { (indexes, count, documents) throws(Malformed) in
            try select(indexes, count, documents, path) { (entry) throws(Malformed) in
                try order(entry, outcomes, integer, value, names)
            }
        }
    }

    private static func compare(
        _ path: FieldPath, _ outcomes: Outcomes, _ float: Double, _ value: Value,
        _ names: NameTable
    ) -> FieldFilter {
        FieldFilter { (fields) throws(Malformed) in
            let entry = try path.find(in: fields)
            return try order(entry, outcomes, float, value, names)
        } _: { (indexes, count, documents) throws(Malformed) in
            try select(indexes, count, documents, path) { (entry) throws(Malformed) in
                try order(entry, outcomes, float, value, names)
            }
        }
    }

    /// Runs the loop of a batch filter on one field.
    @inline(__always)
    private static func select(
        _ indexes: UnsafeMutablePointer<UInt16>, _ count: Int,
        _ documents: UnsafePointer<EncodedObject>, _ path: FieldPath,
        where answer: (EncodedEntry?) throws(Malformed) -> Answer
    ) throws(Malformed) -> Int {
        guard path.steps.count == 1 else {
            return try select(indexes, count, documents) { (fields) throws(Malformed) in
                try answer(try path.find(in: fields)) == .yes
            }
        }
        let name = path.steps[0].name
        return try select(indexes, count, documents) { (fields) throws(Malformed) in
            try answer(try fields.find(name)) == .yes
        }
    }

    @inline(__always)
    private static func equals(
        _ entry: EncodedEntry?, _ bytes: [UInt8], _ value: Value, _ names: NameTable
    ) throws(Malformed) -> Answer {
        guard let entry, let shown = try entry.shown() else { return .unknown }
        guard shown.isText else { return try other(entry, .equal, value, names) }
        return try bytes.span.withUnsafeBytes { (bytes) throws(Malformed) in
            try shown.isString(bytes) ? .yes : .no
        }
    }

    @inline(__always)
    private static func order(
        _ entry: EncodedEntry?, _ outcomes: Outcomes, _ bytes: [UInt8], _ value: Value,
        _ names: NameTable
    ) throws(Malformed) -> Answer {
        guard let entry, let shown = try entry.shown() else { return .unknown }
        guard shown.isText else { return try other(entry, outcomes, value, names) }
        let found = try shown.payloadBytes()
        return bytes.span.withUnsafeBytes { outcomes.answer(UTF8Order.compare(found, $0)) }
    }

    @inline(__always)
    private static func order(
        _ entry: EncodedEntry?, _ outcomes: Outcomes, _ integer: Int64, _ value: Value,
        _ names: NameTable
    ) throws(Malformed) -> Answer {
        guard let entry, let shown = try entry.shown() else { return .unknown }
        switch try shown.number() {
        case .integer(let found): return outcomes.answer(NumberOrder.compare(found, integer))
        case .float(let found): return outcomes.answer(-NumberOrder.compare(integer, found))
        case nil: return try other(entry, outcomes, value, names)
        }
    }

    @inline(__always)
    private static func order(
        _ entry: EncodedEntry?, _ outcomes: Outcomes, _ float: Double, _ value: Value,
        _ names: NameTable
    ) throws(Malformed) -> Answer {
        guard let entry, let shown = try entry.shown() else { return .unknown }
        switch try shown.number() {
        case .integer(let found): return outcomes.answer(NumberOrder.compare(found, float))
        case .float(let found): return outcomes.answer(NumberOrder.compare(found, float))
        case nil: return try other(entry, outcomes, value, names)
        }
    }

    private static func compareDecoded(
        _ path: FieldPath, _ outcomes: Outcomes, _ value: Value, _ names: NameTable
    ) -> FieldFilter {
        FieldFilter { (fields) throws(Malformed) in
            answer(try path.value(in: fields, names), outcomes, value)
        }
    }

    /// Compares a field without a plain value of the expected type.
    @inline(never)
    private static func other(
        _ entry: EncodedEntry, _ outcomes: Outcomes, _ value: Value, _ names: NameTable
    ) throws(Malformed) -> Answer {
        answer(try entry.value(names), outcomes, value)
    }

    private static func answer(_ found: Value?, _ outcomes: Outcomes, _ value: Value) -> Answer {
        guard let found, found.kind == value.kind, found.kind != .null else { return .unknown }
        return outcomes.answer(found.compare(value))
    }
}

extension EncodedEntry {
    /// Whether the entry is a string value.
    @inline(__always)
    var isText: Bool { rawTag & ~Tag.referenceBit == Tag.string.rawValue }
}
