import SheafDocument
import SheafQuery
import Testing

/// A function call with its expected result.
struct FunctionCase {
    let name: String
    let arguments: [Value?]
    let expected: Value?

    init(_ name: String, _ arguments: Value?..., is expected: Value?) {
        self.name = name
        self.arguments = arguments
        self.expected = expected
    }

    /// Checks each result and its type, and that each function has at least five cases.
    static func check(_ cases: [FunctionCase], cover functions: [Function]) throws {
        for one in cases {
            let function = try #require(Functions.named(one.name))
            #expect(function.argumentCount.contains(one.arguments.count))
            let result = try function.evaluate(one.arguments, FunctionContext(now: 0))
            let call = "\(one.name)(\(one.arguments.map { spelled($0) }.joined(separator: ", ")))"
            #expect(spelled(result) == spelled(one.expected), "\(call)")
        }
        for function in functions {
            let count = cases.count { $0.name == function.name }
            #expect(count >= 5, "\(function.name) has \(count) cases")
        }
    }
}
