import SheafBytes
import SheafDocument
import SheafEngine
import SheafQuery
import SheafStatements
import SheafStorage
import SheafTestSupport
import SheafTransfer
import Testing

/// Tests of the tables that an export creates, and of the choice and decoding of those imported.
@Suite struct SQLiteTableTests {
    private let directory = TemporaryDirectory()

    /// Runs statements in a new database; returns its path.
    private func database(_ statements: [String]) throws -> String {
        let path = directory.path("made.db")
        try writeFile(path, [])
        let database = try SQLiteDatabase(path: path, .fill)
        for statement in statements { try database.execute(statement) }
        return path
    }

    /// Imports a table into `t`; returns the documents, and the reasons of bad rows.
    private func documents(
        _ path: String, _ options: SQLiteSource.Options = SQLiteSource.Options()
    ) throws -> (documents: [String], reasons: [String]) {
        let fixture = try ImportFixture()
        let sqlite = try SQLiteImport(path: path, collection: "t", table: nil, options)
        let part = try #require(sqlite.parts.first)
        #expect(sqlite.parts.count == 1 && part.collection == "t")
        let source = try sqlite.source(part)
        let report = try ImportRun(source, into: fixture.target, ImportOptions()).run()
        return (
            try fixture.documents().map { Value.object($0).json }, report.badRows.map(\.reason)
        )
    }

    private func message(_ body: () throws -> Void) -> String {
        do { try body() } catch ImportError.usage(let text) {
            return "usage: " + text
        } catch ImportError.source(let text) {
            return "source: " + text
        } catch {
            return "\(error)"
        }
        return "no error"
    }

    // MARK: Exports

    /// Exports a source as the table `x`; returns the statement that created it.
    private func schema(
        _ lines: [String], _ content: RowSource.Content, rowCount: Int
    ) throws -> String? {
        let fixture = try ImportFixture()
        _ = try fixture.run(text: lines.joined(separator: "\n"), .jsonl)
        let source = try RowSource(content, fixture.queries, fixture.queries.snapshot())
        let path = directory.path("out.db")
        let outcome = try ExportRun().write(
            source, as: .sqlite, table: "x", to: try PendingFile(path: path, replacing: true))
        #expect(outcome.rowCount == rowCount && outcome.notes == [])
        let database = try SQLiteDatabase(path: path, .read)
        let statement = try SQLiteStatement("SELECT sql FROM sqlite_schema", in: database)
        #expect(try statement.step())
        return statement.text(0)
    }

    @Test func `the id of a collection is the primary key of its table`() throws {
        let lines = [#"{"_id":1,"a b":"x","c\"d":[1],"e":1}"#, #"{"_id":2,"e":"y","f":true}"#]
        #expect(
            try schema(lines, .collection("t"), rowCount: 2)
                == "CREATE TABLE \"x\" (\"_id\" INTEGER PRIMARY KEY NOT NULL, \"a b\" TEXT, "
                + "\"c\"\"d\" JSON TEXT, \"e\", \"f\" BOOLEAN)")
        #expect(
            try schema(lines + [#"{"_id":"s"}"#], .collection("t"), rowCount: 3)
                == "CREATE TABLE \"x\" (\"_id\" PRIMARY KEY NOT NULL, \"a b\" TEXT, "
                + "\"c\"\"d\" JSON TEXT, \"e\", \"f\" BOOLEAN)")
    }

    @Test func `rows of a statement have no primary key, and no rows are an empty table`() throws {
        let lines = [#"{"_id":1,"a":"x"}"#, #"{"_id":2,"a":"x"}"#]
        let statement = try Parser.parse("SELECT a, _id FROM t")
        #expect(
            try schema(lines, .statement(statement, ArgumentValues()), rowCount: 2)
                == "CREATE TABLE \"x\" (\"a\" TEXT, \"_id\" INTEGER)")
        let none = try Parser.parse("SELECT * FROM t WHERE a = 'y'")
        #expect(
            try schema(lines, .statement(none, ArgumentValues()), rowCount: 0)
                == "CREATE TABLE \"x\" (\"_id\" PRIMARY KEY NOT NULL)")
    }

