import Foundation
import Sheaf
import SheafDocument
import SheafStorage
import SheafTestSupport
import Testing

/// The `watch` command beside writers.
@Suite(.serialized) struct WatchCommandTests {
    private let directory = TemporaryDirectory()
    private var path: String { directory.path("store") }

    private func open() async throws -> Store {
        let store = try await Store.open(at: path)
        try await store.execute(
            """
            INSERT INTO cars DOCUMENTS ({'_id': 'a', 'n': 1}), ({'_id': 'b', 'n': 2}),
                ({'_id': 'c', 'n': 3, 'x': {'y': [1]}})
            """)
        return store
    }

    private func start(_ words: String...) throws -> ChildProcess {
        try ChildProcess(
            ToolRun.executable.path,
            ["watch", path, "SELECT * FROM cars WHERE n < 10 ORDER BY _id"] + words)
    }

    /// Reads lines until there are `count`.
    private func read(_ count: Int, from child: ChildProcess) -> [String] {
        var found: [String] = []
        while found.count < count, let some = child.lines() { found += some }
        return found
    }

    @Test func `JSON lines have the rows and then each change, with its commit`() async throws {
        let store = try await open()
        let watch = try start("--json")
        #expect(
            read(3, from: watch) == [
                #"{"change":"initial","commit":1,"row":{"_id":"a","n":1}}"#,
                #"{"change":"initial","commit":1,"row":{"_id":"b","n":2}}"#,
                #"{"change":"initial","commit":1,"row":{"_id":"c","n":3,"x":{"y":[1]}}}"#,
            ])
        try await store.execute("UPDATE cars SET n = 5 WHERE _id = 'a'")
        #expect(
            read(1, from: watch) == [
                #"{"change":"changed","commit":2,"row":{"_id":"a","n":5},"#
                    + #""previous":{"_id":"a","n":1}}"#
            ])
        // A document that leaves the result is removed from it.
        try await store.execute("UPDATE cars SET n = 50 WHERE _id = 'b'")
        #expect(
            read(1, from: watch)
                == [#"{"change":"removed","commit":3,"row":{"_id":"b","n":2}}"#])
        try await store.execute("DELETE FROM cars WHERE _id = 'c'")
        #expect(
            read(1, from: watch)
                == [#"{"change":"removed","commit":4,"row":{"_id":"c","n":3,"x":{"y":[1]}}}"#])
        try await store.execute("INSERT INTO cars DOCUMENTS ({'_id': 'B', 'n': 7})")
        #expect(
            read(1, from: watch)
                == [#"{"change":"inserted","commit":5,"row":{"_id":"B","n":7}}"#])
        kill(watch.identifier, SIGINT)
        #expect(watch.remainingLines().isEmpty && watch.wait() == 0)
        try await store.close()
    }

    @Test func `a commit without an effect on the result prints nothing`() async throws {
        let store = try await open()
        let watch = try start("--json", "--count", "1")
        _ = read(3, from: watch)
        try await store.execute("INSERT INTO cars DOCUMENTS ({'_id': 'z', 'n': 70})")
        try await store.execute("UPDATE cars SET n = 1 WHERE _id = 'a'")
        try await store.execute("INSERT INTO other DOCUMENTS ({'_id': 'z', 'n': 7})")
        try await store.execute("UPDATE cars SET n = 4 WHERE _id = 'a'")
        let lines = watch.remainingLines()
        #expect(lines.count == 1 && lines[0].contains(#""commit":5,"#), "\(lines)")
        #expect(watch.wait() == 0)
        try await store.close()
    }

    @Test func `--count ends after that many changes, also within a commit`() async throws {
        let store = try await open()
        let watch = try start("--json", "--count=2")
        _ = read(3, from: watch)
        try await store.execute("UPDATE cars SET n = 9")
        #expect(watch.remainingLines().count == 2 && watch.wait() == 0)
        try await store.close()
    }

    @Test func `a row that moves is compared with its own previous state`() async throws {
        let store = try await open()
        let watch = try ChildProcess(
            ToolRun.executable.path,
            ["watch", path, "SELECT _id, n FROM cars ORDER BY n", "--json", "--count=1"])
        _ = read(3, from: watch)
        try await store.execute("UPDATE cars SET n = 20 WHERE _id = 'a'")
        #expect(
            watch.remainingLines() == [
                #"{"change":"changed","commit":2,"row":{"_id":"a","n":20},"#
                    + #""previous":{"_id":"a","n":1}}"#
            ])
        #expect(watch.wait() == 0)
        try await store.close()
    }

    @Test func `marks show inserted, removed and changed rows`() async throws {
        let store = try await open()
        let watch = try start("--mode=table", "--count=3")
        #expect(read(6, from: watch).last == "3 rows")
        try await store.transaction { transaction in
            try await transaction.execute("DELETE FROM cars WHERE _id = 'a'")
            try await transaction.execute("UPDATE cars SET n = 4, s = 'new' WHERE _id = 'b'")
            try await transaction.execute("INSERT INTO cars DOCUMENTS ({'_id': 'd', 'n': 0})")
        }
        #expect(
            watch.remainingLines() == [
                "commit 2: 1 inserted, 1 removed, 1 changed", #"- {"_id":"a","n":1}"#,
                #"~ "b"  n: 2 -> 4, s: "new""#, #"+ {"_id":"d","n":0}"#,
            ])
        #expect(watch.wait() == 0)
        try await store.close()
    }

    @Test func `a row that changes and moves is one change, and a row that only moves is none`()
        async throws
    {
        let store = try await open()
        let watch = try ChildProcess(
            ToolRun.executable.path,
            ["watch", path, "SELECT * FROM cars ORDER BY n", "--json", "--count=3"])
        _ = read(3, from: watch)
        // Each line is awaited: commits that follow each other at once may be observed as one.
        for (id, n) in [("a", 9), ("c", 0), ("b", 4)] {
            try await store.execute("UPDATE cars SET n = \(n) WHERE _id = \(id)")
            let line = read(1, from: watch).first ?? ""
            #expect(line.contains(#""change":"changed""#))
            #expect(line.contains(#""row":{"_id":"\#(id)","#))
        }
        #expect(watch.remainingLines().isEmpty)
        #expect(watch.wait() == 0)
        try await store.close()
    }

    @Test func `the changes of many commits add up to the final result`() async throws {
        let seed = UInt64.random(in: 0...UInt64.max)
        var random = SeededRandom(seed: seed, "watched commits")
        let store = try await open()
        let watch = try start("--json")
        var rows: [Value: Value] = [:]
        for _ in 0..<200 {
            let id = random.below(12)
            let statement =
                random.below(3) == 0
                ? "DELETE FROM cars WHERE _id = \(id)"
                : "INSERT INTO cars DOCUMENTS ({'_id': \(id), 'n': \(random.below(14))}) "
                    + "ON ID CONFLICT DO UPDATE"
            try await store.execute(DQL(verbatim: statement))
        }
        try await store.execute("INSERT INTO cars DOCUMENTS ({'_id': 'last', 'n': 0})")
        let last: Value = .string("last")
        while rows[last] == nil, let lines = watch.lines() {
            for line in lines {
                guard case .object(let change) = try Value(json: line),
                    case .object(let row)? = change["row"], let id = row["_id"]
                else { throw TerminalRun.Missing(text: "a change", output: line) }
                switch change["change"] {
                case .string("removed"):
                    #expect(rows.removeValue(forKey: id) == .object(row), "seed \(seed)")
                case .string("changed"):
                    #expect(rows[id] == change["previous"], "seed \(seed)")
                    rows[id] = .object(row)
                default:
                    #expect(rows[id] == nil, "seed \(seed)")
                    rows[id] = .object(row)
                }
            }
        }
        let result = try await store.execute("SELECT * FROM cars WHERE n < 10")
        let expected = try result.items.map { Value.object(try $0.value) }
        #expect(Set(rows.values.map(\.json)) == Set(expected.map(\.json)), "seed \(seed)")
        kill(watch.identifier, SIGTERM)
        #expect(watch.wait() == 0)
        try await store.close()
    }

    @Test func `each change reaches a pipe immediately, and a closed pipe ends the command`()
        async throws
    {
        let store = try await open()
        let script = """
            "$0" watch '\(path)' 'SELECT _id FROM cars ORDER BY _id' --json | sed -u 4q
            echo ended
            """
        let child = try ChildProcess("/bin/sh", ["-c", script, ToolRun.executable.path])
        #expect(read(3, from: child).count == 3)
        try await store.execute("INSERT INTO cars DOCUMENTS ({'_id': 'd'})")
        #expect(
            child.remainingLines() == [
                #"{"change":"inserted","commit":2,"row":{"_id":"d"}}"#, "ended",
            ])
        try await store.close()
    }

    @Test func `invalid statements and modes are refused`() async throws {
        try await open().close()
        let cases: [(words: [String], status: Int32, message: String)] = [
            (["SELEC"], 64, "^^^^^"), (["DELETE FROM cars"], 1, "SELECT"),
            (["SELECT :x AS x FROM cars"], 64, "Parameter x was not provided"),
            (["SELECT * FROM cars", "--mode=csv"], 64, "the mode csv cannot show changes"),
            (["SELECT * FROM cars", "--mode=json"], 64, "the modes of watch are box, table"),
            (["SELECT * FROM cars", "--count=x"], 64, "--count must be"),
        ]
        for (words, status, message) in cases {
            let run = try ToolRun(["watch", path] + words)
            #expect(run.status == status && run.output.isEmpty, "\(words): \(run.errors)")
            #expect(run.errors.contains(message), "\(words): \(run.errors)")
        }
        let missing = try ToolRun(["watch", directory.path("none"), "SELECT * FROM cars"])
        #expect(missing.status == 1 && missing.errors.contains("there is no store at "))
    }

    @Test func `an empty first result has the notes of a query`() async throws {
        let store = try await open()
        let words = ["SELECT * FROM cras", "--count=0"]
        let run = try ToolRun(["watch", path] + words + ["--mode=table"])
        #expect(run.status == 0 && run.text == "0 rows\n")
        #expect(run.errors == "note: there is no collection cras; did you mean cars?\n")
        let json = try ToolRun(["watch", path] + words + ["--json"])
        #expect(json.output.isEmpty && json.errors == run.errors)
        #expect(
            try ToolRun(["watch", path, "SELECT * FROM cars", "--count=0"]).errors.isEmpty)
        try await store.close()
    }

    @Test func `Ctrl-C on a terminal ends the command with exit code 0`() async throws {
        let store = try await open()
        let run = try TerminalRun(["watch", path, "SELECT * FROM cars ORDER BY _id"])
        try run.expect("3 rows")
        try await store.execute("INSERT INTO cars DOCUMENTS ({'_id': 'd'})")
        try run.expect("\u{1B}[32m+ {\"_id\":\"d\"}\u{1B}[0m\n")
        run.type("\u{3}")
        #expect(try run.finish() == 0)
        try await store.close()
    }

    // MARK: The log

    @Test func `the log is followed as commits become durable, after --since`() async throws {
        var store = try await open()
        func follow(_ words: String...) throws -> ChildProcess {
            try ChildProcess(ToolRun.executable.path, ["log", path, "--follow"] + words)
        }
        let all = try follow("--since=0", "--json")
        #expect(read(1, from: all).first?.hasPrefix(#"{"commit":1,"time":"#) == true)
        try await store.execute("UPDATE cars SET n = 5 WHERE _id = 'a'")
        #expect(read(1, from: all).first?.hasPrefix(#"{"commit":2,"#) == true)
        #if os(Linux)
            // The system wakes the command when a commit is durable.
            let open = "/proc/\(all.identifier)/fd"
            let files = try FileManager.default.contentsOfDirectory(atPath: open).compactMap {
                try? FileManager.default.destinationOfSymbolicLink(atPath: "\(open)/\($0)")
            }
            #expect(files.contains { $0.hasSuffix("inotify") }, "\(files)")
        #endif
        let lines = try follow("--since=1", "--limit=2")
        #expect(read(1, from: lines).first?.contains("cars") == true)
        // The names of collections that the command did not know at its start.
        try await store.execute("INSERT INTO boats DOCUMENTS ({'_id': 'x'})")
        let line = lines.remainingLines().first ?? ""
        #expect(line.hasPrefix("3  ") && line.contains("boats"), "\(line)")
        #expect(lines.wait() == 0)
        try await store.close()
        let compaction = try ToolRun(["compact", path, "--keep-commits", "1"])
        #expect(compaction.status == 0, "\(compaction.errors)")
        store = try await Store.open(at: path)
        try await store.execute("INSERT INTO cars DOCUMENTS ({'_id': 'y'})")
        var last = read(2, from: all).last ?? ""
        #expect(last.hasPrefix(#"{"commit":4,"#), "\(last)")
        kill(all.identifier, SIGINT)
        #expect(all.wait() == 0)
        try await store.close()
        // A store that no process has open for writing is followed, too.
        let closed = try follow("--since=3", "--oneline")
        last = read(1, from: closed).last ?? ""
        #expect(last.hasPrefix("4  "), "\(last)")
        let again = try await Store.open(at: path)
        try await again.execute("INSERT INTO cars DOCUMENTS ({'_id': 'z'})")
        #expect(read(1, from: closed).last?.hasPrefix("5  ") == true)
        kill(closed.identifier, SIGTERM)
        #expect(closed.wait() == 0)
        try await again.close()
    }

    @Test func `without --since, only new commits are printed`() async throws {
        let store = try await open()
        let run = try TerminalRun(["log", path, "--follow", "--oneline"])
        // Two commits: the command may start after the first one.
        while !run.hasPrinted {
            try await store.execute("INSERT INTO cars DOCUMENTS ({'n': 1})")
        }
        #expect(!run.output.hasPrefix("1 "))
        run.type("\u{3}")
        #expect(try run.finish() == 0)
        let reverse = try ToolRun(["log", path, "--follow", "--reverse"])
        #expect(reverse.status == 64 && reverse.errors.contains("mutually exclusive"))
        try await store.close()
    }
}
