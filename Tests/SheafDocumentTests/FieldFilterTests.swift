import SheafDocument
import Testing

/// Conjunctions, disjunctions and negations of filters.
@Suite struct FieldFilterTests {
    /// The answers of a filter; a conjunction has the least, and a disjunction the greatest.
    private enum Answer: Int, CaseIterable, Comparable {
        case no, unknown, yes

        static func < (left: Answer, right: Answer) -> Bool { left.rawValue < right.rawValue }

        /// The value of a field that is compared with 1; nil for a missing field.
        var value: Value? {
            switch self {
            case .no: 2
            case .unknown: nil
            case .yes: 1
            }
        }
    }

    /// Returns a filter for documents whose field `f0`, `f1` and so on is 1.
    private func isOne(_ number: Int) -> FieldFilter {
        let names = NameTable()
        return .compare(FieldPath(["f\(number)"], in: names), .equal, 1, names)
    }

    private func document(_ answers: [Answer]) throws -> [UInt8] {
        var object = Object()
        for (number, answer) in answers.enumerated() { object["f\(number)"] = answer.value }
        let stamp = Stamp(HybridTime(milliseconds: 1), Site(rawValue: 7))
        return try Insertion.document(object, at: stamp, NameTable())
    }

    private func accepts(_ filter: FieldFilter, _ document: [UInt8]) throws -> Bool {
        try document.withUnsafeBytes { try filter.accepts($0) }
    }

    /// Whether a filter keeps the document in a batch.
    private func keeps(_ filter: FieldFilter, _ document: [UInt8]) throws -> Bool {
        try document.withUnsafeBytes { (bytes) throws -> Bool in
            let fields = try #require(try EncodedDocument(bytes).fields())
            return try withUnsafePointer(to: fields) { (documents) throws -> Bool in
                var index: UInt16 = 0
                return try filter.select(&index, 1, of: documents) == 1
            }
        }
    }

    /// Returns the answer of a filter; nil if a batch, the negation or `allowingUnknown` differs.
    private func answer(_ filter: FieldFilter, _ document: [UInt8]) throws -> Answer? {
        let isYes = try accepts(filter, document)
        let isNo = try accepts(filter.negated, document)
        guard try keeps(filter, document) == isYes, !(isYes && isNo),
            try accepts(filter.allowingUnknown, document) == !isNo
        else { return nil }
        return isYes ? .yes : isNo ? .no : .unknown
    }

    @Test(arguments: 0...4)
    func `combined filters have the answers of three-valued logic`(count: Int) throws {
        let filters = (0..<count).map { isOne($0) }
        var combinations: [[Answer]] = [[]]
        for _ in 0..<count {
            combinations = combinations.flatMap { answers in
                Answer.allCases.map { answers + [$0] }
            }
        }
        for answers in combinations {
            let document = try document(answers)
            let (all, any) = (FieldFilter.all(filters), FieldFilter.any(filters))
            #expect(try answer(all, document) == answers.min() ?? .yes, "all of \(answers)")
            #expect(try answer(any, document) == answers.max() ?? .no, "any of \(answers)")
        }
    }

    @Test(arguments: 1...4)
    func `elements decide a combined filter if they decide all of its parts`(count: Int) {
        let filters = (0..<count).map { isOne($0) }
        #expect(FieldFilter.all(filters).elementCondition != nil)
        #expect(FieldFilter.any(filters).elementCondition != nil)
        for number in 0..<count {
            var filters = filters
            filters[number] = filters[number].allowingUnknown
            #expect(FieldFilter.all(filters).elementCondition == nil)
            #expect(FieldFilter.any(filters).elementCondition == nil)
        }
    }
}
