import SheafQuery
import SheafTestSupport
import Testing

@Suite struct StatementSplitterTests {
    @Test func `semicolons outside of strings, names and comments end statements`() {
        let text = "SELECT 'a;b', \"c;\", `d;` /* ; */ -- ;\n FROM t; ;; DELETE FROM t\n; rest"
        let splitter = StatementSplitter(text)
        #expect(
            splitter.statements.map(\.text) == [
                "SELECT 'a;b', \"c;\", `d;` /* ; */ -- ;\n FROM t;", "DELETE FROM t\n;",
            ])
        #expect(splitter.statements.map(\.precedingLines) == [0, 1])
        #expect(splitter.rest.text == "rest" && splitter.rest.precedingLines == 2)
        #expect(!splitter.isRestEmpty && splitter.openDelimiter == nil)
    }

    @Test(arguments: [
        ("'a", OpenDelimiter.apostrophe), ("\"a", .quote), ("`a", .backtick), ("/* a", .comment),
        ("(1", .parenthesis), ("[1", .bracket), ("{ 'a'", .brace), ("(']", .apostrophe),
        ("([1]", .parenthesis), ("'a\\'", .apostrophe),
    ])
    func `an unfinished statement names its innermost delimiter`(
        text: String, delimiter: OpenDelimiter
    ) {
        let splitter = StatementSplitter("SELECT 1; SELECT " + text)
        #expect(splitter.openDelimiter == delimiter)
        #expect(!splitter.isRestEmpty && splitter.statements.count == 1)
        #expect(splitter.rest.text == "SELECT " + text)
        let alone = StatementSplitter("SELECT 1; /* b */ " + text)
        #expect(!alone.isRestEmpty && alone.openDelimiter == delimiter)
    }

    @Test(arguments: ["", " \n", "-- comment", "/* comment */ \n", "/* a */ -- b"])
    func `spaces and comments are no statement`(text: String) {
        #expect(StatementSplitter(text).isRestEmpty)
        #expect(StatementSplitter("SELECT 1; " + text).isRestEmpty)
    }

    @Test func `the rest is not empty within a comment`() {
        #expect(!StatementSplitter("/* a").isRestEmpty)
    }

    @Test func `a semicolon ends the brackets of its statement`() {
        let splitter = StatementSplitter("SELECT (1; SELECT 2")
        #expect(splitter.statements.map(\.text) == ["SELECT (1;"])
        #expect(splitter.openDelimiter == nil && splitter.rest.text == "SELECT 2")
    }

    @Test func `invalid tokens neither end a statement nor the text`() {
        let splitter = StatementSplitter("SELECT 1abc ! é 'it''s' \u{0}; SELECT 2;")
        #expect(splitter.statements.map(\.text).last == "SELECT 2;")
        #expect(splitter.statements.count == 2)
    }

    @Test func `texts of random pieces are divided into their statements`() {
        let seed: UInt64 = 20
        print("seed \(seed)")
        var random = SeededRandom(seed: seed)
        let pieces = [
            "SELECT 'a;b'", "(", ")", ";", "\n", " ", "/* ; */", "-- ;\n", "`;`", "!", "é", "1a",
        ]
        for _ in 0..<2_000 {
            let text = (0..<random.below(12)).map { _ in pieces[random.below(pieces.count)] }
                .joined(separator: " ")
            let splitter = StatementSplitter(text)
            // Each statement is a part of the text, and has no semicolon that ends another one.
            for statement in splitter.statements {
                #expect(text.contains(statement.text), "\(text)")
                let inner = StatementSplitter(String(statement.text.dropLast()))
                #expect(inner.statements.isEmpty, "\(text)")
            }
            let rejoined = splitter.statements.map(\.text) + [splitter.rest.text]
            #expect(
                StatementSplitter(rejoined.joined(separator: " ")).statements.map(\.text)
                    == splitter.statements.map(\.text), "\(text)")
        }
    }
}
