package import SheafBytes

/// A condition on the fields of documents that is asked of many: closures over names that were
/// looked up once.
///
/// The questions are answered here and not where they are put together: a call into another module
/// for each step would cost more than the steps. Nobody knows the answer where a field is null,
/// missing, or of another type than what it is compared with.
package struct FieldFilter: Sendable {
    /// What a condition says of a document.
    package enum Answer: Int8, Sendable {
        case no = 0
        case yes = 1
        case unknown = 2
    }

    private typealias Question = @Sendable (borrowing EncodedObject) throws(Malformed) -> Answer

    private let question: Question

    private init(_ question: @escaping Question) {
        self.question = question
    }

    /// Whether the condition holds for these fields.
    @inline(__always)
    package func holds(_ fields: borrowing EncodedObject) throws(Malformed) -> Bool {
        try question(fields) == .yes
    }

    /// Whether there is a document in these bytes, for which the condition holds.
    package func holds(_ document: UnsafeRawBufferPointer) throws(Malformed) -> Bool {
        guard let fields = try EncodedDocument(document).fields() else { return false }
        return try holds(fields)
    }
}

// MARK: Comparisons

extension FieldFilter {
    /// Which outcomes of a comparison are wanted.
    package struct Outcomes: OptionSet, Sendable {
        package let rawValue: UInt8

        package init(rawValue: UInt8) {
            self.rawValue = rawValue
        }

        package static let less = Outcomes(rawValue: 1)
        package static let equal = Outcomes(rawValue: 2)
        package static let greater = Outcomes(rawValue: 4)

        @inline(__always)
        fileprivate func answer(_ order: Int) -> Answer {
            let outcome: Outcomes = order < 0 ? .less : order == 0 ? .equal : .greater
            return contains(outcome) ? .yes : .no
        }
    }

    /// Whether a field has one of some orders to a value.
    package static func compare(
        _ path: FieldPath, _ outcomes: Outcomes, _ value: Value, _ names: NameTable
    ) -> FieldFilter {
        guard path.isShown else { return compareDecoded(path, outcomes, value, names) }
        switch value {
        case .string(let text): return compare(path, outcomes, text, value, names)
        case .integer(let integer): return compare(path, outcomes, integer, value, names)
        default: return compareDecoded(path, outcomes, value, names)
        }
    }

    private static func compare(
        _ path: FieldPath, _ outcomes: Outcomes, _ text: String, _ value: Value,
        _ names: NameTable
    ) -> FieldFilter {
        let bytes = Array(text.utf8)
        if outcomes == .equal {
            return FieldFilter { (fields) throws(Malformed) in
                guard let entry = try path.find(in: fields), let shown = try entry.shown() else {
                    return .unknown
                }
                guard shown.isText else { return try other(entry, outcomes, value, names) }
                return try bytes.span.withUnsafeBytes { (bytes) throws(Malformed) in
                    try shown.isString(bytes) ? .yes : .no
                }
            }
        }
        return FieldFilter { (fields) throws(Malformed) in
            guard let entry = try path.find(in: fields), let shown = try entry.shown() else {
                return .unknown
            }
            guard shown.isText else { return try other(entry, outcomes, value, names) }
            let found = try shown.payloadBytes()
            return bytes.span.withUnsafeBytes { outcomes.answer(UTF8Order.compare(found, $0)) }
        }
    }

    private static func compare(
        _ path: FieldPath, _ outcomes: Outcomes, _ integer: Int64, _ value: Value,
        _ names: NameTable
    ) -> FieldFilter {
        FieldFilter { (fields) throws(Malformed) in
            guard let entry = try path.find(in: fields), let shown = try entry.shown() else {
                return .unknown
            }
            switch try shown.number() {
            case .integer(let found): return outcomes.answer(NumberOrder.compare(found, integer))
            case .float(let found): return outcomes.answer(-NumberOrder.compare(integer, found))
            case nil: return try other(entry, outcomes, value, names)
            }
        }
    }

    private static func compareDecoded(
        _ path: FieldPath, _ outcomes: Outcomes, _ value: Value, _ names: NameTable
    ) -> FieldFilter {
        FieldFilter { (fields) throws(Malformed) in
            answer(try path.value(in: fields, names), outcomes, value)
        }
    }

    /// What there is to say of a field that holds no plain value of the right type.
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

// MARK: Other questions

extension FieldFilter {
    /// Asks something of the value of a field; nil stands for a missing one.
    package static func ask(
        _ path: FieldPath, _ names: NameTable,
        _ question: @escaping @Sendable (Value?) -> Answer
    ) -> FieldFilter {
        FieldFilter { (fields) throws(Malformed) in
            question(try path.value(in: fields, names))
        }
    }

    /// Whether a string begins with a text.
    package static func hasPrefix(
        _ path: FieldPath, _ prefix: [UInt8], _ names: NameTable
    ) -> FieldFilter {
        FieldFilter { (fields) throws(Malformed) in
            guard path.isShown, let shown = try path.find(in: fields)?.shown(), shown.isText
            else {
                guard case .string(let text)? = try path.value(in: fields, names) else {
                    return .unknown
                }
                return text.utf8.starts(with: prefix) ? .yes : .no
            }
            return try shown.payloadBytes().starts(with: prefix) ? .yes : .no
        }
    }

    /// The opposite; what nobody knows stays unknown.
    package var negated: FieldFilter {
        let question = question
        return FieldFilter { (fields) throws(Malformed) in
            switch try question(fields) {
            case .yes: .no
            case .no: .yes
            case .unknown: .unknown
            }
        }
    }

    /// Whether all hold.
    package static func all(_ filters: [FieldFilter]) -> FieldFilter {
        if filters.count == 2 {
            let (first, second) = (filters[0].question, filters[1].question)
            return FieldFilter { (fields) throws(Malformed) in
                let answer = try first(fields)
                if answer == .no { return .no }
                let other = try second(fields)
                return other == .yes ? answer : other == .no ? .no : .unknown
            }
        }
        let questions = filters.map(\.question)
        return FieldFilter { (fields) throws(Malformed) in
            var answer = Answer.yes
            for question in questions {
                switch try question(fields) {
                case .no: return .no
                case .unknown: answer = .unknown
                case .yes: break
                }
            }
            return answer
        }
    }

    /// Whether one holds.
    package static func any(_ filters: [FieldFilter]) -> FieldFilter {
        let questions = filters.map(\.question)
        return FieldFilter { (fields) throws(Malformed) in
            var answer = Answer.no
            for question in questions {
                switch try question(fields) {
                case .yes: return .yes
                case .unknown: answer = .unknown
                case .no: break
                }
            }
            return answer
        }
    }
}

extension EncodedEntry {
    /// Whether this is a string that is a value.
    @inline(__always)
    fileprivate var isText: Bool { rawTag & ~Tag.referenceBit == Tag.string.rawValue }
}
