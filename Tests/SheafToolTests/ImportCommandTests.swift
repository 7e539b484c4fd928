import Foundation
import SheafStorage
import SheafTestSupport
import SheafTransfer
import Testing

/// The `import` command.
@Suite struct ImportCommandTests {
    let directory = TemporaryDirectory()
    var store: String { directory.path("store") }

    func file(_ name: String, _ text: String) throws -> String {
        let path = directory.path(name)
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
        return path
    }

    func run(_ file: String, _ words: String...) throws -> ToolRun {
        try ToolRun(["import", store, "cars", file] + words)
    }

    func rows() throws -> [String] {
        try ToolRun(["query", store, "SELECT * FROM cars", "--mode=jsonl"]).lines
    }

    @Test func `a missing store and its directories are created, which is reported once`() throws {
        let path = try file("cars.jsonl", "{\"_id\":1}\n{\"_id\":2}\n")
        let deep = directory.path("a/b/store")
        let first = try ToolRun(["import", deep, "cars", path])
        #expect(first.status == 0 && first.errors == "sheaf: created the store \(deep)\n")
        #expect(first.text.hasPrefix("imported 2 documents into cars in "))
        #expect(first.text.hasSuffix(" rows/s)\n") && first.lines.count == 1)
        let second = try ToolRun(["import", deep, "vans", path])
        #expect(second.status == 0 && second.errors.isEmpty)
        #expect(try ToolRun(["verify", deep]).status == 0)
    }

    @Test func `a row that would hide a counter is a bad row, and the counter stays`() throws {
        #expect(try run(file("new.jsonl", "{\"_id\":1}\n")).status == 0)
        let update = "UPDATE cars APPLY miles INCREMENT BY 5 WHERE _id = 1"
        #expect(try ToolRun(["query", store, update]).status == 0)
        let path = try file("old.jsonl", "{\"_id\":1,\"miles\":9}\n{\"_id\":2}\n")
        let second = try run(path, "--on-conflict=update")
        #expect(second.status == 1 && second.text.contains("imported 1 document"))
        #expect(second.errors == "sheaf: \(path), line 1: miles is a counter and cannot be set\n")
        #expect(try rows() == ["{\"_id\":1,\"miles\":5}", "{\"_id\":2}"])
    }

    @Test func `the format is found by name and content, or given`() throws {
        let object = "{\"_id\":1,\"a\":\"x\"}"
        for (name, text) in [
            ("a.jsonl", object), ("a.ndjson", object), ("a.json", "[\(object)]"),
            ("b.json", object),
            ("a.csv", "_id,a\n1,x\n"), ("a.tsv", "_id\ta\n1\tx\n"), ("plain", object + "\n"),
            ("plain2", "[\n\(object)]"), ("plain3", "{\n\"_id\":1,\n\"a\":\"x\"}"),
            ("plain4", "_id;a\n1;x"),
        ] {
            let path = try file(name, text)
            let target = directory.path("store-" + name)
            let run = try ToolRun(["import", target, "cars", path])
            #expect(run.status == 0, "\(name): \(run.errors)")
            let piped = try ToolRun(
                script: "cat '\(path)' | \"$0\" import '\(target)' piped -"
                    + (name == "a.tsv" ? " --format csv" : ""))
            #expect(piped.status == 0, "\(name): \(piped.errors)")
            for collection in ["cars", "piped"] {
                let found = try ToolRun(
                    ["query", target, "SELECT * FROM \(collection)", "--mode=jsonl"])
                #expect(found.lines == ["{\"_id\":1,\"a\":\"x\"}"], "\(name) in \(collection)")
            }
        }
        let wrong = try run(try file("c.jsonl", "_id,a\n1,x\n"), "--format=csv")
        #expect(wrong.status == 0)
    }

    @Test func `a file that cannot be imported leaves no store`() throws {
        let large = directory.path("none")
        let cases: [(path: String, message: String)] = [
            (large, "\(large): there is no such file"),
            (directory.path, "\(directory.path) is a directory; expected a file"),
            (try file("empty", ""), "is empty"),
            (try file("zero", "abc\0def"), "is not text: byte 4 is NUL; expected JSON or CSV"),
            (try file("zip", "PK\u{3}\u{4}abc"), "it is a zip archive; extract the file first"),
        ]
        for (path, message) in cases {
            let run = try run(path)
            #expect(run.status == 1 && run.text.isEmpty, "\(path)")
            #expect(run.errors.contains(message), "\(run.errors)")
            #expect(!FileManager.default.fileExists(atPath: store))
        }
        let gzip = directory.path("gzip")
        try Data([0x1F, 0x8B, 8, 0]).write(to: URL(fileURLWithPath: gzip))
        #expect(try run(gzip).errors.contains("compressed by gzip; decompress it first"))
        let unicode = directory.path("unicode")
        try Data([0xFF, 0xFE, 0x7B, 0]).write(to: URL(fileURLWithPath: unicode))
        #expect(try run(unicode).errors.contains("UTF-16; convert it to UTF-8 first"))
    }

