import Foundation
import SheafDocument
import SheafStorage
import SheafTestSupport
import Testing

/// The `query` command.
@Suite struct QueryCommandTests {
    private func cars() throws -> QueryCommandStore {
        try QueryCommandStore(
            "cars",
            [
                ("a", ["color": "blue", "miles": 3_000]), ("b", ["color": "red", "miles": 10]),
                ("c", ["color": "blue", "miles": 9_000]),
            ])
    }

    @Test func `a reading statement leaves the store unchanged`() throws {
        let store = try cars()
        let before = try store.files()
        for statement in [
            "SELECT * FROM cars", "SHOW ALL", "EXPLAIN SELECT * FROM cars", "ADVISE SELECT 1",
            "ALTER SYSTEM SET dql_strict_mode = true", "SELECT * FROM nowhere",
        ] {
            let run = try store.query(statement, "--mode=jsonl")
            #expect(run.errors.contains("in use") == false, "\(statement): \(run.errors)")
        }
        #expect(try store.files() == before)
    }

    @Test func `notes on an empty result go to standard error in every mode`() throws {
        let store = try cars()
        let note = "note: no document in cars has a field mile; did you mean miles?\n"
        for mode in ["box", "table", "markdown", "csv", "tsv", "json", "jsonl", "line"] {
            let empty = try store.query("SELECT * FROM cars WHERE mile > 5", "--mode", mode)
            #expect(empty.status == 0 && empty.errors == note, "\(mode): \(empty.errors)")
            #expect(!empty.text.contains("note"))
            let found = try store.query("SELECT * FROM cars WHERE miles > 5", "--mode", mode)
            #expect(found.errors.isEmpty, "\(mode): \(found.errors)")
        }
        let update = try store.query("UPDATE cars SET a = 1 WHERE mile > 5")
        #expect(update.errors == note && !update.text.contains("note"))
    }

