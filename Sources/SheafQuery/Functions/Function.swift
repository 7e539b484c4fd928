package import SheafDocument

/// A function of the language: values in, a value out, and nil for MISSING on both sides.
///
/// What is given a wrong type says MISSING; an error is thrown only where a limit is reached.
package struct Function: Sendable {
    /// In lower case.
    package let name: String
    /// How many arguments it takes.
    package let argumentCount: ClosedRange<Int>
    /// Whether the time of the statement is read, too.
    let readsClock: Bool
    package let evaluate: @Sendable ([Value?], FunctionContext) throws(QueryError) -> Value?

    package init(
        _ name: String, _ argumentCount: ClosedRange<Int>, readsClock: Bool = false,
        _ evaluate:
            @escaping @Sendable (
                _ arguments: [Value?], _ context: FunctionContext
            ) throws(QueryError) -> Value?
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
            ) throws(QueryError) -> Value?
    ) {
        self.init(name, argumentCount...argumentCount, evaluate)
    }

    /// The most arguments of functions that take any number of them.
    package static let anyNumber = QueryLimits.maximumTerms
}

/// What functions see besides their arguments: the same during a whole statement.
package struct FunctionContext: Sendable {
    /// Milliseconds since 1970.
    package let now: Int64
    /// When the statement has to end; none where it does not.
    package let interruption: Interruption?
    /// What counts the cost of the evaluation; none where it may cost anything.
    package let meter: EvaluationMeter?

    package init(
        now: Int64, interruption: Interruption? = nil, meter: EvaluationMeter? = nil
    ) {
        self.now = now
        self.meter = meter
        self.interruption = interruption
    }
}
