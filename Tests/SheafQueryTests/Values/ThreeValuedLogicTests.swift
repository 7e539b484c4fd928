import SheafDocument
import SheafQuery
import Testing

/// Logic with NULL and MISSING, and the truth tables of the specification.
@Suite struct ThreeValuedLogicTests {
    private static let all: [Truth] = [.yes, .no, .null, .missing]

    @Test func `AND and OR follow their truth tables`() {
        let and: [[Truth]] = [
            [.yes, .no, .null, .missing],
            [.no, .no, .no, .no],
            [.null, .no, .null, .missing],
            [.missing, .no, .missing, .missing],
        ]
        let or: [[Truth]] = [
            [.yes, .yes, .yes, .yes],
            [.yes, .no, .null, .missing],
            [.yes, .null, .null, .missing],
            [.yes, .missing, .missing, .missing],
        ]
        for (row, left) in Self.all.enumerated() {
            for (column, right) in Self.all.enumerated() {
                #expect(left.and(right) == and[row][column], "\(left) AND \(right)")
                #expect(left.or(right) == or[row][column], "\(left) OR \(right)")
            }
        }
    }

    @Test func `AND and OR obey De Morgan's laws and commute`() {
        for a in Self.all {
            #expect(a.negated.negated == a)
            for b in Self.all {
                #expect(a.and(b).negated == a.negated.or(b.negated))
                #expect(a.and(b) == b.and(a) && a.or(b) == b.or(a))
                for c in Self.all {
                    #expect(a.and(b).and(c) == a.and(b.and(c)))
                    #expect(a.or(b).or(c) == a.or(b.or(c)))
                }
            }
        }
    }

    @Test func `AND treats MISSING and NULL as unknown`() {
        func known(_ truth: Truth) -> Bool? {
            truth == .yes ? true : truth == .no ? false : nil
        }
        for a in Self.all {
            for b in Self.all {
                let and: Bool? =
                    known(a) == false || known(b) == false
                    ? false : known(a) == nil || known(b) == nil ? nil : true
                #expect(known(a.and(b)) == and)
            }
        }
    }

    @Test func `a truth converts to a value and back, and other values convert to MISSING`() {
        for truth in Self.all { #expect(Truth(truth.value) == truth) }
        for value in EdgeValues.all {
            switch value?.kind {
            case .boolean, .null, nil: #expect(spelled(Truth(value).value) == spelled(value))
            default: #expect(Truth(value) == .missing, "\(spelled(value))")
            }
        }
    }

    /// Returns whether a condition holds for true, false, NULL and MISSING.
    private func kept(_ condition: (Value?) -> Truth) -> [Bool] {
        [Value.bool(true), .bool(false), .null, nil].map { condition($0) == .yes }
    }

    private func call(_ name: String, _ arguments: Value?...) throws -> Value? {
        try #require(Functions.named(name)).evaluate(arguments, FunctionContext(now: 0))
    }

    @Test func `conditions on a field match their table`() throws {
        #expect(kept { Operators.compare(.equal, $0, false) } == [false, true, false, false])
        #expect(kept { Operators.compare(.notEqual, $0, true) } == [false, true, false, false])
        #expect(kept { Truth($0).negated } == [false, true, false, false])
        #expect(kept { Truth(Operators.test(.null, $0)) } == [false, false, true, false])
        #expect(kept { Truth(!Operators.test(.null, $0)) } == [true, true, false, true])
        #expect(kept { Truth(Operators.test(.missing, $0)) } == [false, false, false, true])
        #expect(kept { Truth(!Operators.test(.missing, $0)) } == [true, true, true, false])
        #expect(kept { Truth(Operators.test(.yes, $0)) } == [true, false, false, false])
        #expect(kept { Truth(Operators.test(.no, $0)) } == [false, true, false, false])
        let values: [Value?] = [true, false, .null, nil]
        let coalesced = try values.map { try call("coalesce", $0, false) }
        #expect(
            coalesced.map { Operators.compare(.equal, $0, false) } == [.no, .yes, .yes, .yes])
        let absent = try values.map { Truth(try call("ismissingornull", $0)) }
        #expect(absent == [.no, .no, .yes, .yes])
    }
}
