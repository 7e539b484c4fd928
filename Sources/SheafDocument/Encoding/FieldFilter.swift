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
    /// Keeps those of some documents, named by their indexes, for which a condition holds; returns
    /// how many.
    private typealias Sieve =
        @Sendable (
            _ indexes: UnsafeMutablePointer<UInt16>, _ count: Int,
            _ documents: UnsafePointer<EncodedObject>
        ) throws(Malformed) -> Int

    private let question: Question
    /// The conditions that all have to hold, each for many documents at once.
    private let sieves: [Sieve]

    private init(_ question: @escaping Question) {
        self.init(question) { (indexes, count, documents) throws(Malformed) in
            try Self.keep(indexes, count, documents) { (fields) throws(Malformed) in
                try question(fields) == .yes
            }
        }
    }

    private init(_ question: @escaping Question, _ sieve: @escaping Sieve) {
        self.question = question
        sieves = [sieve]
    }

    private init(_ question: @escaping Question, _ sieves: [Sieve]) {
        self.question = question
        self.sieves = sieves
    }

    /// The loop of a sieve, around a condition that is to be inlined.
    @inline(__always)
    private static func keep(
        _ indexes: UnsafeMutablePointer<UInt16>, _ count: Int,
        _ documents: UnsafePointer<EncodedObject>,
        where holds: (borrowing EncodedObject) throws(Malformed) -> Bool
    ) throws(Malformed) -> Int {
        var kept = 0
        for number in 0..<count {
            let index = indexes[number]
            indexes[kept] = index
            if try holds(documents[Int(index)]) { kept &+= 1 }
        }
        return kept
    }

    /// Writes the indexes of those documents for which the condition holds; returns how many.
    package func keep(
        _ indexes: UnsafeBufferPointer<UInt16>, of documents: UnsafePointer<EncodedObject>,
        into kept: UnsafeMutablePointer<UInt16>
    ) throws(Malformed) -> Int {
        guard let base = indexes.baseAddress else { return 0 }
        kept.update(from: base, count: indexes.count)
        return try keep(kept, indexes.count, of: documents)
    }

    /// Keeps those of some documents, named by their indexes, for which the condition holds; returns
    /// how many.
    func keep(
        _ indexes: UnsafeMutablePointer<UInt16>, _ count: Int,
        of documents: UnsafePointer<EncodedObject>
    ) throws(Malformed) -> Int {
        var count = count
        for sieve in sieves where count > 0 { count = try sieve(indexes, count, documents) }
        return count
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
        case .float(let float): return compare(path, outcomes, float, value, names)
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
                let entry = try path.find(in: fields)
                return try equals(entry, bytes, value, names)
            } _: { (indexes, count, documents) throws(Malformed) in
                try keep(indexes, count, documents, path) { (entry) throws(Malformed) in
                    try equals(entry, bytes, value, names)
                }
            }
        }
        return FieldFilter { (fields) throws(Malformed) in
            let entry = try path.find(in: fields)
            return try order(entry, outcomes, bytes, value, names)
        } _: { (indexes, count, documents) throws(Malformed) in
            try keep(indexes, count, documents, path) { (entry) throws(Malformed) in
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
            try keep(indexes, count, documents, path) { (entry) throws(Malformed) in
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
            try keep(indexes, count, documents, path) { (entry) throws(Malformed) in
                try order(entry, outcomes, float, value, names)
            }
        }
    }

    /// The loop of a sieve for the field at a path.
    @inline(__always)
    private static func keep(
        _ indexes: UnsafeMutablePointer<UInt16>, _ count: Int,
        _ documents: UnsafePointer<EncodedObject>, _ path: FieldPath,
        where answer: (EncodedEntry?) throws(Malformed) -> Answer
    ) throws(Malformed) -> Int {
        guard path.steps.count == 1 else {
            return try keep(indexes, count, documents) { (fields) throws(Malformed) in
                try answer(try path.find(in: fields)) == .yes
            }
        }
        let name = path.steps[0].name
        return try keep(indexes, count, documents) { (fields) throws(Malformed) in
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

    /// The same, and holds where nobody knows.
    package var allowingUnknown: FieldFilter {
        let question = question
        return FieldFilter { (fields) throws(Malformed) in
            try question(fields) == .no ? .no : .yes
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
        let sieves = filters.flatMap(\.sieves)
        if filters.count == 2 {
            let (first, second) = (filters[0].question, filters[1].question)
            let both: Question = { (fields) throws(Malformed) in
                let answer = try first(fields)
                if answer == .no { return .no }
                let other = try second(fields)
                return other == .yes ? answer : other == .no ? .no : .unknown
            }
            return FieldFilter(both, sieves)
        }
        let questions = filters.map(\.question)
        let all: Question = { (fields) throws(Malformed) in
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
        return FieldFilter(all, sieves)
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