    @Test func `a writing statement reports its commit and persists its changes`() throws {
        let store = try QueryCommandStore()
        let insert = try store.query(
            "INSERT INTO cars DOCUMENTS (:one), ({'_id': 'b', 'color': 'red'})",
            #"--arg=one={"_id":"a","color":"blue"}"#)
        #expect(insert.status == 0, "\(insert.errors)")
        #expect(insert.text == "commit 1, 2 documents changed\n")
        let update = try store.query("UPDATE cars SET miles = 1 WHERE _id = 'a' RETURNING *")
        #expect(
            update.text == """
                _id | color | miles
                ----+-------+------
                a   | blue  |     1

                1 row

                commit 2, 1 document changed

                """)
        let json = try store.query(
            "UPDATE cars SET miles = 2 RETURNING miles", "--mode", "jsonl")
        #expect(
            json.text == """
                {"miles":2}
                {"miles":2}
                {"commit":3,"changed":2,"ids":["a","b"]}

                """)
        let csv = try store.query("DELETE FROM cars WHERE _id = 'b' RETURNING _id", "--mode=csv")
        #expect(csv.text == "_id\r\nb\r\n")
        #expect(csv.errors == "sheaf: commit 4, 1 document changed\n")
        let nothing = try store.query("DELETE FROM cars WHERE _id = 'b'")
        #expect(nothing.text == "commit 4, 0 documents changed\n")
        #expect(try store.query("SELECT * FROM cars").lines.last == "1 row")
        #expect(try ToolRun(["verify", store.path]).status == 0)
    }

    @Test func `indexes are used by statements that only read`() throws {
        let store = try cars()
        #expect(try store.query("CREATE INDEX by_color ON cars (color)").text == "commit 2\n")
        let rows = try store.query(
            "SELECT _id FROM cars USE INDEX 'by_color' WHERE color = 'blue'", "--mode=jsonl")
        #expect(rows.text == "{\"_id\":\"a\"}\n{\"_id\":\"c\"}\n", "\(rows.errors)")
        let indexes = try store.query("SELECT _id FROM system:indexes", "--mode=jsonl")
        #expect(indexes.text == "{\"_id\":\"cars.by_color\"}\n")
        #expect(
            try store.query("DROP INDEX by_color ON cars", "--mode=jsonl").text
                == "{\"commit\":3}\n")
        #expect(try store.query("SELECT _id FROM system:indexes", "--mode=jsonl").text.isEmpty)
    }

    @Test func `arguments are JSON values and never part of the statement`() throws {
        let store = try cars()
        let found = try store.query(
            "SELECT _id FROM cars WHERE color = :color AND miles IN :miles", "--mode=jsonl",
            "--arg", #"color="blue""#, "--arg", "miles=[9000, 1e1]", "--arg", "unused=null")
        #expect(found.text == "{\"_id\":\"c\"}\n", "\(found.errors)")
        let equal = try store.query("SELECT :x AS x FROM system:dual", #"--arg=x="a=b""#)
        #expect(equal.lines.contains("a=b"))
        let injected = try store.query(
            "SELECT _id FROM cars WHERE color = :color", "--mode=jsonl",
            #"--arg=color="' OR true --""#)
        #expect(injected.status == 0 && injected.output.isEmpty)
        let cases: [(argument: String, complaint: String)] = [
            ("color", "--arg requires NAME=JSON, such as 'color=\"blue\"', not 'color'"),
            ("=1", "--arg requires NAME=JSON"),
            ("color=blue", "quote strings for the shell: 'color=\"...\"'"),
            (#"color={"a":}"#, "the value of --arg color is not valid JSON: line 1, column 6: "),
            ("color=", "the value of --arg color is not valid JSON: line 1, column 1: expected"),
        ]
        for (argument, message) in cases {
            let run = try store.query("SELECT * FROM cars", "--arg", argument)
            #expect(run.status == 64 && run.output.isEmpty)
            #expect(run.errors.contains(message), "\(run.errors)")
        }
        let twice = try store.query("SELECT 1", "--arg", "x=1", "--arg", "x=1")
        #expect(twice.status == 64)
        #expect(twice.errors == "sheaf: --arg sets 'x' twice\n")
    }

    @Test func `errors show the statement, and the exit code gives their class`() throws {
        let store = try cars()
        let syntax = try store.query("SELEC * FROM cars")
        #expect(syntax.status == 64 && syntax.output.isEmpty)
        #expect(syntax.errors.hasPrefix("sheaf: "))
        #expect(syntax.errors.contains("\n  SELEC * FROM cars\n  ^^^^^\n"), "\(syntax.errors)")
        let missing = try store.query("SELECT '家', :x FROM cars")
        #expect(missing.status == 64)
        #expect(missing.errors.contains("Parameter x was not provided"))
        #expect(
            missing.errors.contains("\n  SELECT '家', :x FROM cars\n               ^^\n"),
            "\(missing.errors)")
        let two = try store.query("SELECT * FROM cars; SELECT * FROM cars")
        #expect(two.status == 64 && two.errors.contains("^"))
        let conflict = try store.query("INSERT INTO cars DOCUMENTS ({'_id': 'a'})")
        #expect(conflict.status == 1 && conflict.errors.contains(#""a""#), "\(conflict.errors)")
        let meaning = try store.query("SELECT _id, _id FROM cars")
        #expect(meaning.status == 1, "\(meaning.errors)")
        #expect(try store.query("SELECT * FROM cars").lines.last == "3 rows")
    }

    @Test func `invalid options are refused before the store is opened`() throws {
        let cases: [(words: [String], complaint: String)] = [
            (["SELECT 1", "--mode", "jsno"], "unknown mode 'jsno'; did you mean 'json'?"),
            (["SELECT 1", "--mode=xml"], "the modes are box, table, markdown, csv, tsv, json"),
            (["SELECT 1", "--explain", "--profile"], "mutually exclusive"),
            (["SELECT 1", "--json", "--mode=csv"], "--json is --mode jsonl"),
            (["SELECT 1", "--color=blue"], "--color must be always, auto or never, not 'blue'"),
            (["SELECT 1", "--color=always", "--no-color"], "mutually exclusive"),
            ([], "missing STATEMENT"), ([""], "STATEMENT is empty"),
            (["SELECT 1", "--arg"], "--arg requires a value: --arg NAME=JSON"),
        ]
        for (words, message) in cases {
            let run = try ToolRun(["query", "/nowhere"] + words)
            #expect(run.status == 64 && run.output.isEmpty)
            #expect(run.errors.contains(message), "\(run.errors)")
        }
    }

    @Test func `a statement creates no store, and writes to no store in use`() throws {
        let directory = TemporaryDirectory()
        let write = "INSERT INTO cars DOCUMENTS ({'_id': 'z'})"
        for statement in ["SELECT * FROM cars", write] {
            let run = try ToolRun(["query", directory.path("store"), statement])
            #expect(run.status == 1)
            #expect(run.errors == "sheaf: there is no store at \(directory.path("store"))\n")
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path).isEmpty)
        let store = try cars()
        let engine = try store.open()
        let reading = try store.query("SELECT * FROM cars", "--mode=jsonl")
        #expect(reading.status == 0 && reading.lines.count == 3, "\(reading.errors)")
        let run = try store.query(write)
        #expect(run.status == 1 && run.output.isEmpty)
        #expect(run.errors.contains("is in use by process \(getpid())"), "\(run.errors)")
        try engine.close()
        #expect(try store.query(write).status == 0)
    }

    @Test func `a damaged store ends statements with exit code 3`() throws {
        let store = try StoreOnDisk { $0["0000000004.log"]?[40] ^= 4 }
        for statement in ["SELECT * FROM cars", "DELETE FROM cars"] {
            let run = try ToolRun(["query", store.path, statement])
            #expect(run.status == 3 && run.output.isEmpty)
            #expect(run.errors.contains("\(store.path): the store is damaged: 0000000004.log:"))
        }
    }

    @Test func `a damaged document ends statements with exit code 3`() throws {
        let store = try cars()
        let engine = try store.open()
        var batch = WriteBatch()
        let key = StoreKey.document(collection: 0, id: try DocumentID.key(of: "d"))
        try batch.put(key.bytes, [1, 2, 3, 4, 5, 6])
        _ = try engine.append(batch)
        try engine.close()
        for mode in ["table", "json"] {
            let run = try store.query("SELECT * FROM cars WHERE miles > 0", "--mode", mode)
            #expect(run.status == 3, "\(run.text)")
            let pattern = try Regex(#"damaged: \d+\.log:\d+: a document is damaged: "#)
            #expect(run.errors.hasPrefix("sheaf: \(store.path): "), "\(run.errors)")
            #expect(run.errors.contains(pattern), "\(run.errors)")
        }
    }

    @Test func `a statement is read from standard input, up to its limit`() throws {
        let store = try cars()
        let run = try store.script(
            """
            printf 'SELECT _id\\nFROM cars -- all of them\\nORDER BY miles;\\n' |
                "$0" query "$STORE" - --mode jsonl
            """)
        #expect(run.text == "{\"_id\":\"b\"}\n{\"_id\":\"a\"}\n{\"_id\":\"c\"}\n", "\(run.errors)")
        let long = try store.script("head -c 1048577 /dev/zero | \"$0\" query \"$STORE\" -")
        #expect(long.status == 64)
        #expect(long.errors.contains("has more than 1048576 bytes"))
        let invalid = try store.script("printf 'SELECT \\377' | \"$0\" query \"$STORE\" -")
        #expect(invalid.status == 64 && invalid.errors.contains("is not valid UTF-8"))
        let endless = try store.script("yes | \"$0\" query \"$STORE\" -")
        #expect(endless.status == 64)
    }

    @Test func `a closed output pipe ends the command quietly`() throws {
        let store = try QueryCommandStore(
            "t",
            (0..<5_000).map { number in
                (id: .integer(number), fields: ["text": .string(String(repeating: "x", count: 50))])
            })
        for mode in ["box", "table", "markdown", "csv", "tsv", "json", "jsonl", "line"] {
            let run = try store.script(
                """
                { "$0" query "$STORE" 'SELECT * FROM t' --mode \(mode); echo "status $?" >&2; } |
                    head -n 1
                """)
            #expect(run.lines.count == 1 && run.errors == "status 0\n", "\(mode): \(run.errors)")
            let closed = try store.query("SELECT * FROM t", "--mode", mode, closed: true)
            #expect(closed.status == 0 && closed.errors.isEmpty)
        }
    }

    @Test func `a plan replaces the rows, and a profile follows them`() throws {
        let store = try cars()
        let plan = try store.query("SELECT * FROM cars", "--explain")
        #expect(plan.status == 0 && plan.text.contains("scan cars"))
        #expect(!plan.text.contains("blue"))
        let object = try store.query("SELECT * FROM cars", "--explain", "--mode=jsonl").objects()
        #expect(object.count == 1 && object[0].keys.contains("plan"))
        let profile = try store.query("SELECT * FROM cars", "--profile")
        #expect(profile.status == 0 && profile.text.contains("\n3 rows\n\n"))
        #expect(!profile.text.contains("~request_profile"))
        let rows = try store.query("SELECT * FROM cars", "--profile", "--mode=jsonl").objects()
        #expect(rows.count == 4 && rows[3].keys.contains("~request_profile"))
        let csv = try store.query("SELECT * FROM cars", "--profile", "--mode=csv")
        #expect(csv.text.hasPrefix("_id,color,miles\r\n") && !csv.errors.isEmpty)
    }

    @Test func `timings are printed to standard error`() throws {
        let store = try cars()
        let read = try store.query("SELECT * FROM cars", "--timer", "--mode=jsonl")
        #expect(read.lines.count == 3)
        #expect(read.errors.hasPrefix("sheaf: parse ") && read.errors.hasSuffix(" ms, 3 rows\n"))
        let write = try store.query("DELETE FROM cars", "--timer")
        #expect(write.text == "commit 2, 3 documents changed\n")
        #expect(write.errors.contains("plan and run ") && write.errors.contains("flush "))
    }
}
