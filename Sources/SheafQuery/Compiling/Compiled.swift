import SheafDocument

/// A closure that computes a value in a row context; nil is MISSING.
typealias Evaluator = (RowContext) throws(StoreError) -> Value?

/// A compiled expression.
enum Compiled {
    /// A value that is the same for all rows.
    case constant(Value?)
    case dynamic(Evaluator)

    var evaluator: Evaluator {
        switch self {
        case .constant(let value): { (_) throws(StoreError) in value }
        case .dynamic(let evaluator): evaluator
        }
    }

    var isConstant: Bool {
        if case .constant = self { return true }
        return false
    }

    /// Applies a function to the value, immediately if it is constant.
    package func map(_ transform: @escaping (Value?) throws(StoreError) -> Value?)
        throws(StoreError)
        -> Compiled
    {
        switch self {
        case .constant(let value): return .constant(try transform(value))
        case .dynamic(let evaluator):
            return .dynamic { (frame) throws(StoreError) in try transform(try evaluator(frame)) }
        }
    }

    /// Applies a function to the value, immediately if it is constant.
    ///
    /// The function receives `context` when it is applied immediately, and later that of the run.
    func map(
        in context: FunctionContext,
        _ transform: @escaping (Value?, FunctionContext) throws(StoreError) -> Value?
    ) throws(StoreError) -> Compiled {
        switch self {
        case .constant(let value): return .constant(try transform(value, context))
        case .dynamic(let evaluator):
            return .dynamic { (frame) throws(StoreError) in
                try transform(try evaluator(frame), frame.context)
            }
        }
    }

    /// Applies a function to two values, immediately if both are constant.
    ///
    /// The function receives `context` when it is applied immediately, and later that of the run.
    static func combine(
        _ left: Compiled, _ right: Compiled, in context: FunctionContext,
        _ transform: @escaping (Value?, Value?, FunctionContext) throws(StoreError) -> Value?
    ) throws(StoreError) -> Compiled {
        switch (left, right) {
        case (.constant(let left), .constant(let right)):
            return .constant(try transform(left, right, context))
        case (.dynamic(let left), .constant(let right)):
            return .dynamic { (frame) throws(StoreError) in
                try transform(try left(frame), right, frame.context)
            }
        case (.constant(let left), .dynamic(let right)):
            return .dynamic { (frame) throws(StoreError) in
                try transform(left, try right(frame), frame.context)
            }
        case (.dynamic(let left), .dynamic(let right)):
            return .dynamic { (frame) throws(StoreError) in
                try transform(try left(frame), try right(frame), frame.context)
            }
        }
    }

    /// Applies a function to several values, immediately if all are constant.
    ///
    /// The function receives `context` when it is applied immediately, and later that of the run.
    static func combine(
        _ operands: [Compiled], in context: FunctionContext,
        _ transform: @escaping ([Value?], FunctionContext) throws(StoreError) -> Value?
    ) throws(StoreError) -> Compiled {
        var constants: [Value?] = []
        for case .constant(let value) in operands { constants.append(value) }
        if constants.count == operands.count { return .constant(try transform(constants, context)) }
        let evaluators = operands.map(\.evaluator)
        return .dynamic { (frame) throws(StoreError) in
            var values: [Value?] = []
            values.reserveCapacity(evaluators.count)
            for evaluator in evaluators { values.append(try evaluator(frame)) }
            return try transform(values, frame.context)
        }
    }
}
