import SheafDocument
import SheafQuery
import Testing

/// Operators on all pairs of edge values, compared with a second implementation.
@Suite struct OperatorTableTests {
    private static let operations: [ArithmeticOperator] = [
        .add, .subtract, .multiply, .divide, .remainder, .concatenate,
    ]
    private static let comparisons: [ComparisonOperator] = [
        .equal, .notEqual, .less, .lessOrEqual, .greater, .greaterOrEqual,
    ]

    @Test func `arithmetic on any two values equals the oracle`() throws {
        for operation in Self.operations {
            for left in EdgeValues.all {
                for right in EdgeValues.all {
                    let result = try Operators.arithmetic(operation, left, right)
                    let expected = ValueOracle.arithmetic(operation, left, right)
                    #expect(
                        spelled(result) == spelled(expected),
                        "\(spelled(left)) \(operation.rawValue) \(spelled(right))")
                }
            }
        }
    }

    @Test func `comparisons of any two values equal the oracle`() {
        for left in EdgeValues.all {
            for right in EdgeValues.all {
                let order = ValueOracle.order(left, right)
                for comparison in Self.comparisons {
                    #expect(
                        Operators.compare(comparison, left, right)
                            == ValueOracle.truth(comparison, order),
                        "\(spelled(left)) \(comparison.rawValue) \(spelled(right))")
                }
                #expect(Operators.matches(left, right) == (order == .known(0)))
            }
        }
    }

    @Test func `BETWEEN equals two comparisons`() {
        for value in EdgeValues.all {
            for low in EdgeValues.all {
                for high in EdgeValues.few {
                    let expected = Operators.compare(.lessOrEqual, low, value)
                        .and(Operators.compare(.greaterOrEqual, high, value))
                    #expect(Operators.isBetween(value, low, high) == expected)
                }
            }
        }
        #expect(Operators.isBetween(2, 1, 2) == .yes)
        #expect(Operators.isBetween(2, 2, 1) == .no)
        #expect(Operators.isBetween(5, .null, 3) == .no)
        #expect(Operators.isBetween(2, .null, 3) == .null)
    }

    @Test func `IN finds equal elements, and is NULL or MISSING if an operand is`() {
        for value in EdgeValues.all {
            for first in EdgeValues.all {
                for second in EdgeValues.few {
                    let list = [first, second]
                    let expected: Truth =
                        if list.contains(where: { ValueOracle.order(value, $0) == .known(0) }) {
                            .yes
                        } else if value == nil || list.contains(where: { $0 == nil }) {
                            .missing
                        } else if list.contains(.null) || value == .null { .null } else { .no }
                    #expect(
                        Operators.isMember(value, among: list) == expected,
                        "\(spelled(value)) IN (\(spelled(first)), \(spelled(second)))")
                    if let first, let second {
                        #expect(Operators.isMember(value, of: [first, second]) == expected)
                    }
                }
            }
        }
    }

    @Test func `IN is FALSE for an empty list, and MISSING for a value that is not a list`() {
        for value in EdgeValues.all {
            #expect(Operators.isMember(value, of: []) == .no)
            #expect(Operators.isMember(value, of: "a") == .missing)
            #expect(Operators.isMember(value, of: nil) == .missing)
            #expect(Operators.isMember(value, of: .null) == (value == nil ? .missing : .null))
        }
        #expect(Operators.isMember([1], of: [[1.0]]) == .yes)
        #expect(Operators.isMember(1, of: [[1]]) == .no)
    }

    @Test func `arithmetic matches its table`() throws {
        let cases: [(Value, ArithmeticOperator, Value, Value?)] = [
            (5, .divide, 2, 2), (-5, .divide, 2, -2), (5.0, .divide, 2, 2.5), (7, .remainder, 3, 1),
            (-7, .remainder, 3, -1), (7.5, .remainder, 2, 1.5), (-7.5, .remainder, 2, -1.5),
            (.integer(.min), .divide, -1, nil), (.integer(.min), .remainder, -1, 0),
            (1, .divide, 0, nil), (1.0, .divide, 0, nil), (1, .remainder, 0, nil),
            (.null, .add, 1, .null), (.null, .add, "a", nil), (.null, .concatenate, "a", .null),
            (.null, .divide, 0, .null), (1, .concatenate, "a", nil), ("a", .concatenate, "b", "ab"),
            ("a", .add, "b", nil), (true, .add, 1, nil),
        ]
        for (left, operation, right, expected) in cases {
            let result = try Operators.arithmetic(operation, left, right)
            #expect(spelled(result) == spelled(expected), "\(left) \(operation.rawValue) \(right)")
        }
    }

    @Test func `the unary minus negates numbers only`() {
        for value in EdgeValues.all {
            let result = Operators.negate(value)
            switch value {
            case .integer(let integer):
                #expect(result == Int64(exactly: -Int128(integer)).map(Value.integer))
            case .float(let float):
                #expect(spelled(result) == (float.isFinite ? "\(-float)" : "MISSING"))
            case .null: #expect(result == .null)
            default: #expect(result == nil)
            }
        }
    }

    @Test func `a concatenation beyond the length limit fails`() throws {
        let half = Value.string(String(repeating: "a", count: QueryLimits.maximumTextLength / 2))
        let whole = try Operators.arithmetic(.concatenate, half, half)
        #expect(throws: StoreError.self) { try Operators.arithmetic(.concatenate, whole, "a") }
    }

    @Test func `paths lead through objects only`() {
        let root: Value = ["a": ["b": [["c": 1]], "n": .null], "x": 1]
        #expect(Operators.value(at: [], of: root) == root)
        #expect(Operators.value(at: ["a", "n"], of: root) == .null)
        #expect(Operators.value(at: ["a", "n", "c"], of: root) == nil)
        #expect(Operators.value(at: ["a", "b", "c"], of: root) == nil)
        #expect(Operators.value(at: ["x", "y"], of: root) == nil)
        #expect(Operators.value(at: ["y"], of: nil) == nil)
    }
}
