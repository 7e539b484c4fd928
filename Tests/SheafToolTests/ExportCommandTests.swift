import Foundation
import SheafDocument
import SheafEngine
import SheafStorage
import SheafTestSupport
import SheafTransfer
import Testing

/// The commands `sheaf export` and `sheaf checksum`, and imports of their files.
@Suite struct ExportCommandTests {
    private let directory = TemporaryDirectory()

    private func store() throws -> QueryCommandStore {
        try QueryCommandStore(
            "cars",
            [
                ("a", ["color": "red", "n": 1]), ("b", ["color": "blue, \"dark\"", "n": 2]),
            ])
    }

    private func export(_ store: QueryCommandStore, _ words: String...) throws -> ToolRun {
        try ToolRun(["export", store.path] + words)
    }

    private func text(of name: String) throws -> String {
        try String(contentsOfFile: directory.path(name), encoding: .utf8)
    }

    private static let lines = [
        #"{"_id":"a","color":"red","n":1}"#, #"{"_id":"b","color":"blue, \"dark\"","n":2}"#,
    ]

    @Test func `a collection goes to standard output as JSON lines`() throws {
        let run = try export(try store(), "cars")
        #expect(run.status == 0 && run.errors == "")
        #expect(run.lines == Self.lines)
    }

    @Test func `a file inside the store is refused, and the store stays as it is`() throws {
        let store = try store()
        let link = directory.path("link")
        try FileManager.default.createSymbolicLink(
            atPath: link, withDestinationPath: store.path)
        let before = try store.files()
        for file in [
            store.path + "/0000000001.log", store.path + "/LOCK", store.path + "/new.csv",
            link + "/new.csv",
        ] {
            let run = try export(store, "cars", file, "--force", "--format=csv")
            #expect(run.status == 64 && run.errors.contains("is inside the store"), "\(file)")
        }
        #expect(try store.files() == before)
    }

    @Test func `a statement with arguments is exported`() throws {
        let run = try export(
            try store(), "SELECT n FROM cars WHERE color = :c", "--arg", "c=\"red\"", "--format",
            "csv")
        #expect(run.text == "n\r\n1\r\n")
        #expect(run.errors == "")
    }

    @Test(arguments: [
        ("out.csv", "_id,color,n\r\na,red,1\r\nb,\"blue, \"\"dark\"\"\",2\r\n"),
        ("out.jsonl", lines[0] + "\n" + lines[1] + "\n"),
        ("out.json", "[\n" + lines[0] + ",\n" + lines[1] + "\n]\n"),
        (
            "out.md",
            "| _id | color | n |\n| --- | --- | ---: |\n| a | red | 1 |\n| b | blue, \"dark\" | 2 |\n"
        ),
    ])
    func `the name of the file is its format`(name: String, text: String) throws {
        let run = try export(try store(), "cars", directory.path(name))
        #expect(run.status == 0)
        #expect(run.text == "")
        #expect(run.errors.hasSuffix("sheaf: wrote 2 rows to \(directory.path(name))\n"))
        #expect(try self.text(of: name) == text)
    }

