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

    /// Maximum length of a text and of a list that are read or made without checking for an interruption.
    private static let longText = 4_096, longList = 256

    /// Counts the cost of a value that is read or made; throws where the statement has to end.
    ///
    /// Without a meter, only long values count: checking for an interruption takes longer than to read a short one.
    @inline(__always)
    package func charge(_ value: Value?) throws(QueryError) {
        if let meter { return try meter.charge(CollectionOfOne(value)) }
        guard Self.isLong(value) else { return }
        try interruption?.check()
    }

    /// Counts the cost of values that are read.
    @inline(__always)
    package func charge(_ values: [Value?]) throws(QueryError) {
        if let meter { return try meter.charge(values) }
        guard values.contains(where: Self.isLong) else { return }
        try interruption?.check()
    }

    /// Counts the cost of the two values of an operator.
    @inline(__always)
    package func charge(_ left: Value?, _ right: Value?) throws(QueryError) {
        if let meter { return try meter.charge([left, right]) }
        guard Self.isLong(left) || Self.isLong(right) else { return }
        try interruption?.check()
    }

    /// Counts the cost of matching a text with a pattern of some bytes.
    @inline(__always)
    package func charge(pattern length: Int, on text: String) throws(QueryError) {
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
