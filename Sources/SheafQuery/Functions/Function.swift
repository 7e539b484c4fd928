package import SheafDocument

/// A function of the query language; nil is MISSING in arguments and results.
///
/// Arguments of a wrong type yield MISSING. Errors are thrown only for exceeded limits and for
/// invalid patterns or flags.
package struct Function: Sendable {
    /// The name in lower case.
    package let name: String
    /// Accepted number of arguments.
    package let argumentCount: ClosedRange<Int>
    /// Whether the result depends on the time of the statement.
    let readsClock: Bool
    package let evaluate: @Sendable ([Value?], FunctionContext) throws(StoreError) -> Value?

    package init(
        _ name: String, _ argumentCount: ClosedRange<Int>, readsClock: Bool = false,
        _ evaluate:
            @escaping @Sendable (
                _ arguments: [Value?], _ context: FunctionContext
            ) throws(StoreError) -> Value?
    ) {
        self.name = name
        self.argumentCount = argumentCount
        self.readsClock = readsClock
        self.evaluate = evaluate
    }

    package init(
        _ name: String, _ argumentCount: Int,
        _ evaluate:
            @escaping @Sendable (
                _ arguments: [Value?], _ context: FunctionContext
            ) throws(StoreError) -> Value?
    ) {
        self.init(name, argumentCount...argumentCount, evaluate)
    }

    /// Maximum number of arguments of variadic functions.
    package static let anyNumber = QueryLimits.maximumTerms
}

/// The context of function calls, constant during a run of a statement.
///
/// It belongs to the run, not to the plan, which later runs may reuse. It is a class because it is
/// passed to every evaluated expression.
package final class FunctionContext: Sendable {
    /// Milliseconds since 1970.
    package let now: Int64
    /// The interruption that ends the statement early; nil if it may run indefinitely.
    package let interruption: Interruption?
    /// The meter of the evaluation cost; nil if the cost is unlimited.
    package let meter: EvaluationMeter?

    package init(
        now: Int64, interruption: Interruption? = nil, meter: EvaluationMeter? = nil
    ) {
        self.now = now
        self.meter = meter
        self.interruption = interruption
    }

    /// Maximum length of strings and lists that are processed without checking for an interruption.
    private static let longText = 4_096, longList = 256

    /// Charges the cost of a value; throws if the statement must end.
    ///
    /// Without a meter, only long values are checked, because the check costs more than reading a
    /// short value.
    @inline(__always)
    package func charge(_ value: Value?) throws(StoreError) {
        if let meter { return try meter.charge(CollectionOfOne(value)) }
        guard Self.isLong(value) else { return }
        try interruption?.check()
    }

    /// Charges the cost of several values.
    @inline(__always)
    package func charge(_ values: [Value?]) throws(StoreError) {
        if let meter { return try meter.charge(values) }
        guard values.contains(where: Self.isLong) else { return }
        try interruption?.check()
    }

    /// Charges the cost of the operands of a binary operator.
    @inline(__always)
    package func charge(_ left: Value?, _ right: Value?) throws(StoreError) {
        if let meter { return try meter.charge([left, right]) }
        guard Self.isLong(left) || Self.isLong(right) else { return }
        try interruption?.check()
    }

    /// Charges the cost of matching a string with a pattern of `length` bytes.
    @inline(__always)
    package func charge(pattern length: Int, on text: String) throws(StoreError) {
        if let meter { return try meter.charge(pattern: length, on: text) }
        guard text.utf8.count > Self.longText else { return }
        try interruption?.check()
    }

    @inline(__always)
    private static func isLong(_ value: Value?) -> Bool {
        switch value {
        case .string(let text)?: text.utf8.count > longText
        case .array(let values)?: values.count > longList
        case .object(let object)?: object.count > longList
        default: false
        }
    }
}
