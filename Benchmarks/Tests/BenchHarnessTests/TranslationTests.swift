import BenchHarness
import BenchWorkloads
import SheafDocument
import SheafQuery
import Testing

/// The translation of statements for SQLite, and the comparison of both systems.
@Suite struct TranslationTests {
    private func translate(
        _ text: String, _ kinds: [String: Generator.Kind] = [:]
    ) throws -> String {
        try SQLTranslator.translate(try Parser.parse(text), kinds: kinds).sql
    }

    @Test(arguments: [
        ("SELECT * FROM cars WHERE _id = :id", #"SELECT _id, doc FROM "cars" WHERE (_id = :id)"#),
        (
            "SELECT a.b AS x FROM c WHERE c.d != 'it\\'s' ORDER BY e DESC LIMIT 5 OFFSET :o",
            #"SELECT json_extract(doc, '$."a"."b"') AS "x" FROM "c" WHERE "#
                + #"(json_extract(doc, '$."d"') != 'it''s') ORDER BY json_extract(doc, '$."e"') "#
                + "DESC LIMIT 5 OFFSET :o"
        ),
        (
            "SELECT o.n FROM o JOIN c ON c._id = o.c WHERE c.x BETWEEN 1 AND 2",
            #"SELECT json_extract("o".doc, '$."n"') FROM "o" INNER JOIN "c" ON "#
                + #"("c"._id = json_extract("o".doc, '$."c"')) WHERE "#
                + #"(json_extract("c".doc, '$."x"') BETWEEN 1 AND 2)"#
        ),
        (
            "SELECT x, COUNT(*) AS n FROM c GROUP BY x HAVING COUNT(*) > 2",
            #"SELECT json_extract(doc, '$."x"'), count(*) AS "n" FROM "c" "#
                + #"GROUP BY json_extract(doc, '$."x"') HAVING (count(*) > 2)"#
        ),
        (
            "SELECT x FROM c WHERE x IS MISSING AND NOT y IS NULL",
            #"SELECT json_extract(doc, '$."x"') FROM "c" WHERE "#
                + #"((json_type(doc, '$."x"') IS NULL) AND (NOT (json_type(doc, '$."y"') IS 'null')))"#
        ),
        (
            "UPDATE c SET a = true, b.c = :v, n = n + 1 WHERE x IN (1, 2)",
            #"UPDATE "c" SET doc = json_set(json_set(json_set(doc, '$."a"', json('true')), "#
                + #"'$."b"."c"', :v), '$."n"', (json_extract(doc, '$."n"') + 1)) "#
                + #"WHERE (json_extract(doc, '$."x"') IN (1, 2))"#
        ),
        (
            "DELETE FROM c WHERE x LIKE 'a%'",
            #"DELETE FROM "c" WHERE (json_extract(doc, '$."x"') LIKE 'a%')"#
        ),
        (
            "CREATE INDEX IF NOT EXISTS i ON c (a, b.c DESC)",
            #"CREATE INDEX IF NOT EXISTS "c i" ON "c"(json_extract(doc, '$."a"'), "#
                + #"json_extract(doc, '$."b"."c"') DESC)"#
        ),
        (
            "INSERT INTO c DOCUMENTS ({'_id': :id, 'a': [1, true]}) ON ID CONFLICT DO NOTHING",
            #"INSERT INTO "c"(_id, doc) VALUES (:id, json_object('a', json_array(1, json('true')))) "#
                + "ON CONFLICT(_id) DO NOTHING"
        ),
    ])
    func `a statement is translated as a user of SQLite would write it`(
        _ statement: String, _ expected: String
    ) throws {
        #expect(try translate(statement) == expected)
    }

    @Test(arguments: [
        ("SELECT * FROM c WHERE ANY v IN a SATISFIES v = 1 END", "ANY and EVERY"),
        ("SELECT date_format(x, 'YYYY') FROM c", "the function date_format"),
        ("SELECT * FROM a JOIN b ON b._id = a.x", "* of a join"),
        ("SELECT * FROM c WHERE x SIMILAR TO 'a'", "SIMILAR TO"),
        ("SELECT * FROM `system:indexes`", "system collection"),
        ("DELETE FROM c WHERE x = 1 LIMIT 5", "DELETE with LIMIT"),
        ("INSERT INTO c SELECT * FROM d", "INSERT with SELECT"),
        ("SELECT * FROM c WHERE x = 1 XOR y = 1", "XOR"),
    ])
    func `a statement without a counterpart is refused with the reason`(
        _ statement: String, _ reason: String
    ) throws {
        let error = #expect(throws: SQLTranslator.Untranslatable.self) {
            try translate(statement)
        }
        #expect(error?.description.contains(reason) ?? false, "\(error?.description ?? "")")
    }

    // MARK: Comparison

