import Sheaf
import SheafDocument
import SheafEngine
import SheafStatements
import SheafStorage
import SheafTestSupport
import SheafTransfer
import Testing

@Suite struct SQLiteTests {
    /// Exports all collections, or one, and returns the notes.
    private func export(
        _ fixture: ExportFixture, to path: String, collection: String? = nil
    ) throws -> [String] {
        try fixture.read { queries, _ in
            let file = try PendingFile(path: path, replacing: true)
            let snapshot = queries.snapshot()
            guard let collection else {
                return try ExportRun().writeTables(of: snapshot, queries, to: file).notes
            }
            let source = try RowSource(.collection(collection), queries, snapshot)
            return try ExportRun().write(source, as: .sqlite, table: collection, to: file).notes
        }
    }

    /// Imports the tables of a database into a new store; returns the reasons of bad rows.
    @discardableResult
    private func importTables(
        _ path: String, into fixture: ExportFixture, collection: String? = nil,
        table: String? = nil, _ options: SQLiteSource.Options = SQLiteSource.Options(),
        _ importOptions: ImportOptions = ImportOptions()
    ) throws -> [String] {
        let sqlite = try SQLiteImport(
            path: path, collection: collection, table: table, options)
        let log = try LogStore.open(at: fixture.path)
        defer { try? log.close() }
        let queries = try QueryEngine(opening: log.engine)
        var reasons: [String] = []
        for part in sqlite.parts {
            let target = ImportTarget(log, queries, collection: part.collection)
            let run = try ImportRun(try sqlite.source(part), into: target, importOptions)
            let report = try run.run()
            reasons += report.badRows.map { "\(report.numbering.name(of: $0.row)): \($0.reason)" }
        }
        return reasons
    }

    /// Runs statements in a new database.
    private func database(_ fixture: ExportFixture, _ statements: [String]) throws -> String {
        let path = fixture.directory.path("made.db")
        try writeFile(path, [])
        let database = try SQLiteDatabase(path: path, .fill)
        for statement in statements { try database.execute(statement) }
        return path
    }

    private func rows(_ fixture: ExportFixture, _ statement: String) throws -> [String] {
        try fixture.text(.jsonl, statement: statement).split(separator: "\n").map(String.init)
    }

    @Test func `SQLite is supported from version 3.37.0 on`() {
        #expect(SQLiteLibrary.minimumVersion == 3_037_000)
    }

    @Test(arguments: 1...6 as ClosedRange<UInt64>)
    func `an import of exported tables gives the same documents`(seed: UInt64) async throws {
        var random = RandomDocuments(seed: seed)
        // Names that SQLite does not distinguish, or that it reserves, are the subject of others.
        let documents = random.uniform(50).map { document in
            var document = document
            for name in ["A", "sqlite_x"] { document[name] = nil }
            // SQLite stores integral floats as integers, and so has no negative zero.
            for field in document {
                if case .float(0) = field.value { document[field.name] = 0.0 }
            }
            return document
        }
        let names = ["t", "b\"c", "select", "größe"]
        let fixture = try await ExportFixture(
            documents.enumerated().map { (names[$0.offset % 4], $0.element) })
        let path = fixture.directory.path("out.sqlite")
        #expect(try export(fixture, to: path) == [])
        let copy = ExportFixture()
        #expect(try importTables(path, into: copy) == [])
        #expect(try copy.checksum().contents == fixture.checksum().contents)
    }

