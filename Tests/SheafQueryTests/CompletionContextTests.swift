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

    @Test func `the prefix is the word before the position`() {
        #expect(context("SELECT col").prefix == "col")
        #expect(context("SELECT col ").prefix == "")
        #expect(context("SELECT a.co").prefix == "co")
        #expect(context("SELECT `two wo").prefix == "two wo")
        #expect(context("SELECT `two wo").isQuoted)
        #expect(context("SELECT 1; UPD").prefix == "UPD")
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
