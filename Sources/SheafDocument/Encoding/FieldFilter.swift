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
    /// Returns a filter on the value of a field; nil represents a missing one.
    package static func onField(
        _ path: FieldPath, _ names: NameTable,
        _ question: @escaping @Sendable (Value?) -> Answer
    ) -> FieldFilter {
        FieldFilter { (fields) throws(Malformed) in
            question(try path.value(in: fields, names))
        }
    }

    /// Returns a filter for strings with a prefix.
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
        return FieldFilter { (fields) throws(Malformed) in
            switch try evaluate(fields) {
            case .yes: .no
            case .no: .yes
            case .unknown: .unknown
            }
        }
    }

    /// Returns the conjunction of filters.
    package static func all(_ filters: [FieldFilter]) -> FieldFilter {
        let prefilters = filters.flatMap(\.prefilters)
        if filters.count == 2 {
            let (first, second) = (filters[0].evaluate, filters[1].evaluate)
            let both: Evaluation = { (fields) throws(Malformed) in
                let answer = try first(fields)
                if answer == .no { return .no }
                let other = try second(fields)
                return other == .yes ? answer : other == .no ? .no : .unknown
            }
            return FieldFilter(both, prefilters)
        }
        let evaluations = filters.map(\.evaluate)
        let all: Evaluation = { (fields) throws(Malformed) in
            var answer = Answer.yes
            for evaluate in evaluations {
                switch try evaluate(fields) {
                case .no: return .no
                case .unknown: answer = .unknown
                case .yes: break
                }
            }
            return answer
        }
        return FieldFilter(all, prefilters)
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
    }
}
