import SheafDocument
import SheafQuery
import SheafTestSupport
import Testing

@Suite struct ArgumentValuesTests {
    private static let names = [
        "", "a", "b", "id", "\u{E9}", "e\u{301}", "$1", "$10", "$2", "A", "a name of many bytes",
        "a name of many bytez", ":a",
    ]

    @Test func `an argument is found by the bytes of its name`() {
        var random = SeededRandom(seed: 5, "arguments")
        for round in 0..<500 {
            var model: [[UInt8]: Int64] = [:]
            var fields = Object()
            for number in 0..<random.below(round % 50 == 0 ? 400 : 5) {
                let name = random.chance(1, in: 2) ? "n\(number)" : Self.names[random.below(13)]
                model[Array(name.utf8)] = Int64(number)
                fields[name] = .integer(Int64(number))
            }
            let all = [
                ArgumentValues(fields),
                fields.count == 1 ? Self.one(fields) : ArgumentValues(fields),
            ]
            for values in all {
                #expect(values.count == model.count && values.isEmpty == model.isEmpty)
                #expect(Value.object(values.fields) == .object(fields))
                for name in Self.names + (0..<9).map({ "n\($0)" }) {
                    #expect(values[name] == model[Array(name.utf8)].map { .integer($0) }, "\(name)")
                }
            }
        }
    }

    private static func one(_ fields: Object) -> ArgumentValues {
        let field = fields.first { _ in true }
        return field.map { ArgumentValues($0.name, $0.value) } ?? ArgumentValues()
    }

    @Test func `arguments are created from dictionaries and literals`() {
        #expect(ArgumentValues(["a": 1] as [String: Value])["a"] == 1)
        #expect(ArgumentValues(["a": 1, "b": 2] as [String: Value])["b"] == 2)
        #expect(ArgumentValues([:] as [String: Value]).isEmpty)
        let (none, one, two): (ArgumentValues, ArgumentValues, ArgumentValues) =
            ([:], ["a": 1], ["a": 1, "b": 2, "a": 3])
        #expect(none.isEmpty && none["a"] == nil)
        #expect(one.count == 1 && one["a"] == 1 && one["b"] == nil)
        #expect(two.count == 2 && two["a"] == 3 && two["b"] == 2)
    }
}