    private static let setup = """
        [setup cars]
        times = 200
        statement = INSERT INTO cars DOCUMENTS (:car)
        :car = {
            "_id": new_id("cars"), "make": pick("Seat", "Fiat", "Škoda"), "year": uniform(1990, 2020),
            "price": uniform(100.50, 999.99), "sold": chance(0.5), "tags": repeat(0, 3, text(4)),
            "owner": {"name": text(8), "age": maybe(0.5, uniform(18, 80))}
        }
        [setup index]
        statement = CREATE INDEX years ON cars (year)

        """

    private func systems(_ mix: String) async throws -> (names: [String], notes: [String]) {
        let file = try WorkloadFileParser.parse(Self.setup + mix, name: "test")
        let folder = try Folder.fresh(under: "/tmp")
        defer { folder.remove() }
        let (workload, notes) = try await file.workload(comparingIn: folder)
        return (workload.cases[0].systems.map(\.name), notes)
    }

    @Test(arguments: [
        "SELECT * FROM cars WHERE year = 2000",
        "SELECT make, price, sold, tags, owner FROM cars WHERE year > 2000",
        "SELECT * FROM cars ORDER BY year DESC LIMIT 10",
        "SELECT make, COUNT(*) AS n, SUM(price) AS total, AVG(year) AS y FROM cars GROUP BY make",
        "SELECT DISTINCT year FROM cars WHERE make LIKE 'S%' ORDER BY year",
        "SELECT make FROM cars WHERE owner.age IS MISSING AND sold = true",
        "SELECT upper(make) AS m, char_length(make) AS n, substr(make, 1, 2) AS s FROM cars",
        "UPDATE cars SET price = price * 2, sold = false, tags = ['x'] WHERE year = 1999",
        "UPDATE cars UNSET owner WHERE year < 1995",
        "DELETE FROM cars WHERE year = 2001",
        "INSERT INTO cars DOCUMENTS ({'make': 'Opel', 'year': 2024, 'sold': true}) RETURNING make",
    ])
    func `equal results are measured on both systems`(_ statement: String) async throws {
        // An inserted document without an _id gets different IDs, so only its rows are compared.
        let text = statement.replacing("{'make'", with: "{'_id': :id, 'make'")
        let id = statement.hasPrefix("INSERT") ? "\n:id = sequence" : ""
        let (names, notes) = try await systems("[mix a]\nstatement = \(text)\(id)")
        #expect(names == ["sheaf", "sqlite"], "\(notes)")
    }

    @Test(arguments: [
        // SQLite sorts missing values first, and Sheaf last.
        ("SELECT * FROM cars ORDER BY owner.age LIMIT 5", "a: SELECT * FROM cars ORDER BY"),
        // A comparison of different types is MISSING in Sheaf, and false or true in SQLite.
        ("SELECT * FROM cars WHERE make > 5", "has other rows: sheaf returns 0, sqlite 200"),
        // Sheaf merges objects, and SQLite replaces them.
        (
            "UPDATE cars SET owner = :o WHERE year > 2000\n:o = {a: 1}",
            "the documents of cars differ"
        ),
    ])
    func `different results leave SQLite out, and the statement is named`(
        _ statement: String, _ reason: String
    ) async throws {
        let (names, notes) = try await systems("[mix a]\nstatement = \(statement)")
        #expect(names == ["sheaf"])
        #expect(notes.first == "sqlite is left out, because its results differ:")
        #expect(notes.last?.contains(reason) ?? false, "\(notes)")
    }

    @Test func `an untranslatable statement leaves SQLite out, and is named`() async throws {
        let statement = "SELECT * FROM cars WHERE ANY t IN tags SATISFIES t = 'x' END"
        let (names, notes) = try await systems("[mix any-tag]\nstatement = \(statement)")
        #expect(names == ["sheaf"])
        #expect(notes.count == 2)
        #expect(notes[1].hasPrefix("  any-tag: ANY and EVERY have no counterpart (SELECT * FROM"))
    }

    @Test func `rows are compared by order, as sets or as a subset`() {
        func rows(_ numbers: [Int64]) -> [[Value]] { numbers.map { [.integer($0)] } }
        let turned = RowComparison(sheaf: rows([1, 2]), sqlite: rows([2, 1]))
        #expect(turned.isSameSet && !turned.isSameSequence && turned.isSubset)
        let doubled = RowComparison(sheaf: rows([1, 1]), sqlite: rows([1, 2]))
        #expect(!doubled.isSameSet && !doubled.isSubset)
        let types = RowComparison(
            sheaf: [[.bool(true), .array([1, 2]), .float(2)]], sqlite: [[1, "[1,2]", 2]])
        #expect(types.isSameSequence)
        #expect(!RowComparison(sheaf: [[.float(0.1)]], sqlite: [[.float(0.1000001)]]).isSameSet)
        #expect(!RowComparison(sheaf: [["1"]], sqlite: [[1]]).isSameSet)
        let document = Value.object(Object([("a", true)]))
        let other = Value.object(Object([("a", 1)]))
        #expect(!RowComparison(sheaf: [[document]], sqlite: [[other]]).isSameSet)
    }
}