    @Test func `all collections go to a database, and come back`() throws {
        let store = try store()
        let database = directory.path("all.sqlite")
        #expect(try export(store, database).status == 0)
        let copy = directory.path("copy")
        let run = try ToolRun(["import", copy, database])
        #expect(run.status == 0, "\(run.errors)")
        #expect(run.text.hasPrefix("imported 2 documents into cars"))
        #expect(
            try ToolRun(["checksum", copy]).text == ToolRun(["checksum", store.path]).text)
    }

    @Test func `a complete export comes back with the same checksum of states`() throws {
        let store = try store()
        _ = try store.query("DELETE FROM cars WHERE _id = 'b'")
        _ = try store.query("CREATE INDEX i ON cars (n)")
        _ = try store.query("UPDATE COLLECTION cars (hits COUNTER) APPLY hits INCREMENT BY 2")
        let file = directory.path("all.full")
        let exported = try export(store, file, "--full")
        #expect(
            exported.errors.hasSuffix(
                "wrote 1 document, 1 tombstone, 1 index and 0 attachments to \(file)\n"))
        let copy = directory.path("copy")
        let run = try ToolRun(["import", copy, file, "--full"])
        #expect(run.text == "imported 1 document, 1 tombstone, 1 index and 0 attachments\n")
        let sums = try ToolRun(["checksum", "--full", copy])
        #expect(try sums.text == ToolRun(["checksum", "--full", store.path]).text)
        #expect(sums.lines.count == 2)
        let again = try ToolRun(script: "\"$0\" export '\(copy)' --full | cmp - '\(file)'")
        #expect(again.status == 0)
        let piped = try ToolRun(
            script: "\"$0\" export '\(copy)' --full | \"$0\" import '\(copy)' - --full")
        #expect(
            piped.text
                == "imported 1 document, 1 tombstone, 1 index and 0 attachments; 2 of them were "
                + "known\n")
    }

    @Test func `checksums are those of the documents alone`() throws {
        let store = try store()
        let before = try ToolRun(["checksum", store.path])
        #expect(before.lines.count == 2)
        #expect(before.lines[0].hasSuffix("  2 documents  cars"))
        _ = try store.query("UPDATE cars SET n = 9 WHERE _id = 'a'")
        let between = try ToolRun(["checksum", store.path])
        #expect(between.text != before.text)
        _ = try store.query("UPDATE cars SET n = 1 WHERE _id = 'a'")
        #expect(try ToolRun(["checksum", store.path]).text == before.text)
        _ = try store.query("UPDATE cars SET n = 1.0 WHERE _id = 'a'")
        #expect(try ToolRun(["checksum", store.path]).text != before.text)
        let object = try ToolRun(["checksum", "--json", "--full", store.path]).objects()[0]
        #expect(
            Set(object.keys)
                == ["collection", "documents", "contents", "tombstones", "states"])
    }

    @Test func `a line of a checksum has the values of its JSON`() throws {
        let store = try QueryCommandStore("a", [(1, [:]), (2, [:])])
        for statement in [
            "INSERT INTO `b\n` DOCUMENTS ({'_id': 1})", "INSERT INTO gone DOCUMENTS ({'_id': 1})",
            "DELETE FROM gone", "DELETE FROM a WHERE _id = 2",
        ] { #expect(try store.query(statement).status == 0, "\(statement)") }
        // A collection without documents is listed only with its tombstones.
        let counts = [
            ("a", "1 document", "1 tombstone"), (#"b\x0a"#, "1 document", "0 tombstones"),
            ("gone", "0 documents", "1 tombstone"), ("in all", "2 documents", "2 tombstones"),
        ]
        let plain = try ToolRun(["checksum", store.path, "--json"]).objects()
        let contents = plain.compactMap { $0["contents"] as? String }
        try #require(contents.count == 3)
        #expect(
            try ToolRun(["checksum", store.path]).lines == [
                "\(contents[0])  1 document  a", #"\#(contents[1])  1 document  b\x0a"#,
                "\(contents[2])  2 documents  in all",
            ])
        #expect(plain.map { $0["collection"] as? String } == ["a", "b\n", nil])
        let full = try ToolRun(["checksum", store.path, "--full", "--json"]).objects()
        #expect(full.map { $0["documents"] as? Int } == [1, 1, 0, 2])
        #expect(full.map { $0["tombstones"] as? Int } == [1, 0, 1, 2])
        let expected = zip(full, counts).map { object, count in
            let sums = ["states", "contents"].map { object[$0] as? String ?? "" }
            return (sums + [count.1, count.2, count.0]).joined(separator: "  ")
        }
        #expect(try ToolRun(["checksum", store.path, "--full"]).lines == expected)
    }

    @Test func `an existing file is kept without --force`() throws {
        let store = try store()
        let path = directory.path("x.csv")
        try Data("old".utf8).write(to: URL(fileURLWithPath: path))
        let run = try export(store, "cars", path)
        #expect(run.status == 64)
        #expect(run.errors == "sheaf: \(path) exists already; --force replaces it\n")
        #expect(try text(of: "x.csv") == "old")
        #expect(try export(store, "cars", path, "--force").status == 0)
        #expect(try text(of: "x.csv").hasPrefix("_id,"))
    }

    @Test(arguments: [
        (["cars", "x.txt"], "the name 'x.txt' has no known extension; add --format with one of"),
        (["cars", "x", "--format", "cvs"], "unknown format 'cvs'; did you mean 'csv'?"),
        ([], "missing SOURCE; usage: sheaf export PATH [SOURCE] [FILE]"),
        (["SELECT 1 FROM cars", "--format", "sqlite"], "a SQLite database is written to a file"),
        (["a", "b", "--full"], "--full writes all collections"),
        (["a", "--full", "--format", "csv"], "--full writes all collections"),
        (["DELETE FROM cars"], "the statement does not only read; run it with 'sheaf query'"),
        (["SELECT FROM cars"], " (line 1, column "),
        (["SELECT * FROM cars WHERE n = :n"], "Parameter n"),
        (["cars", "x.csv", "y"], "unexpected argument 'y'"),
    ])
    func `a wrong command line is explained`(words: [String], message: String) throws {
        let store = try store()
        let run = try ToolRun(["export", store.path] + words)
        #expect(run.status == 64)
        #expect(run.errors.contains(message), "\(run.errors)")
        #expect(run.text == "")
    }

    @Test func `a missing collection and a missing library are failures`() throws {
        let store = try store()
        let run = try export(store, "card")
        #expect(run.status == 1)
        #expect(run.errors == "sheaf: there is no collection 'card'; did you mean 'cars'?\n")
        let database = directory.path("x.db")
        let variable = SQLiteLibrary.pathVariable
        for (path, message) in [
            ("/absent.so", "cannot load the library that \(variable) names: /absent.so"),
            ("libc.so.6", "the library of SQLite has no function sqlite3_libversion_number"),
        ] {
            let run = try store.script(
                "\(variable)=\(path) \"$0\" export \"$STORE\" '\(database)'")
            #expect(run.status == 1)
            #expect(run.errors.contains(message), "\(run.errors)")
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path) == [])
        #expect(try export(store, database).status == 0)
        let imported = try store.script(
            "\(variable)=/absent.so \"$0\" import \"$STORE\" '\(database)'")
        #expect(imported.status == 1)
        #expect(imported.errors.contains("cannot load the library"))
    }

    @Test func `a closed standard output ends the export quietly`() throws {
        let store = try QueryCommandStore(
            "cars",
            (0..<5_000).map { (.integer($0), ["t": .string(String(repeating: "x", count: 200))]) })
        for words in [["cars"], ["--full"], ["cars", "--format", "csv"]] {
            let run = try ToolRun(["export", store.path] + words, closed: true)
            #expect(run.status == 0)
            #expect(run.errors == "")
        }
    }

    @Test func `a killed or interrupted export leaves no file`() throws {
        let store = try QueryCommandStore(
            "cars",
            (0..<20_000).map { (.integer($0), ["t": .string(String(repeating: "x", count: 300))]) })
        for (signal, name) in [("KILL", "a.csv"), ("INT", "b.sqlite"), ("TERM", "c.jsonl")] {
            let file = directory.path(name)
            // The temporary file shows that the export has begun.
            let run = try store.script(
                """
                "$0" export "$STORE" cars '\(file)' &
                while kill -0 $! && ! ls '\(directory.path)'/.sheaf-export-* 2>/dev/null; do :; done
                kill -\(signal) $!
                wait $!
                """)
            #expect(run.status != 0, "\(name) \(run.errors)")
            #expect(!FileManager.default.fileExists(atPath: file), "\(name)")
            let rest = try FileManager.default.contentsOfDirectory(atPath: directory.path)
            #expect(rest.count == (signal == "KILL" ? 1 : 0), "\(name) \(rest)")
            for name in rest { try FileManager.default.removeItem(atPath: directory.path(name)) }
        }
    }

    @Test func `an export removes what killed ones left, and nothing of a running one`() throws {
        let store = try QueryCommandStore(
            "cars",
            (0..<20_000).map { (.integer($0), ["t": .string(String(repeating: "x", count: 300))]) })
        func temporaryNames() throws -> Set<String> {
            Set(
                try FileManager.default.contentsOfDirectory(atPath: directory.path)
                    .filter { $0.hasPrefix(PendingFile.prefix) && !$0.hasSuffix("settings") })
        }
        // A file with another name of that form is a user's own.
        let own = directory.path(PendingFile.prefix + "settings")
        try "own".write(toFile: own, atomically: true, encoding: .utf8)
        defer { #expect((try? String(contentsOfFile: own, encoding: .utf8)) == "own") }
        let running = try PendingFile(path: directory.path("running.jsonl"), replacing: false)
        try ExportStream(running).write("{}\n")
        let names = try temporaryNames()
        #expect(names.count == 1)
        for name in ["a.csv", "b.sqlite"] {
            let child = try ChildProcess(
                ToolRun.executable.path, ["export", store.path, "cars", directory.path(name)])
            // The temporary file shows that the export has begun.
            while try temporaryNames() == names, child.lines(until: 0) != nil {}
            child.kill()
            #expect(child.wait() == 128 + 9)
            #expect(try temporaryNames().count == 2)
            #expect(try export(store, "cars", directory.path("c.csv"), "--force").status == 0)
            #expect(try temporaryNames() == names, "\(name)")
        }
        try running.publish()
        #expect(try text(of: "running.jsonl") == "{}\n")
        #expect(try temporaryNames() == [])
    }

    @Test func `help names the library and the format`() throws {
        let help = try ToolRun(["help", "export"]).text
        #expect(help.contains("libsqlite3-0"))
        #expect(help.contains(SQLiteLibrary.pathVariable))
        #expect(help.contains("format-spec/export.md"))
    }
}
