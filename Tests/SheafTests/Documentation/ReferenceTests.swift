import Sheaf
import SheafDocument
import SheafQuery
import SheafQueryModel
import SheafReference
import SheafStatements
import SheafSystem
import SheafTestSupport
import Testing

/// The reference of the query language, compared with the engine and with its pages.
@Suite struct ReferenceTests {
    private static let folder = "Sources/Sheaf/Sheaf.docc/Language"
    /// Pages that are written by hand.
    private static let handwritten = ["DifferencesFromSQL.md"]

    private func names(of kind: ReferenceEntry.Kind) -> Set<String> {
        Set(Reference.entries(of: kind).map(\.name))
    }

    @Test(arguments: Reference.pages.map(\.name))
    func `each example of a page gives its result`(name: String) async throws {
        let page = try #require(Reference.pages.first { $0.name == name })
        for example in page.entries.flatMap(\.examples) {
            let result = try await ReferenceRun.result(of: example)
            if let expected = example.result {
                #expect(result == expected, "\(example.code)")
            } else {
                #expect(result.first?.hasPrefix("error") == false, "\(example.code): \(result)")
            }
        }
    }

    @Test func `each entry has a summary, and all but topics an example`() {
        for entry in Reference.entries {
            #expect(entry.summary.hasSuffix("."), "\(entry.name)")
            #expect(!entry.examples.isEmpty || entry.kind == .type, "\(entry.name)")
            #expect(Reference.entries(of: entry.kind).count { $0.name == entry.name } == 1)
        }
    }

    @Test func `each function has an entry, and each entry of a function is known`() {
        let entries = Reference.entries(of: .function)
        // The parser knows these by keywords.
        let known =
            Functions.names + AggregateKind.allCases.map(\.rawValue)
            + ["cast", "position"].filter { KeywordList.spellings.contains($0.uppercased()) }
        for name in known {
            #expect(entries.count { $0.isNamed(name) } == 1, "\(name)")
        }
        for name in entries.flatMap({ [$0.name] + $0.aliases }) {
            #expect(known.contains(name), "\(name)")
        }
    }

    @Test func `each keyword is in an entry, and each capital word of a form is a keyword`() {
        let texts = Reference.entries.map { entry in
            (entry.syntax + entry.aliases + entry.details).joined(separator: " ")
        }
        let words = Set(texts.joined(separator: " ").matches(of: /\w+/).map { String($0.output) })
        let upper = Set(words.map { $0.uppercased() })
        for keyword in KeywordList.spellings { #expect(upper.contains(keyword), "\(keyword)") }
        let aggregates = AggregateKind.allCases.map { $0.rawValue.uppercased() }
        for entry in Reference.entries where entry.kind != .topic && entry.kind != .type {
            for word in entry.syntax.joined(separator: " ").matches(of: /\b[A-Z][A-Z_]+\b/) {
                let word = String(word.output)
                #expect(
                    KeywordList.spellings.contains(word) || aggregates.contains(word)
                        || word == "JSON", "\(entry.name): \(word)")
            }
        }
    }

