import SheafQuery
import Testing

@Suite struct CompletionContextTests {
    private func context(_ before: String, _ after: String = "") -> CompletionContext {
        CompletionContext(before: before, after: after)
    }

    @Test(arguments: [
        ("", CompletionContext.Expectation.statement), ("SEL", .statement),
        ("SELECT 1; ", .statement), ("EXPLAIN ", .statement),
        ("SELECT * FROM ", .collection(isReading: true)),
        ("SELECT * FROM ca", .collection(isReading: true)),
        ("SELECT * FROM a JOIN ", .collection(isReading: true)),
        ("DELETE FROM ", .collection(isReading: false)),
        ("INSERT INTO ", .collection(isReading: false)),
        ("UPDATE ", .collection(isReading: false)),
        ("CREATE INDEX i ON ", .collection(isReading: false)),
        ("SELECT * FROM a JOIN b ON ", .expression), ("UPDATE a SET ", .expression),
        ("SELECT * FROM cars ", .continuation), ("SELECT * FROM COLLECTION cars A", .continuation),
        ("EXPLAIN SELECT * FROM a JOIN b ", .continuation), ("DELETE FROM cars ", .expression),
        ("SELECT * FROM cars AS ", .words(["OF", "OF COMMIT"])),
        ("SELECT * FROM cars AS O", .words(["OF", "OF COMMIT"])),
        ("SELECT * FROM a JOIN b AS OF ", .words(["COMMIT"])),
        ("DELETE FROM cars AS ", .expression),
        ("SELECT a AS ", .expression), ("SELECT * FROM cars AS OF COMMIT 1 ", .expression),
        ("SELECT * FROM system:", .systemCollection),
        ("SELECT * FROM system:co", .systemCollection),
        ("SELECT * FROM t WHERE ", .expression), ("SELECT ", .expression),
        ("SELECT a.b.", .field(of: ["a", "b"])), ("SELECT a.`b c`.d", .field(of: ["a", "b c"])),
        ("SHOW ", .parameter), ("ALTER SYSTEM SET ", .parameter),
        ("SELECT 'a", .nothing), ("SELECT 'a' /* b", .nothing), ("SELECT :co", .nothing),
        ("SELECT 12", .nothing), ("SELECT 'a'", .nothing),
    ])
    func `the position determines which words are valid`(
        before: String, expectation: CompletionContext.Expectation
    ) {
        #expect(context(before).expectation == expectation)
    }

    @Test(
        arguments: [
            ("SELECT 1.5", .nothing),
            ("SELECT 0xF", .nothing), ("SELECT `a`", .nothing),
            ("SELECT\n", .expression), ("SELECT\t", .expression), ("SELECT 12 ", .expression),
            ("SELECT 'a' ", .expression), ("SELECT a update ", .expression), (".", .field(of: [])),
            ("PROFILE ", .statement), ("ADVISE ", .statement), ("ALTER SYSTEM RESET ", .parameter),
            ("EVICT FROM ", .collection(isReading: false)), ("EVICT FROM cars ", .expression),
            ("EXPLAIN UPDATE ", .collection(isReading: false)),
            ("DROP INDEX i ON ", .collection(isReading: false)),
            ("SELECT * FROM COLLECTION ", .collection(isReading: false)),
            ("INSERT INTO a DOCUMENTS (:b) ON ID CONFLICT DO UPDATE ", .expression),
            ("SELECT * FROM 5 ", .expression), ("SELECT * FROM a JOIN b ON c ", .expression),
            ("SELECT * FROM cars AS OF COMMIT ", .expression),
            ("SELECT ! FROM ", .collection(isReading: true)),
        ] as [(String, CompletionContext.Expectation)])
    func `the last words, spaces and tokens of a statement determine what may follow`(
        before: String, expectation: CompletionContext.Expectation
    ) {
        #expect(context(before).expectation == expectation)
    }