    @Test func `invalid usage is refused with what would be right`() throws {
        let path = try file("a.csv", "_id,a\n1,2\n")
        let cases: [([String], String)] = [
            (["--format=jsnl"], "unknown --format 'jsnl'; expected jsonl, json, csv"),
            (["--on-conflict=skip"], "expected fail, nothing, update, update-local-diff"),
            (["--resume", "--restart"], "--resume and --restart are mutually exclusive"),
            (["--strict", "--max-errors=3"], "--strict and --max-errors are mutually exclusive"),
            (["--max-errors=x"], "--max-errors must be a non-negative integer, not 'x'"),
            (["--separator=ab"], "--separator must be one ASCII character or 'tab'"),
            (["--types=a"], "--types has 'a'; expected NAME=TYPE"),
            (["--types=a=int"], "where TYPE is text, integer, float, boolean, json"),
            (["--types=b=text"], "--types names the column b, and "),
            (["--id=b"], "--id names the column b, and "),
            (["--format=json", "--null=x"], "--separator, --types and --null apply to CSV"),
        ]
        for (words, message) in cases {
            let run = try ToolRun(["import", store, "cars", path] + words)
            #expect(run.status == 64, "\(words): \(run.errors)")
            #expect(run.errors.contains(message), "\(words): \(run.errors)")
        }
        let system = try ToolRun(["import", store, "system:indexes", path])
        #expect(system.status == 64 && system.errors.contains("is a system collection"))
        #expect(try ToolRun("import").errors.contains("missing PATH"))
    }

