import SheafQuery
import Testing

/// Syntax trees that are printed and parsed again.
@Suite struct PrinterTests {
    @Test func `a random expression survives printing and parsing`() {
        for seed: UInt64 in 1...3_000 {
            var tree = RandomTree(seed: seed)
            let expression = tree.expression(4)
            let written = expression.description
            #expect(throws: Never.self, "seed \(seed): \(written)") {
                let again = try Parser.parseExpression(written)
                #expect(again.description == written, "seed \(seed)")
                // The shape does not depend on where the printer puts parentheses.
                #expect(
                    ExpressionShape.of(again) == ExpressionShape.of(expression), "seed \(seed)")
            }
        }
    }

    @Test func `a random statement survives printing and parsing`() {
        for seed: UInt64 in 1...3_000 {
            var tree = RandomTree(seed: seed)
            let written = tree.statement().description
            #expect(throws: Never.self, "seed \(seed): \(written)") {
                let again = try Parser.parse(written).description
                #expect(again == written, "seed \(seed)")
            }
        }
    }
}