    @Test func `a database is written to a file only`() throws {
        let fixture = try ImportFixture()
        _ = try fixture.run(text: "{}", .jsonl)
        let source = try RowSource(.collection("t"), fixture.queries, fixture.queries.snapshot())
        #expect(throws: ExportError.usage("a SQLite database is written to a file; name FILE")) {
            _ = try ExportRun().write(source, as: .sqlite, to: ByteSink().stream)
        }
    }

    // MARK: Imports

    @Test(arguments: [
        (10, "t0, t1, t2, t3, t4, t5, t6, t7, t8, t9"),
        (11, "t0, t1, t2, t3, t4, t5, t6, t7, t8, t9 and 1 more"),
        (12, "t0, t1, t2, t3, t4, t5, t6, t7, t8, t9 and 2 more"),
    ])
    func `an error names at most ten tables, or columns`(_ count: Int, _ listed: String) throws {
        // Names in order: those after the tenth begin with a later letter.
        let names = (0..<count).map { $0 < 10 ? "t\($0)" : "u\($0)" }
        let columns = names.joined(separator: ", ")
        let path = try database(names.map { "CREATE TABLE \($0) (\(columns))" })
        let options = SQLiteSource.Options()
        #expect(
            message {
                _ = try SQLiteImport(path: path, collection: "c", table: nil, options)
            }
                == "usage: \(path.shortened) has the tables \(listed); choose one with --table, or omit "
                + "COLLECTION to import all of them")
        #expect(
            message { _ = try SQLiteImport(path: path, collection: nil, table: "x", options) }
                == "usage: \(path.shortened) has no table 'x'; its tables are \(listed)")
        var wrong = SQLiteSource.Options()
        wrong.idColumn = "x"
        let found = message {
            let sqlite = try SQLiteImport(path: path, collection: "c", table: "t1", wrong)
            #expect(sqlite.parts.map(\.table) == ["t1"])
            for part in sqlite.parts { _ = try sqlite.source(part) }
        }
        #expect(found == "usage: --id names 'x', and the table t1 has the columns \(listed)")
    }

    @Test func `a database without tables, and names that no collection has, are refused`() throws {
        let options = SQLiteSource.Options()
        let empty = try database([])
        for table in [nil, "t"] {
            #expect(
                message {
                    _ = try SQLiteImport(path: empty, collection: "c", table: table, options)
                }
                    == (table == nil
                        ? "source: \(empty.shortened) has no tables"
                        : "usage: \(empty.shortened) has no table 't'"))
        }
        let path = try database([
            "CREATE TABLE `system:t` (_id)", "CREATE TABLE a (_id)", "CREATE VIEW v AS SELECT 1",
        ])
        #expect(
            message { _ = try SQLiteImport(path: path, collection: nil, table: nil, options) }
                == "usage: the table 'system:t' has a name that a collection cannot have; import "
                + "it with COLLECTION and --table")
        let chosen = try SQLiteImport(
            path: path, collection: "c", table: "system:t", options)
        #expect(chosen.parts.map(\.table) == ["system:t"] && chosen.skipped == [])
        #expect(
            message { _ = try SQLiteImport(path: "-", collection: "c", table: nil, options) }
                == "usage: a SQLite database cannot be read from standard input; give the path of "
                + "its file")
    }

    @Test func `values of columns declared BOOLEAN or JSON are decoded`() throws {
        let path = try database([
            "CREATE TABLE t (_id INTEGER PRIMARY KEY, b BOOLEAN, j JSON, p, c MY_JSONB)",
            "INSERT INTO t VALUES (1, 0, '[1]', 0, '{\"a\":1}'), (2, 1, 5, 1, x'00')",
            "INSERT INTO t VALUES (3, 2, '\"s\"', -1, 'null'), (4, -1, NULL, 1.5, '1')",
            "INSERT INTO t VALUES (5, 'true', 'tru', 'x', NULL)",
        ])
        let found = try documents(path)
        #expect(
            found.documents == [
                #"{"_id":1,"b":false,"c":{"a":1},"j":[1],"p":0}"#,
                #"{"_id":2,"b":true,"c":"AA==","j":5,"p":1}"#,
                #"{"_id":3,"b":2,"c":null,"j":"s","p":-1}"#,
                #"{"_id":4,"b":-1,"c":1,"p":1.5}"#,
            ])
        #expect(
            found.reasons.count == 1
                && found.reasons[0].hasPrefix("the column j is not valid JSON: line 1, column "))
    }

    @Test func `each column of the primary key has a value in each row`() throws {
        let path = try database([
            "CREATE TABLE t (v, b, a, PRIMARY KEY (a, b))",
            "INSERT INTO t VALUES ('x', 1, 2), ('y', NULL, 3), (NULL, 4, 5), ('z', NULL, NULL)",
        ])
        let found = try documents(path)
        #expect(
            found.documents == [
                #"{"_id":{"a":2,"b":1},"v":"x"}"#, #"{"_id":{"a":5,"b":4}}"#,
            ])
        #expect(
            found.reasons == ["a, b, the id, is NULL", "a, b, the id, is NULL"])
        var options = SQLiteSource.Options()
        options.idColumn = "v"
        let chosen = try documents(path, options)
        #expect(chosen.documents.count == 3)
        #expect(chosen.documents.first == #"{"_id":"x","a":2,"b":1}"#)
        #expect(chosen.reasons == ["v, the id, is NULL"])
    }

    @Test func `the position of a source is that of its row ids`() throws {
        let path = try database([
            "CREATE TABLE t (a)", "INSERT INTO t (rowid, a) VALUES (-4, 1), (3, 2)",
        ])
        let fixture = try ImportFixture()
        let sqlite = try SQLiteImport(
            path: path, collection: "t", table: "t", SQLiteSource.Options())
        let part = try #require(sqlite.parts.first)
        let source = try sqlite.source(part)
        let report = try ImportRun(source, into: fixture.target, ImportOptions()).run()
        #expect(report.end == 8 && report.position.offset == 8 && report.position.row == 3)
        #expect(try fixture.documents().map { $0["a"] } == [1, 2])
    }
}