    @Test func `the action for ids in use is that of ON ID CONFLICT`() throws {
        let path = try file("a.jsonl", "{\"_id\":1,\"a\":1,\"b\":1}\n{\"_id\":2,\"a\":1}\n")
        #expect(try run(path).status == 0)
        let other = try file("b.jsonl", "{\"_id\":3}\n{\"_id\":1,\"a\":2}\n")
        let failed = try run(other)
        #expect(failed.status == 1)
        #expect(
            failed.errors == """
                sheaf: b.jsonl, line 2: there is a document with the _id 1 in cars already; \
                --on-conflict nothing keeps the document, --on-conflict update sets the fields of \
                the row in it; the good rows up to line 1 were imported, and --resume continues after \
                them

                """)
        #expect(try rows().count == 3)
        let kept = try run(other, "--on-conflict=nothing", "--resume")
        #expect(kept.status == 0 && kept.lines[1] == "1 row skipped: their documents exist")
        #expect(try rows()[0] == "{\"_id\":1,\"a\":1,\"b\":1}")
        #expect(try run(other, "--on-conflict=update").status == 0)
        #expect(try rows()[0] == "{\"_id\":1,\"a\":2,\"b\":1}")
        let twice = try file("c.jsonl", "{\"_id\":9}\n\n{\"_id\":9}\n")
        #expect(try run(twice).errors.contains("c.jsonl, line 3: there is a document with"))
    }

    @Test(arguments: [(999, "999 documents"), (1_000, "1,000 documents"), (1, "1 document")])
    func `numbers of rows have commas, and agree with their nouns`(
        _ count: Int, _ text: String
    ) throws {
        let rows = (0..<count).map { "{\"_id\":\($0)}\n" }
        let path = try file("a.jsonl", rows.joined() + "x\n")
        let first = try run(path)
        #expect(first.status == 1 && first.lines.count == 2)
        #expect(first.lines.first == "1 bad row not imported")
        #expect(first.lines.last?.hasPrefix("imported \(text) into cars in ") == true)
        let second = try run(path, "--on-conflict=nothing")
        let skipped = text.replacing("document", with: "row")
        #expect(
            second.lines.dropLast() == [
                "\(skipped) skipped: their documents exist", "1 bad row not imported",
            ])
        #expect(second.lines.last?.hasPrefix("imported 0 documents into cars in ") == true)
    }

    @Test func `bad rows that precede an id in use are reported`() throws {
        let bad = (1...30).map { _ in "x" }.joined(separator: "\n")
        let path = try file("a.jsonl", "{\"_id\":1}\n\(bad)\n{\"_id\":1}\nx\n")
        let errors = try run(path).errors.split(separator: "\n").dropFirst()
        #expect(errors.count == 22)
        #expect(errors.first?.hasSuffix("line 2: column 1: expected a value") == true)
        #expect(errors.dropLast().last == "sheaf: and 10 more bad rows")
        #expect(errors.last?.contains("line 32: there is a document with the _id 1") == true)
    }

    @Test func `a row does not replace one of a batch that is not flushed yet`() throws {
        // Each batch has 8,192 rows, and the next one is parsed while it is written.
        let count = 8_192
        let text = (0..<3 * count).map { "{\"_id\":\($0 % count),\"n\":\($0)}" }
        let path = try file("a.jsonl", text.joined(separator: "\n"))
        #expect(try run(path, "--on-conflict=nothing").status == 0)
        let query = "SELECT COUNT(*) AS c, MAX(n) AS m FROM cars"
        let found = try ToolRun(["query", store, query, "--json"]).lines
        #expect(found == ["{\"c\":\(count),\"m\":\(count - 1)}"])
    }

    @Test func `lines of CSV that end with a carriage return alone are refused`() throws {
        let run = try run(try file("a.csv", "a,b\r1,2\r3,4\r"))
        #expect(run.status == 1 && run.output.isEmpty)
        #expect(run.errors.contains("a.csv, line 1: the header has a carriage return in a name"))
    }

    @Test(arguments: ["csv", "jsonl", "json"])
    func `all rows of a file as standard input are imported`(_ format: String) throws {
        let rows = (0..<20_000).map { format == "csv" ? "\($0)" : "{\"n\":\($0)}" }
        let text = (format == "csv" ? "n\n" : "") + rows.joined(separator: "\n")
        let path = try file("rows", text)
        let run = try ToolRun(
            script: "\"$0\" import '\(store)' cars - --format \(format) < '\(path)'")
        #expect(run.status == 0 && run.lines.last?.hasPrefix("imported 20,000 ") == true)
        let found = try ToolRun(["query", store, "SELECT SUM(n) AS s FROM cars", "--json"]).lines
        #expect(found == ["{\"s\":199990000}"])
    }

    @Test func `a pipe with a name is opened once`() throws {
        let pipe = directory.path("pipe.jsonl")
        let script = """
            mkfifo '\(pipe)' && (printf '{"_id":1}\n' > '\(pipe)' &) && \
            "$0" import '\(store)' cars '\(pipe)'
            """
        for _ in 0..<5 {
            let run = try ToolRun(script: script + " --on-conflict nothing; rm '\(pipe)'")
            #expect(run.errors.contains("cars") == false && run.text.contains("imported"))
        }
        #expect(try rows().count == 1)
    }

    @Test func `bad rows are listed up to a limit, and counted`() throws {
        let bad = (1...30).map { _ in "x" }.joined(separator: "\n")
        let path = try file("a.jsonl", "{\"_id\":1}\n\(bad)\n{\"_id\":2}\n")
        let found = try run(path)
        #expect(found.status == 1)
        let errors = found.errors.split(separator: "\n").dropFirst()
        #expect(errors.count == 21)
        #expect(errors.first == "sheaf: \(path), line 2: column 1: expected a value")
        #expect(errors.last == "sheaf: and 10 more bad rows")
        #expect(found.lines[0] == "30 bad rows not imported")
        #expect(found.lines[1].hasPrefix("imported 2 documents into cars in "))
    }

    @Test func `imported documents are indexed, deleted and evicted like others`() throws {
        let path = try file("a.jsonl", "{\"_id\":1,\"a\":5}\n{\"_id\":2,\"a\":6}\n")
        #expect(try run(path).status == 0)
        func query(_ statement: String) throws -> [String] {
            try ToolRun(["query", store, statement, "--mode=jsonl"]).lines
        }
        _ = try query("CREATE INDEX by_a ON cars (a)")
        let more = try file("b.jsonl", "{\"_id\":3,\"a\":6}\n{\"_id\":4,\"a\":7}\n")
        #expect(try run(more).status == 0)
        #expect(
            try query("SELECT * FROM cars WHERE a = 6") == [
                "{\"_id\":2,\"a\":6}", "{\"_id\":3,\"a\":6}",
            ])
        for removal in ["DELETE FROM cars", "EVICT FROM cars"] {
            _ = try query(removal)
            #expect(try rows().isEmpty)
            #expect(try run(path).status == 0 && run(more).status == 0)
            #expect(try rows().count == 4, "\(removal)")
            #expect(try query("SELECT * FROM cars WHERE a = 6").count == 2)
            #expect(try ToolRun(["verify", store]).status == 0)
        }
    }

    /// Creates a database with the tables `a`, `b` and `c`; `b` has a row that is not UTF-8.
    private func database() throws -> String {
        let path = directory.path("made.db")
        try Data().write(to: URL(fileURLWithPath: path))
        let database = try SQLiteDatabase(path: path, .fill)
        for statement in [
            "CREATE TABLE a (_id)", "INSERT INTO a VALUES (1)", "CREATE TABLE b (_id, s)",
            "INSERT INTO b VALUES (1, CAST(x'ff' AS TEXT)), (2, 'x')", "CREATE TABLE c (_id)",
            "INSERT INTO c VALUES (1), (2)",
        ] { try database.execute(statement) }
        return path
    }

    @Test func `tables after one that stops the import are listed, and imported later`() throws {
        let path = try database()
        let stopped = try ToolRun(["import", store, path, "--strict"])
        #expect(stopped.status == 1)
        #expect(
            stopped.errors.contains(
                "sheaf: \(path), table b, rowid 1: the column s is not valid UTF-8\n"))
        #expect(
            stopped.errors.contains(
                "stopped after 1 row of the table b, because of 1 bad row; --resume continues\n"))
        #expect(
            stopped.errors.hasSuffix(
                "note: the table 'c' was not imported; --resume imports the rest, without the "
                    + "tables whose collection has documents and whose import was not "
                    + "interrupted\n"))
        #expect(!stopped.text.contains("into c"))
        let resumed = try ToolRun(["import", store, path, "--resume"])
        #expect(
            resumed.lines.first
                == "the table 'a' is skipped: its collection has documents, and its import was "
                + "not interrupted")
        #expect(resumed.text.contains("imported 1 document into b"))
        #expect(resumed.text.contains("imported 2 documents into c"))
    }

    @Test func `tables after one that fails are listed`() throws {
        let path = try database()
        let other = try file("a.jsonl", "{\"_id\":1}\n")
        #expect(try ToolRun(["import", store, "a", other]).status == 0)
        let failed = try ToolRun(["import", store, path])
        #expect(failed.status == 1 && failed.text.isEmpty)
        #expect(failed.errors.contains("note: the tables 'b', 'c' were not imported; --resume"))
        #expect(failed.errors.contains("made.db, table a, rowid 1: there is a document with the"))
    }

    @Test func `an import that stops or fails in its last table lists no further tables`() throws {
        let path = try database()
        let stopped = try ToolRun(["import", store, path, "--table=b", "--strict"])
        #expect(stopped.status == 1)
        #expect(stopped.errors.hasSuffix("because of 1 bad row; --resume continues\n"))
        #expect(!stopped.errors.contains("note: "), "\(stopped.errors)")
        #expect(try ToolRun(["import", store, path, "--table=a"]).status == 0)
        let failed = try ToolRun(["import", store, path, "--table=a"])
        #expect(failed.status == 1)
        #expect(failed.errors.contains("made.db, table a, rowid 1: there is a document with the"))
        #expect(!failed.errors.contains("note: "), "\(failed.errors)")
    }

    @Test func `a database on standard input is refused, with what would be right`() throws {
        let path = try database()
        for (words, message) in [
            ("c -", "it is a SQLite database; give its path as FILE"),
            ("-", "missing COLLECTION, which only --full and SQLite databases that are files do"),
            ("- --format sqlite", "cannot be read from standard input; give the path of its file"),
            ("c - --format sqlite", "cannot be read from standard input; give the path"),
        ] {
            let command = "\"$0\" import '\(store)' \(words)"
            for script in ["\(command) < '\(path)'", "cat '\(path)' | \(command)"] {
                let run = try ToolRun(script: script)
                #expect(run.status != 0 && run.errors.contains(message), "\(run.errors)")
            }
        }
        #expect(!FileManager.default.fileExists(atPath: store))
    }

    @Test func `a store in use is refused`() throws {
        let path = try file("a.jsonl", "{\"_id\":1}\n")
        let held = try QueryCommandStore()
        let engine = try held.open()
        let refused = try ToolRun(["import", held.path, "cars", path])
        #expect(refused.status == 1 && refused.errors.contains("is in use by process"))
        try engine.close()
    }
}