    @Test func `the prefix is the word before the position`() {
        #expect(context("SELECT col").prefix == "col")
        #expect(context("SELECT col ").prefix == "")
        #expect(context("SELECT a.co").prefix == "co")
        #expect(context("SELECT `two wo").prefix == "two wo")
        #expect(context("SELECT `two wo").isQuoted)
        #expect(context("SELECT 1; UPD").prefix == "UPD")
        #expect(context("SELECT col\n").prefix == "")
        #expect(context("SELECT col\t").prefix == "")
        #expect(!context("SELECT co").isQuoted)
        let quoted = context("SELECT * FROM `ca")
        #expect(quoted.prefix == "ca" && quoted.isQuoted && quoted.sources.isEmpty)
        #expect(quoted.expectation == .collection(isReading: true))
    }

    @Test func `the collections are those of the statement, also after the position`() {
        let all = context(
            "SELECT ", " FROM cars c JOIN `two words` AS w ON c.a = w.b WHERE d; DELETE FROM x")
        #expect(
            all.sources == [
                .init(collection: "cars", alias: "c"), .init(collection: "two words", alias: "w"),
            ])
        #expect(
            context("SELECT 1 FROM a; UPDATE b SET ").sources == [
                .init(collection: "b", alias: nil)
            ])
        #expect(
            context("SELECT * FROM system:indexes WHERE ").sources == [
                .init(collection: "system:indexes", alias: nil)
            ])
        #expect(context("SELECT * FROM a WHERE ").sources == [.init(collection: "a", alias: nil)])
        #expect(
            context("SELECT * FROM a ORDER BY ").sources == [.init(collection: "a", alias: nil)])
    }

    @Test(
        arguments: [
            ("SELECT * FROM a c", "a", nil), ("SELECT * FROM a c ", "a", "c"),
            ("SELECT * FROM a `b c` WHERE ", "a", "b c"), ("UPDATE a SET ", "a", nil),
            ("SELECT * FROM COLLECTION a AS b WHERE ", "a", "b"),
            ("SELECT * FROM system:indexes i WHERE ", "system:indexes", "i"),
            ("INSERT INTO a DOCUMENTS ({b: ", "a", nil), ("INSERT INTO a VALUES ", "a", nil),
            ("CREATE INDEX i ON a (", "a", nil), ("SELECT * FROM a AS OF ", "a", nil),
            ("SELECT * FROM a AS OF (", "a", nil),
        ] as [(String, String, String?)])
    func `a collection has an alias only where one is allowed`(
        text: String, collection: String, alias: String?
    ) {
        #expect(context(text).sources == [.init(collection: collection, alias: alias)])
    }

    @Test func `a word after ON or outside of a statement is no collection`() {
        #expect(context("DROP INDEX i ON a ").sources.isEmpty)
        #expect(context("SELECT a, b ").sources.isEmpty)
        #expect(
            context("SELECT * FROM a JOIN b ON c = d ").sources == [
                .init(collection: "a", alias: nil), .init(collection: "b", alias: nil),
            ])
    }

    @Test(arguments: ["COMMIT 5", "COMMIT :n", "'2026-01-01'", "(:t - 5)", "COMMIT ((1))"])
    func `an alias follows the state that a collection is read in`(state: String) {
        for alias in ["c", "AS c"] {
            #expect(
                context("SELECT * FROM cars AS OF \(state) \(alias) WHERE ").sources
                    == [.init(collection: "cars", alias: "c")])
        }
        #expect(
            context("SELECT * FROM cars AS OF \(state) WHERE ").sources
                == [.init(collection: "cars", alias: nil)])
    }

    @Test func `names are spelled with backticks where they need them`() {
        #expect(NameSpelling.text(of: "color") == "color")
        for name in ["two words", "select", "1a", "", "é", "a`b", "from"] {
            #expect(NameSpelling.text(of: name).hasPrefix("`"))
        }
        #expect(NameSpelling.quoted("a`b") == "`a``b`")
    }
}
