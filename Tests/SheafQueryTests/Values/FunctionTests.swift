import SheafDocument
import SheafQuery
import Testing

/// Properties of the functions for numbers, choices, types, arrays, objects and JSON.
@Suite struct FunctionTests {
    private static let lists = [
        Function.numbers, Function.choices, Function.types, Function.arrays, Function.objects,
        Function.json,
    ]

    @Test func `function names are case-insensitive`() {
        for function in Self.lists.joined() {
            #expect(function.name == function.name.lowercased())
            #expect(Functions.named(function.name)?.name == function.name)
            #expect(Functions.named(function.name.uppercased())?.name == function.name)
            #expect(Functions.names.contains(function.name))
        }
        #expect(Functions.names == Functions.names.sorted())
        #expect(Functions.named("median") == nil && Functions.named("") == nil)
    }

    private func isFinite(_ value: Value?) -> Bool {
        if case .float(let float) = value { float.isFinite } else { true }
    }

    @Test func `functions accept any values without a trap and return finite numbers`() throws {
        let context = FunctionContext(now: 0)
        for function in Self.lists.joined() {
            for count in function.argumentCount where count <= 3 {
                let values = count < 3 ? EdgeValues.all : EdgeValues.few
                var combinations: [[Value?]] = [[]]
                for _ in 0..<count {
                    combinations = combinations.flatMap { some in values.map { some + [$0] } }
                }
                for arguments in combinations {
                    let result = try function.evaluate(arguments, context)
                    let isChosen = arguments.contains { spelled($0) == spelled(result) }
                    #expect(isFinite(result) || isChosen, "\(function.name) of \(arguments)")
                }
            }
        }
    }

    @Test func `a missing argument makes the result missing, except in type and choice functions`()
        throws
    {
        let asking = Set((Function.choices + Function.types).map(\.name))
        for function in Self.lists.joined() where !asking.contains(function.name) {
            let count = function.argumentCount.lowerBound
            for index in 0..<count {
                for value in EdgeValues.all {
                    var arguments = [Value?](repeating: value, count: count)
                    arguments[index] = nil
                    let result = try function.evaluate(arguments, FunctionContext(now: 0))
                    #expect(result == nil, "\(function.name) of \(arguments)")
                }
            }
        }
    }
}
