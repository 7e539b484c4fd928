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

    typealias Question = @Sendable (borrowing EncodedObject) throws(Malformed) -> Answer
    /// Keeps those of some documents, named by their indexes, for which a condition holds; returns
    /// how many.
    typealias Sieve =
        @Sendable (
            _ indexes: UnsafeMutablePointer<UInt16>, _ count: Int,
            _ documents: UnsafePointer<EncodedObject>
        ) throws(Malformed) -> Int

    let question: Question
    /// The conditions that all have to hold, each for many documents at once.
    let sieves: [Sieve]

    init(_ question: @escaping Question) {
        self.init(question) { (indexes, count, documents) throws(Malformed) in
            try Self.keep(indexes, count, documents) { (fields) throws(Malformed) in
                try question(fields) == .yes
            }
        }
    }

    init(_ question: @escaping Question, _ sieve: @escaping Sieve) {
        self.question = question
        sieves = [sieve]
    }

    init(_ question: @escaping Question, _ sieves: [Sieve]) {
        self.question = question
        self.sieves = sieves
    }

    /// The loop of a sieve, around a condition that is to be inlined.
    @inline(__always)
    static func keep(
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
