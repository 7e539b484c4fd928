import SheafDocument
import SheafQuery
import Testing

/// The ranges of the parts of an expression in its text.
@Suite struct ExpressionRangeTests {
    /// Checks that the text in the range of each part is that part, without spaces around it.
    private func check(_ expression: Expression, _ text: String, _ seed: UInt64) throws {
        let bytes = Array(text.utf8)
        func visit(_ part: Expression, isList: Bool) throws {
            let range = part.range
            try #require(range.lower >= 0 && range.lower < range.upper, "seed \(seed): \(text)")
            try #require(range.upper <= bytes.count, "seed \(seed): \(text)")
            let own = String(decoding: bytes[range.lower..<range.upper], as: UTF8.self)
            #expect(!own.hasPrefix(" ") && !own.hasSuffix(" "), "seed \(seed): \(text): \(own)")
            // The list after IN is no expression of its own.
            let whole = isList ? "x IN " + own : own
            var again = try Parser.parseExpression(whole)
            if isList, case .membership(_, let list, _) = again.node { again = list }
            #expect(
                ExpressionShape.of(again) == ExpressionShape.of(part),
                "seed \(seed): \(text): \(own)")
            var list: SourceRange?
            if case .membership(_, let source, _) = part.node, case .array = source.node {
                list = source.range
            }
            var parts: [Expression] = []
            try part.forEachChild { (child) throws(StoreError) in parts.append(child) }
            for child in parts { try visit(child, isList: child.range == list) }
        }
        try visit(expression, isList: false)
    }

    @Test func `the text in the range of each part of a random expression is that part`() throws {
        for seed: UInt64 in 1...120 {
            var tree = RandomTree(seed: seed)
            let text = tree.expression(3).description
            try check(try Parser.parseExpression(text), text, seed)
        }
    }

    @Test(arguments: [
        "( a + ( b ) )  *  - c", "a  IN  ( b , ( c ) )", "a NOT IN ( b )", "- 5 + -  6",
        "NOT  ( a )", "trim( LEADING  'x'  FROM  a )", "position( 'b'  IN  a )",
        "CAST( a  AS  string )", "a IS  NOT  NULL  AND  b", "[ a , b ]", "{ a : b , 'c' : d }",
        "a . b  LIKE  c  ESCAPE  'd'", "count( * )  >  count( DISTINCT  a )",
        "CASE  a  WHEN  b  THEN  c  ELSE  d  END  ||  e",
        "ANY  v  IN  a  SATISFIES  v  >  1  END", "ARRAY  v  FOR  v  IN  a  WHEN  v  END",
        "a  NOT  BETWEEN  b  AND  ( c )  OR  :p",
    ])
    func `the range of a part has its brackets, but no spaces around it`(text: String) throws {
        try check(try Parser.parseExpression(text), text, 0)
    }
}