    @Test func `columns have the type of all their values`() async throws {
        let fixture = try await ExportFixture([
            (
                "c",
                [
                    "_id": 1, "i": 1, "f": 1.0, "s": "1", "b": .bytes([0]), "t": true, "m": 1,
                    "a": [1], "x": true, "n": .null, "o": 1,
                ]
            ),
            (
                "c",
                [
                    "_id": 2, "i": 2, "f": .float(.infinity), "s": "", "b": .bytes([]), "t": false,
                    "m": "1", "a": ["k": 1.0], "x": 1.0, "n": .null, "o": .null,
                ]
            ),
        ])
        let path = fixture.directory.path("out.db")
        _ = try export(fixture, to: path)
        let database = try SQLiteDatabase(path: path, .read)
        let types = try SQLiteStatement(
            "SELECT name, type FROM pragma_table_info('c') ORDER BY name", in: database)
        var found: [String] = []
        while try types.step() {
            found.append((types.text(0) ?? "") + " " + (types.text(1) ?? ""))
        }
        #expect(
            found == [
                "_id INTEGER", "a JSON TEXT", "b BLOB", "f REAL", "i INTEGER", "m ", "n ",
                "o INTEGER", "s TEXT", "t BOOLEAN", "x JSON TEXT",
            ])
        let values = try SQLiteStatement(
            "SELECT group_concat(typeof(m)), group_concat(typeof(f)), group_concat(x), "
                + "group_concat(typeof(b)), group_concat(typeof(s)) FROM c", in: database)
        #expect(try values.step())
        #expect(
            (0..<5).map { values.text($0) } == [
                "integer,text", "real,real", "true,1.0", "blob,blob", "text,text",
            ])
        let copy = ExportFixture()
        #expect(try importTables(path, into: copy) == [])
        #expect(
            try rows(copy, "SELECT i, f, s, t, m, a, x, o FROM c") == [
                #"{"a":[1],"f":1.0,"i":1,"m":1,"o":1,"s":"1","t":true,"x":true}"#,
                #"{"a":{"k":1.0},"f":null,"i":2,"m":"1","s":"","t":false,"x":1.0}"#,
            ])
    }

    @Test func `names that SQLite does not distinguish get numbers, and notes say so`()
        async throws
    {
        let fixture = try await ExportFixture([
            ("t", ["_id": 1, "a": 1, "A": 2, "a (2)": 3, "sqlite_x": 4, "z\0z": 5]),
            ("T", ["_id": 1]), ("sqlite_t", ["_id": 2]),
        ])
        let path = fixture.directory.path("out.db")
        let notes = try export(fixture, to: path)
        #expect(notes.count == 6)
        #expect(notes.contains("the collection t is the table t (2)"))
        let copy = ExportFixture()
        #expect(try importTables(path, into: copy) == [])
        #expect(
            try rows(copy, "SELECT * FROM `t (2)`") == [
                "{\"A\":2,\"_id\":1,\"_sqlite_x\":4,\"a (2)\":1,\"a (2) (2)\":3,\"z\u{FFFD}z\":5}"
            ])
        #expect(try rows(copy, "SELECT * FROM _sqlite_t") == ["{\"_id\":2}"])
    }

    @Test func `rows get the primary key as id`() throws {
        let fixture = ExportFixture()
        let path = try database(
            fixture,
            [
                "CREATE TABLE one (k TEXT PRIMARY KEY, v)", "INSERT INTO one VALUES ('x', 1.5)",
                "CREATE TABLE two (b, a INTEGER, v, PRIMARY KEY (a, b)) WITHOUT ROWID",
                "INSERT INTO two VALUES ('y', 2, NULL), ('x', 1, x'00')",
                "CREATE TABLE none (v)", "INSERT INTO none VALUES (7)",
                "CREATE TABLE shadow (rowid, _rowid_, oid)",
                "INSERT INTO shadow VALUES (1, 2, 3), (4, 5, 6)",
                "CREATE TABLE made (_id INTEGER, w AS (_id * 2), x AS (_id + 1) STORED)",
                "INSERT INTO made VALUES (5)",
            ])
        #expect(try importTables(path, into: fixture) == [])
        #expect(try rows(fixture, "SELECT * FROM one") == [#"{"_id":"x","v":1.5}"#])
        #expect(
            try rows(fixture, "SELECT * FROM two") == [
                #"{"_id":{"a":1,"b":"x"},"v":"AA=="}"#, #"{"_id":{"a":2,"b":"y"}}"#,
            ])
        #expect(try rows(fixture, "SELECT v FROM none") == [#"{"v":7}"#])
        #expect(try rows(fixture, "SELECT COUNT(*) AS n FROM shadow") == [#"{"n":2}"#])
        #expect(try rows(fixture, "SELECT * FROM made") == [#"{"_id":5,"w":10,"x":6}"#])
    }

    @Test func `bad rows are reported with table and rowid`() throws {
        let fixture = ExportFixture()
        let path = try database(
            fixture,
            [
                "CREATE TABLE t (k REAL PRIMARY KEY, s TEXT, j JSON)",
                "INSERT INTO t (rowid, k, s) VALUES (-3, 'ok', 'x'), (4, 'u', CAST(x'ff' AS TEXT))",
                "INSERT INTO t (rowid, k, j) VALUES (5, 'j', '{'), (6, 2.5, NULL), (7, NULL, '1')",
                "INSERT INTO t (rowid, k, j) VALUES (9223372036854775807, 'last', '[1]')",
            ])
        #expect(
            try importTables(path, into: fixture) == [
                "table t, rowid 4: the column s is not valid UTF-8",
                "table t, rowid 5: the column j is not valid JSON: line 1, column 2: expected "
                    + "a name in double quotes",
                "table t, rowid 6: an _id must not be or contain a float; use an integer or a string",
                "table t, rowid 7: k, the id, is NULL",
            ])
        #expect(
            try rows(fixture, "SELECT * FROM t") == [
                #"{"_id":"last","j":[1]}"#, #"{"_id":"ok","s":"x"}"#,
            ])
    }

    @Test func `errors of rows name table and rowid, or table and row`() throws {
        let fixture = ExportFixture()
        let text = "hex(zeroblob(3 << 20))"
        let path = try database(
            fixture,
            [
                "CREATE TABLE t (k, s)", "INSERT INTO t (rowid, k, s) VALUES (-9, 'a', 1)",
                "INSERT INTO t (rowid, k, s) VALUES (3, 'b', 1), (8, 'a', 2)",
                "CREATE TABLE l (k, s)", "INSERT INTO l (rowid, k, s) VALUES (-3, 'b', \(text))",
                "CREATE TABLE u (k PRIMARY KEY, s) WITHOUT ROWID",
                "INSERT INTO u VALUES (1, 'x'), (2, \(text))",
            ])
        var options = SQLiteSource.Options()
        options.idColumn = "k"
        var importOptions = ImportOptions()
        func message(_ table: String) -> String? {
            let error = #expect(throws: ImportError.self) {
                try importTables(
                    path, into: fixture, collection: table, table: table, options, importOptions)
            }
            guard case .source(let text)? = error else { return nil }
            return text
        }
        #expect(
            message("t")
                == "made.db, table t, rowid 8: there is a document with the _id \"a\" in t already; "
                + "--on-conflict nothing keeps the document, --on-conflict update sets the fields "
                + "of the row in it; 2 rows of the table t were imported, and --resume continues "
                + "after them")
        importOptions.badRowLimit = 0
        for (table, row) in [("l", "rowid -3"), ("u", "row 2")] {
            let reasons = try importTables(
                path, into: fixture, collection: table, table: table, options, importOptions)
            #expect(reasons.count == 1)
            let place = "table \(table), \(row)"
            #expect(reasons.first?.hasPrefix("\(place): a document may have") == true)
        }
    }

    @Test func `an interrupted import of a table names it and the number of rows`() throws {
        let fixture = ExportFixture()
        let path = try database(
            fixture,
            ["CREATE TABLE t (k)", "INSERT INTO t VALUES ('a'), (CAST(x'ff' AS TEXT)), ('b')"])
        var importOptions = ImportOptions()
        importOptions.badRowLimit = 0
        try importTables(path, into: fixture, SQLiteSource.Options(), importOptions)
        #expect(
            throws: ImportError.source(
                "an import of made.db into t was interrupted after 2 rows of the table t; --resume "
                    + "continues it, and --restart imports all rows once more, and keeps those of "
                    + "the first attempt")
        ) { try importTables(path, into: fixture) }
    }

    @Test func `options choose the table, the id and columns of JSON`() throws {
        let fixture = ExportFixture()
        let path = try database(
            fixture,
            [
                "CREATE TABLE t (k, j)", "INSERT INTO t VALUES ('a', '[1]')",
                "CREATE TABLE u (k)",
            ])
        var options = SQLiteSource.Options()
        (options.idColumn, options.jsonColumns) = ("k", ["j"])
        #expect(try importTables(path, into: fixture, collection: "c", table: "t", options) == [])
        #expect(try rows(fixture, "SELECT * FROM c") == [#"{"_id":"a","j":[1]}"#])
    }

    @Test func `wrong options are explained`() throws {
        let fixture = ExportFixture()
        let path = try database(
            fixture,
            [
                "CREATE TABLE t (k)", "CREATE TABLE u (_id, v)", "CREATE VIEW w AS SELECT 1",
                "CREATE VIRTUAL TABLE f USING fts5(x)",
            ])
        func message(
            _ collection: String?, _ table: String?, _ options: SQLiteSource.Options = .init()
        ) -> String {
            do {
                try importTables(path, into: fixture, collection: collection, table: table, options)
                return ""
            } catch ImportError.usage(let text) {
                return text
            } catch {
                return "\(error)"
            }
        }
        #expect(
            message("c", nil).hasSuffix(
                "has the tables t, u; choose one with --table, or omit COLLECTION to import all of "
                    + "them"))
        #expect(message(nil, "x").hasSuffix("has no table 'x'; its tables are t, u"))
        #expect(
            message(nil, "w").hasSuffix("'w' is a view; copy it with CREATE TABLE ... AS SELECT"))
        #expect(message(nil, "f").contains("'f' is a virtual table"))
        var options = SQLiteSource.Options()
        options.idColumn = "q"
        #expect(
            message("c", "t", options)
                == "--id names 'q', and the table t has the columns k")
        options.idColumn = "v"
        #expect(message("c", "u", options).hasPrefix("the table u has a column _id"))
        options = SQLiteSource.Options()
        options.jsonColumns = ["k", "q"]
        #expect(message("c", "t", options).hasPrefix("--json-columns names 'q'"))
        let list = try SQLiteImport(
            path: path, collection: nil, table: nil, SQLiteSource.Options())
        #expect(list.parts.map(\.table) == ["t", "u"])
        #expect(list.skipped.count == 2)
    }

    @Test func `files that are no databases are refused`() throws {
        let fixture = ExportFixture()
        let path = fixture.directory.path("x.db")
        try writeFile(path, Array("SQLite format 3\0and no more".utf8))
        #expect(SQLiteImport.isDatabase(path))
        #expect(throws: ImportError.self) { try importTables(path, into: fixture) }
        try writeFile(path, Array("text".utf8))
        #expect(!SQLiteImport.isDatabase(path))
        #expect(!SQLiteImport.isDatabase(fixture.directory.path("absent")))
        #expect(!SQLiteImport.isDatabase(fixture.directory.path))
    }

    @Test(arguments: [
        "CREATE TABLE t (k INTEGER PRIMARY KEY, v)", "CREATE TABLE t (k, v)",
        "CREATE TABLE t (k PRIMARY KEY, v) WITHOUT ROWID",
    ])
    func `a stopped import continues after the last row`(schema: String) throws {
        let fixture = ExportFixture()
        let path = try database(
            fixture,
            [
                schema,
                """
                WITH RECURSIVE n (i) AS (SELECT -5 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
                INSERT INTO t SELECT i, CASE WHEN i % 9000 = 8999 THEN CAST(x'ff' AS TEXT) END FROM n
                """,
            ])
        var options = ImportOptions()
        options.badRowLimit = 0
        options.resumes = true
        var runs = 0
        var reasons: [String] = []
        repeat {
            runs += 1
            reasons = try importTables(path, into: fixture, SQLiteSource.Options(), options)
        } while !reasons.isEmpty && runs < 10
        #expect(runs == 3)
        #expect(try rows(fixture, "SELECT COUNT(*) AS n FROM t") == ["{\"n\":20004}"])
    }

    @Test func `a failed export leaves no file`() async throws {
        let fixture = try await ExportFixture(
            (0..<2_100).map { number in ("c", ["_id": .integer(Int64(number)), "f\(number)": 1]) })
        let path = fixture.directory.path("out.db")
        #expect(
            throws: ExportError.failed(
                "the rows have more than 2000 different fields, too many for columns; --format "
                    + "jsonl has no limit")
        ) { try export(fixture, to: path) }
        let volume = try PosixVolume(path: fixture.directory.path, creatingDirectory: false)
        #expect(try volume.names() == ["store"])
    }
}
