package import SheafDocument

/// A node of the syntax tree of an expression.
///
/// Chains of one operator are flat, and all other nesting is limited by `QueryLimits`, which bounds
/// the recursion of tree walks and of deallocation.
package struct Expression: Sendable {
    package let node: Node
    package let range: SourceRange

    package init(_ node: Node, at range: SourceRange) {
        self.node = node
        self.range = range
    }

    package indirect enum Node: Sendable {
        case literal(Value)
        /// The keyword MISSING.
        case missing
        /// `:name`.
        case parameter(String)
        /// Dot-separated names; the first may be a collection or its alias.
        case path([String])
        case array([Expression])
        case object([ObjectField])
        case negate(Expression)
        case not(Expression)
        /// A chain of operators of one precedence, from left to right.
        case arithmetic(Expression, [ArithmeticStep])
        case and([Expression])
        case or([Expression])
        case xor([Expression])
        case comparison(ComparisonOperator, Expression, Expression)
        case between(Expression, low: Expression, high: Expression, isNegated: Bool)
        /// `x IN (a, b)`, whose list is parsed as an array, or `x IN array`.
        case membership(Expression, of: Expression, isNegated: Bool)
        case pattern(Pattern)
        case test(Test, Expression, isNegated: Bool)
        case conditional(Conditional)
        case call(Call)
        case cast(Expression, CastType)
        case quantified(Quantified)
        case comprehension(Comprehension)
    }
}

/// A field of an object literal.
package struct ObjectField: Sendable {
    package let name: String
    package let value: Expression

    package init(_ name: String, _ value: Expression) {
        self.name = name
        self.value = value
    }
}

/// An operator of a chain: arithmetic, concatenation or a shift.
package enum ArithmeticOperator: String, Sendable {
    case add = "+"
    case subtract = "-"
    case multiply = "*"
    case divide = "/"
    case remainder = "%"
    case concatenate = "||"
    case shiftLeft = "<<"
    case shiftRight = ">>"
}

/// An operator with its right operand.
package struct ArithmeticStep: Sendable {
    package let operation: ArithmeticOperator
    package let operand: Expression

    package init(_ operation: ArithmeticOperator, _ operand: Expression) {
        self.operation = operation
        self.operand = operand
    }
}

/// A comparison operator, spelled as in printed statements.
package enum ComparisonOperator: String, Sendable {
    case equal = "="
    case notEqual = "!="
    case less = "<"
    case lessOrEqual = "<="
    case greater = ">"
    case greaterOrEqual = ">="
}

/// `LIKE`, `ILIKE` or `SIMILAR TO`.
package struct Pattern: Sendable {
    package enum Kind: String, Sendable {
        case like = "LIKE"
        case caseInsensitiveLike = "ILIKE"
        case similar = "SIMILAR TO"
    }

    package let kind: Kind
    package let subject: Expression
    package let pattern: Expression
    package let escape: Expression?
    package let isNegated: Bool

    package init(
        _ kind: Kind, _ subject: Expression, _ pattern: Expression, escape: Expression?,
        isNegated: Bool
    ) {
        self.kind = kind
        self.subject = subject
        self.pattern = pattern
        self.escape = escape
        self.isNegated = isNegated
    }
}

/// The operand of IS; `IS UNKNOWN` is `IS NULL`.
package enum Test: String, Sendable {
    case null = "NULL"
    case missing = "MISSING"
    case yes = "TRUE"
    case no = "FALSE"
}

/// `CASE`, with or without a subject to compare with each branch.
package struct Conditional: Sendable {
    package struct Branch: Sendable {
        package let when: Expression
        package let then: Expression

        package init(when: Expression, then: Expression) {
            self.when = when
            self.then = then
        }
    }

    package let subject: Expression?
    package let branches: [Branch]
    package let otherwise: Expression?

    package init(subject: Expression?, branches: [Branch], otherwise: Expression?) {
        self.subject = subject
        self.branches = branches
        self.otherwise = otherwise
    }
}

/// A function call.
///
/// Operands between keywords (`TRIM(BOTH x FROM s)`, `position(a IN b)`) become arguments.
package struct Call: Sendable {
    /// The name in lower case.
    package let name: String
    package let arguments: [Expression]
    package let isDistinct: Bool
    /// Whether the call is `COUNT(*)`.
    package let isStar: Bool

    package init(
        _ name: String, _ arguments: [Expression], isDistinct: Bool = false, isStar: Bool = false
    ) {
        self.name = name
        self.arguments = arguments
        self.isDistinct = isDistinct
        self.isStar = isStar
    }
}

/// A target type of CAST; the raw value is its name in lower case.
package enum CastType: String, Sendable, CaseIterable {
    case string, integer, float, boolean, binary
}

/// `v IN array`, or `v WITHIN array`, which includes all nested values.
package struct Binding: Sendable {
    package let variable: String
    package let source: Expression
    package let isDeep: Bool

    package init(_ variable: String, in source: Expression, isDeep: Bool) {
        self.variable = variable
        self.source = source
        self.isDeep = isDeep
    }
}

/// `ANY v IN a SATISFIES c END`.
package struct Quantified: Sendable {
    package enum Kind: String, Sendable {
        case any = "ANY"
        case every = "EVERY"
        case anyAndEvery = "ANY AND EVERY"
    }

    package let kind: Kind
    package let bindings: [Binding]
    package let condition: Expression

    package init(_ kind: Kind, _ bindings: [Binding], satisfies condition: Expression) {
        self.kind = kind
        self.bindings = bindings
        self.condition = condition
    }
}

/// `ARRAY e FOR v IN a WHEN c END`, or `OBJECT k : e FOR ...`, which has a key.
package struct Comprehension: Sendable {
    package let key: Expression?
    package let element: Expression
    package let bindings: [Binding]
    package let condition: Expression?

    package init(
        key: Expression?, element: Expression, bindings: [Binding], when condition: Expression?
    ) {
        self.key = key
        self.element = element
        self.bindings = bindings
        self.condition = condition
    }
}

extension ComparisonOperator {
    /// The comparison that is true where this one is false, for comparable operands.
    var opposite: ComparisonOperator {
        switch self {
        case .equal: .notEqual
        case .notEqual: .equal
        case .less: .greaterOrEqual
        case .lessOrEqual: .greater
        case .greater: .lessOrEqual
        case .greaterOrEqual: .less
        }
    }

    /// The equivalent comparison of the exchanged operands.
    var turned: ComparisonOperator {
        switch self {
        case .equal, .notEqual: self
        case .less: .greater
        case .lessOrEqual: .greaterOrEqual
        case .greater: .less
        case .greaterOrEqual: .lessOrEqual
        }
    }
}