    @Test func `the entries of types are those of values and of CAST`() async throws {
        let store = try await Store.inMemory()
        let values: [Value] = [
            .null, true, 1, 1.5, "a", .bytes([1]), .array([]), .object([:]),
        ]
        let types = names(of: .type)
        for value in values {
            let result = try await store.execute("SELECT type(\(value)) AS t FROM system:dual")
            guard case .string(let type)? = try result.items[0]["t"] else {
                Issue.record("\(value.json) has no type")
                continue
            }
            #expect(types.contains(type))
        }
        // The types in lower case are those of values, and MISSING is the type of none.
        #expect(types.count { $0 == $0.lowercased() } == values.count + 1)
        let cast = try #require(Reference.entries(named: "cast").first)
        for type in CastType.allCases { #expect(cast.syntax[0].contains(type.rawValue)) }
        try await store.close()
    }

    @Test func `the entries of system collections are those of the engine`() {
        let collections = SystemCollections(
            SystemParameters(), nil, RegisteredCollections(), clock: .system)
        #expect(names(of: .collection) == Set(collections.names.map { "system:\($0)" }))
    }

    @Test func `the entries of parameters and directives are those of the engine`() async throws {
        let store = try await Store.inMemory()
        let parameters = try await store.execute("SHOW ALL").items[0].value
        #expect(names(of: .parameter) == Set(parameters.map(\.name)))
        #expect(names(of: .directive) == Set(Directives.names))
        try await store.close()
    }

    @Test func `each page equals the generated one`() throws {
        for page in Reference.pages {
            let text = try ProjectFile.text("\(Self.folder)/\(page.name).md")
            #expect(
                text == page.markdown,
                "run `sheaf-check reference --write` to write \(page.name).md")
        }
        let generated = Reference.pages.map { "\($0.name).md" }
        let files = try ProjectFile.names(in: Self.folder)
        #expect(Set(files) == Set(generated + Self.handwritten))
        let overview = try ProjectFile.text("Sources/Sheaf/Sheaf.docc/Sheaf.md")
        for file in files { #expect(overview.contains("<doc:\(file.dropLast(3))>"), "\(file)") }
    }

    // MARK: Differences from SQL

    private func differences() throws -> String {
        try ProjectFile.text("\(Self.folder)/DifferencesFromSQL.md")
    }

    @Test func `each condition on the page of differences has the stated truth`() async throws {
        let store = try await Store.inMemory()
        try await store.execute(
            "INSERT INTO t DOCUMENTS ({ '_id': 0, 'f': 1 }), ({ '_id': 1, 'f': NULL }), ({ '_id': 2 })"
        )
        let rows = try differences().split(separator: "\n").filter { $0.hasPrefix("| `") }
        #expect(rows.count == 5)
        for row in rows {
            let cells = row.split(separator: "|").map { $0.trimmingSpaces }
            let condition = cells[0].filter { $0 != "`" }
            for id in 0..<3 {
                let result = try await store.execute(
                    DQL(verbatim: "SELECT (\(condition)) AS r FROM t WHERE _id = \(id)"))
                let truth =
                    switch try result.items[0]["r"] {
                    case .bool(let isTrue)?: isTrue ? "true" : "false"
                    default: "unknown"
                    }
                #expect(truth == cells[id + 1], "\(condition), \(id)")
            }
        }
        try await store.close()
    }

    @Test(
        arguments: [
            ("1 + 'a'", "{}"), ("upper(5)", "{}"), ("1 / 0", "{}"), ("1 = '1'", "{}"),
            ("1 != '1'", "{}"), ("5 / 2", #"{"r":2}"#), ("5.0 / 2", #"{"r":2.5}"#),
        ])
    func `each expression on the page of differences has the stated value`(
        expression: String, row: String
    ) async throws {
        #expect(try differences().contains("`\(expression)`"))
        let store = try await Store.inMemory()
        let result = try await store.execute(
            DQL(verbatim: "SELECT \(expression) AS r FROM system:dual"))
        #expect(try result.items[0].jsonString == row)
        try await store.close()
    }

    // MARK: Errors

    @Test(
        arguments: [
            ("UPDATE cars color = 1", "UPDATE"), ("UPDATE cars SET color > 1", "SET"),
            ("UPDATE cars SET a -> remove()", "->"), ("SELCT * FROM cars", "statements"),
            ("SELECT * FROM cars WHERE", "WHERE"), ("SELECT * FROM cars LIMIT 1 WHERE a", "SELECT"),
            ("SELECT substr('a', ) FROM cars", "substr"), ("SELECT round() FROM cars", "round"),
            ("SELECT lenght(a) FROM cars", "functions"),
            ("SELECT CAST(a AS date) FROM cars", "cast"),
            ("SELECT * FROM cars WHERE a BETWEEN 1, 2", "BETWEEN"),
            ("SELECT * FROM cars WHERE a IS EMPTY", "IS NULL"),
            ("SELECT CASE WHEN a THEN 1 FROM cars", "CASE"),
            ("SELECT * FROM cars JOIN owners WHERE a = b", "SELECT"),
            ("SELECT regexp_like('a', '(') FROM cars", "regexp_like"),
            ("SELECT * FROM cars WHERE SUM(a) > 1", "sum"),
            ("INSERT INTO cars DOCUMENTS ({}) ON ID CONFLICT DO KEEP", "ON ID CONFLICT"),
            ("UPDATE COLLECTION cars (a SET) SET b = 1", "COLLECTION"),
            ("CREATE TABLE cars", "CREATE INDEX"), ("SHOW tombstone_tl_hours", "parameters"),
            ("ALTER SYSTEM SET tombstone_ttl_hours = 0", "tombstone_ttl_hours"),
            ("SELECT * FROM system:dul", "collections"),
            (##"/*+ {"#indx": "a"} */ SELECT * FROM cars"##, "directives"),
            (##"/*+ {"#max_scans": 0} */ SELECT * FROM cars"##, "#max_scans"),
            ("SELECT * FROM cars WHERE a = :a", "arguments"),
            ("SELECT * FROM cars WHERE a = 'open", "WHERE"), ("SELECT `open", "SELECT"),
            ("UPDATE cars SET a = 1 /* open", "SET"), ("SELECT a # b", "SELECT"),
        ])
    func `an error in a statement names the entry of the correct form`(
        statement: String, page: String
    ) async throws {
        let store = try await Store.inMemory()
        try await store.execute("INSERT INTO cars DOCUMENTS ({ '_id': 1, 'a': 1 })")
        let error = await #expect(throws: StoreError.self) {
            try await store.execute(DQL(verbatim: statement))
        }
        #expect(error?.page == page, "\(statement)")
        #expect(error?.description.hasSuffix("\nreference: \(page)") == true)
        #expect(isDescribed(page))
        try await store.close()
    }

    @Test func `each part that an error may name is described`() {
        for name in ReferenceLookup.names { #expect(isDescribed(name), "\(name)") }
    }

    private func isDescribed(_ page: String) -> Bool {
        !Reference.entries(named: page).isEmpty
            || ReferenceEntry.Kind.allCases.contains { $0.plural == page }
    }
}

extension Substring {
    /// The text without spaces at both ends.
    fileprivate var trimmingSpaces: String {
        String(drop { $0 == " " }.reversed().drop { $0 == " " }.reversed())
    }
}
