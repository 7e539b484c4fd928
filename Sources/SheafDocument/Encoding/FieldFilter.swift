package import SheafBytes

/// A condition on document fields, compiled to closures over resolved names.
///
/// The closures are in this module, since a call across modules for each step would cost more than
/// the steps. A comparison is unknown if its field is null, missing, or of a type other than that
/// of the operand.
package struct FieldFilter: Sendable {
    /// The result of a condition, in three-valued logic.
    package enum Answer: Int8, Sendable {
        case no = 0
        case yes = 1
        case unknown = 2

        /// The negation; unknown remains unknown.
        @inline(__always)
        var negated: Answer {
            switch self {
            case .yes: .no
            case .no: .yes
            case .unknown: .unknown
            }
        }
    }

    typealias Evaluation = @Sendable (borrowing EncodedObject) throws(Malformed) -> Answer
    /// A batch condition: keeps the indexes of matching documents, and returns their number.
    typealias Prefilter =
        @Sendable (
            _ indexes: UnsafeMutablePointer<UInt16>, _ count: Int,
            _ documents: UnsafePointer<EncodedObject>
        ) throws(Malformed) -> Int

    let evaluate: Evaluation
    /// Batch conditions, all of which must hold.
    let prefilters: [Prefilter]
    /// The same condition on elements of fields; nil if they do not decide it.
    package private(set) var elementCondition: ElementCondition?

    init(_ evaluate: @escaping Evaluation) {
        self.init(evaluate) { (indexes, count, documents) throws(Malformed) in
            try Self.select(indexes, count, documents) { (fields) throws(Malformed) in
                try evaluate(fields) == .yes
            }
        }
    }

    init(_ evaluate: @escaping Evaluation, _ prefilter: @escaping Prefilter) {
        self.evaluate = evaluate
        prefilters = [prefilter]
    }

    init(_ evaluate: @escaping Evaluation, _ prefilters: [Prefilter]) {
        self.evaluate = evaluate
        self.prefilters = prefilters
    }

    /// Returns the same filter with its condition on elements.
    func decided(by condition: ElementCondition?) -> FieldFilter {
        var filter = self
        filter.elementCondition = condition
        return filter
    }

    /// Runs the loop of a batch condition around an inlined predicate.
    @inline(__always)
    static func select(
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

    /// Copies the indexes of matching documents to `kept`; returns their number.
    package func select(
        _ indexes: UnsafeBufferPointer<UInt16>, of documents: UnsafePointer<EncodedObject>,
        into kept: UnsafeMutablePointer<UInt16>
    ) throws(Malformed) -> Int {
        guard let base = indexes.baseAddress else { return 0 }
        kept.update(from: base, count: indexes.count)
        return try select(kept, indexes.count, of: documents)
    }

    /// Keeps the indexes of matching documents; returns their number.
    package func select(
        _ indexes: UnsafeMutablePointer<UInt16>, _ count: Int,
        of documents: UnsafePointer<EncodedObject>
    ) throws(Malformed) -> Int {
        var count = count
        for prefilter in prefilters where count > 0 {
            count = try prefilter(indexes, count, documents)
        }
        return count
    }

    /// Whether the condition holds; false if its result is unknown.
    @inline(__always)
    package func holds(_ fields: borrowing EncodedObject) throws(Malformed) -> Bool {
        try evaluate(fields) == .yes
    }

    /// Whether the condition holds for an encoded document; false if it has no root.
    package func accepts(_ document: UnsafeRawBufferPointer) throws(Malformed) -> Bool {
        guard let fields = try EncodedDocument(document).fields() else { return false }
        return try holds(fields)
    }
}

extension FieldFilter {
    /// Returns a filter on the type of a field or the value of a boolean.
    ///
    /// A missing field is nil. The answer must be the same for all numbers, and for all texts.
    package static func ofType(
        _ path: FieldPath, _ names: NameTable,
        _ question: @escaping @Sendable (Value?) -> Answer
    ) -> FieldFilter {
        let filter = FieldFilter { (fields) throws(Malformed) in
            question(try path.value(in: fields, names))
        }
        return path.isShown
            ? filter.decided(by: .kind(path, ElementCondition.answers(question))) : filter
    }

    /// Returns a filter for strings with a prefix.
    package static func hasPrefix(
        _ path: FieldPath, _ prefix: [UInt8], _ names: NameTable
    ) -> FieldFilter {
        let filter = FieldFilter { (fields) throws(Malformed) in
            guard path.isShown, let shown = try path.find(in: fields)?.shown(), shown.isText
            else {
                guard case .string(let text)? = try path.value(in: fields, names) else {
                    return .unknown
                }
                return text.utf8.starts(with: prefix) ? .yes : .no
            }
            return try shown.payloadBytes().starts(with: prefix) ? .yes : .no
        }
        return path.isShown ? filter.decided(by: .prefix(path, prefix)) : filter
    }

    /// The filter that also accepts unknown results.
    package var allowingUnknown: FieldFilter {
        let evaluate = evaluate
        return FieldFilter { (fields) throws(Malformed) in
            try evaluate(fields) == .no ? .no : .yes
        }
    }

    /// The negation; unknown remains unknown.
    package var negated: FieldFilter {
        let evaluate = evaluate
        return FieldFilter { (fields) throws(Malformed) in try evaluate(fields).negated }
            .decided(by: elementCondition.map { .negated($0) })
    }

    /// Returns the conditions on elements of all filters; nil if one has none.
    private static func elementConditions(_ filters: [FieldFilter]) -> [ElementCondition]? {
        let conditions = filters.compactMap(\.elementCondition)
        return conditions.count == filters.count ? conditions : nil
    }

    /// Returns the conjunction of filters.
    package static func all(_ filters: [FieldFilter]) -> FieldFilter {
        FieldFilter(conjunction(filters[...]), filters.flatMap(\.prefilters))
            .decided(by: elementConditions(filters).map { .all($0) })
    }

    /// Returns the conjunction of two halves of the filters, so that a pair needs no loop.
    private static func conjunction(_ filters: ArraySlice<FieldFilter>) -> Evaluation {
        guard let last = filters.last else { return { _ in .yes } }
        guard filters.count > 1 else { return last.evaluate }
        let middle = filters.startIndex + filters.count / 2
        let first = conjunction(filters[..<middle])
        let second = conjunction(filters[middle...])
        return { (fields) throws(Malformed) in
            let answer = try first(fields)
            if answer == .no { return .no }
            let other = try second(fields)
            return other == .yes ? answer : other
        }
    }

    /// Returns the disjunction of filters.
    package static func any(_ filters: [FieldFilter]) -> FieldFilter {
        let evaluations = filters.map(\.evaluate)
        return FieldFilter { (fields) throws(Malformed) in
            var answer = Answer.no
            for evaluate in evaluations {
                switch try evaluate(fields) {
                case .yes: return .yes
                case .unknown: answer = .unknown
                case .no: break
                }
            }
            return answer
        }
        .decided(by: elementConditions(filters).map { .any($0) })
    }
}
