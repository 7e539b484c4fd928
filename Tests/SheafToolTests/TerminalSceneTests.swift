import Foundation
import SheafDocument
import Testing

/// Results on a pseudo-terminal: columns that fit, colors, the pager.
@Suite final class TerminalSceneTests {
    /// The stores of the test, whose directories are removed with them.
    private var stores: [QueryCommandStore] = []

    private func cars(_ count: Int = 3) throws -> QueryCommandStore {
        let store = try QueryCommandStore(
            "cars",
            (0..<count).map { number in
                (
                    id: .integer(Int64(number)),
                    fields: [
                        "color": number == 1 ? .null : "blue", "miles": .integer(Int64(number * 7)),
                        "note": .string(String(repeating: "word ", count: 30)),
                    ]
                )
            })
        stores.append(store)
        return store
    }

    private let all = "SELECT * FROM cars ORDER BY _id"

    private func lines(_ text: String) -> [String] {
        text.split(separator: "\n").map(String.init)
    }

    @Test func `a terminal shows a box, with the number of rows and the time`() throws {
        let run = try TerminalRun(
            ["query", try cars().path, "SELECT _id, miles FROM cars ORDER BY _id", "--no-color"])
        #expect(try run.finish() == 0)
        #expect(run.output.hasPrefix("┌─────┬───────┐\n│ _id │ miles │\n"))
        let last = try #require(lines(run.output).last)
        #expect(last.contains(try Regex(#"^3 rows in \d+(\.\d+)? (µs|ms|s)$"#)), "\(last)")
    }

    @Test(arguments: [20, 40, 80, 132])
    func `columns fit a terminal of any width`(columns: Int) throws {
        let run = try TerminalRun(
            ["query", try cars().path, all, "--no-color"], columns: columns)
        #expect(try run.finish() == 0)
        let box = lines(run.output).filter { $0.hasPrefix("│") || $0.hasPrefix("┌") }
        #expect(box.count == 5)
        #expect(box.allSatisfy { $0.count <= columns }, "\(run.output)")
        #expect(run.output.contains("…") && run.output.contains("word") == (columns > 20))
    }

    @Test func `a wide terminal shows values that other outputs cut`() throws {
        let run = try TerminalRun(
            ["query", try cars().path, all, "--no-color"], columns: 240)
        #expect(try run.finish() == 0)
        #expect(run.output.contains(String(repeating: "word ", count: 30) + " │"))
        #expect(!run.output.contains("…"))
    }

    @Test func `columns that do not fit are hidden, and counted`() throws {
        let fields = (0..<30).map { ("field\($0)", Value.string("value \($0)")) }
        let store = try QueryCommandStore("t", [(1, Object(fields))])
        let run = try TerminalRun(["query", store.path, "SELECT * FROM t", "--no-color"])
        #expect(try run.finish() == 0)
        #expect(run.output.contains("1 row, 8 of 31 columns (the mode line shows all) in "))
        #expect(lines(run.output).dropFirst().first?.hasSuffix("│ … │") == true, "\(run.output)")
        #expect(lines(run.output).dropLast().allSatisfy { $0.count <= 80 })
    }

    @Test func `the width is that of the terminal when a result is printed`() throws {
        let path = try cars().path
        let run = try TerminalRun(
            script: "read x; \"$0\" query '\(path)' '\(all)' --no-color; read x", columns: 120)
        run.resize(columns: 50, rows: 24)
        run.type("\n")
        try run.expect("3 rows in")
        #expect(lines(run.output).filter { $0.hasPrefix("│") }.allSatisfy { $0.count <= 50 })
        run.type("\n")
        #expect(try run.finish() == 0)
    }

    @Test func `null is dim and names are bold on a terminal`() throws {
        let run = try TerminalRun(["query", try cars().path, all], columns: 60)
        #expect(try run.finish() == 0)
        #expect(run.output.contains("\u{1B}[2mnull\u{1B}[0m"))
        #expect(run.output.contains("\u{1B}[1mcolor\u{1B}[0m"))
    }

    @Test func `an error is red on a terminal`() throws {
        let run = try TerminalRun(["query", try cars().path, "SELEC 1"])
        #expect(try run.finish() == 64)
        #expect(run.output.hasPrefix("\u{1B}[31msheaf: "))
        #expect(run.output.contains("\u{1B}[31m  ^^^^^\u{1B}[0m\n"))
    }

    @Test func `NO_COLOR, --no-color and a dumb terminal turn colors off`() throws {
        let path = try cars().path
        for (options, environment) in [
            ([], ["NO_COLOR": "1"]), (["--no-color"], [:]), (["--color=never"], [:]),
            ([], ["TERM": "dumb"]),
        ] as [([String], [String: String])] {
            for statement in [all, "SELEC"] {
                let run = try TerminalRun(
                    ["query", path, statement] + options, environment: environment)
                _ = try run.finish()
                #expect(!run.output.contains("\u{1B}"), "\(options) \(environment)")
            }
        }
    }

    @Test func `--color always colors a pipe, and auto does not`() throws {
        let store = try cars()
        let always = try store.query(all, "--mode=box", "--color=always")
        #expect(always.text.contains("\u{1B}[2mnull\u{1B}[0m"))
        #expect(try !store.query(all, "--mode=box").text.contains("\u{1B}"))
        #expect(try !store.query(all, "--json", "--color=always").text.contains("\u{1B}"))
        let off = try store.script(
            "NO_COLOR=1 \"$0\" query \"$STORE\" '\(all)' --mode=box --color=always")
        #expect(off.text.contains("\u{1B}[2m"))
    }

    // MARK: The pager

    /// A pager that prints its input between two marks.
    private let marking = "sed -u -e '1s/^/<pager>/' -e '$s/$/<end>/'"

    @Test func `a result longer than the screen goes to the pager`() throws {
        let path = try cars(30).path
        let run = try TerminalRun(
            ["query", path, all, "--no-color"], environment: ["SHEAF_PAGER": marking])
        #expect(try run.finish() == 0)
        #expect(run.output.hasPrefix("<pager>┌─"), "\(run.output)")
        #expect(lines(run.output).last?.hasSuffix("<end>") == true, "\(run.output)")
        #expect(lines(run.output).count == 35)
    }

    @Test func `a result that fits on the screen needs no pager`() throws {
        let path = try cars().path
        let run = try TerminalRun(
            ["query", path, all, "--no-color"], environment: ["SHEAF_PAGER": marking])
        #expect(try run.finish() == 0 && run.output.hasPrefix("┌─"))
        let tall = try TerminalRun(
            ["query", try cars(30).path, all, "--no-color"], rows: 60,
            environment: ["SHEAF_PAGER": marking])
        #expect(try tall.finish() == 0 && tall.output.hasPrefix("┌─"))
    }

    @Test func `a row of the screen is left for the prompt`() throws {
        let path = try cars(30).path
        // The box has 35 lines.
        for (rows, isPaged) in [(35, true), (36, false)] {
            let run = try TerminalRun(
                ["query", path, all, "--no-color"], rows: rows,
                environment: ["SHEAF_PAGER": marking])
            #expect(try run.finish() == 0)
            #expect(run.output.hasPrefix("<pager>") == isPaged, "\(rows): \(run.output)")
        }
    }

    @Test func `a pipe on either side needs no pager`() throws {
        let path = try cars(30).path
        let query = "\"$0\" query '\(path)' '\(all)' --mode=box --no-color"
        for script in ["\(query) | cat", "echo | \(query)"] {
            let run = try TerminalRun(script: script, environment: ["SHEAF_PAGER": marking])
            #expect(try run.finish() == 0)
            #expect(run.output.hasPrefix("┌─") && lines(run.output).count == 35, "\(script)")
        }
    }

    @Test func `--no-pager, an empty variable and cat print plainly`() throws {
        let path = try cars(30).path
        for (options, environment) in [
            (["--no-pager"], ["SHEAF_PAGER": marking]),
            ([], ["SHEAF_PAGER": "", "PAGER": marking]), ([], ["SHEAF_PAGER": "cat"]),
        ] as [([String], [String: String])] {
            let run = try TerminalRun(
                ["query", path, all, "--no-color"] + options, environment: environment)
            #expect(try run.finish() == 0 && run.output.hasPrefix("┌─"), "\(run.output)")
            #expect(lines(run.output).count == 35)
        }
    }

    @Test func `a pager that is not installed prints plainly`() throws {
        let path = try cars(30).path
        for pager in ["no-such-pager --flag", "/no/such/pager"] {
            let run = try TerminalRun(
                ["query", path, all, "--no-color"], environment: ["SHEAF_PAGER": pager])
            #expect(try run.finish() == 0)
            #expect(run.output.hasPrefix("┌─") && lines(run.output).count == 35)
        }
    }

    @Test func `a pager that a shell cannot run is reported`() throws {
        let run = try TerminalRun(
            ["query", try cars(30).path, all, "--no-color"],
            environment: ["SHEAF_PAGER": "X=1 no-such-pager"])
        #expect(try run.finish() == 0)
        #expect(
            run.output.contains("the pager 'X=1 no-such-pager' cannot be run (exit status 127)"),
            "\(run.output)")
    }

    @Test func `quitting the pager early is no error`() throws {
        let run = try TerminalRun(
            script: "\"$0\" query '\(try cars(20_000).path)' '\(all)'; echo status $?",
            environment: ["SHEAF_PAGER": "head -n 3"])
        #expect(try run.finish() == 0)
        #expect(run.output.hasSuffix("status 0\n"), "\(run.output.suffix(200))")
        #expect(lines(run.output).count == 4)
    }

    @Test(.enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/less")))
    func `less shows the first page, survives Ctrl-C and a new size, and quits`() throws {
        let run = try TerminalRun(
            ["query", try cars(500).path, all], environment: ["SHEAF_PAGER": "less -SRX"])
        try run.expect("│")
        try run.expect(":")
        #expect(!run.output.contains("500 rows"))
        run.type("\u{3}")
        run.resize(columns: 60, rows: 10)
        // An interruption discards what is typed at the same time.
        for _ in 0..<1_000 where !run.output.contains("500 rows in") {
            run.type("G")
            _ = run.hasPrinted
        }
        try run.expect("500 rows in")
        run.type("q")
        #expect(try run.finish() == 0)
    }

    @Test func `notes follow the output of the pager`() throws {
        let run = try TerminalRun(
            ["query", try cars(30).path, all, "--no-color", "--timer"],
            environment: ["SHEAF_PAGER": marking])
        #expect(try run.finish() == 0)
        let last = try #require(lines(run.output).last)
        #expect(last.hasPrefix("sheaf: parse "), "\(run.output)")
    }

    // MARK: Advice

    @Test func `ADVISE offers to create the index on a terminal`() throws {
        let store = try cars()
        let words = ["query", store.path, "ADVISE SELECT * FROM cars WHERE color = 'blue'"]
        let indexes = "SELECT _id FROM system:indexes"
        for answer in ["n", "", "nay", "y n", "\u{4}"] {
            let run = try TerminalRun(words)
            try run.expect("CREATE INDEX cars_color ON cars (color): create it? [y/N] ")
            run.type(answer == "\u{4}" ? answer : answer + "\n")
            #expect(try run.finish() == 0)
            #expect(try store.query(indexes, "--json").text.isEmpty, "\(answer)")
        }
    }

    @Test(arguments: ["y", "Y", " yes ", "Yes"])
    func `an index is created after an answer that means yes`(_ answer: String) throws {
        let store = try cars()
        let run = try TerminalRun(
            ["query", store.path, "ADVISE SELECT * FROM cars WHERE color = 'blue'"])
        try run.expect("create it? [y/N] ")
        run.type(answer + "\n")
        try run.expect("commit 2")
        #expect(try run.finish() == 0)
        #expect(
            try store.query("SELECT _id FROM system:indexes", "--json").text
                == "{\"_id\":\"cars.cars_color\"}\n")
    }

    @Test func `ADVISE prints statements that can be run elsewhere`() throws {
        let store = try cars()
        let advice = try store.query("ADVISE SELECT * FROM cars WHERE color = 'blue'")
        #expect(
            advice.text == """
                -- 1 index suggested
                -- finds documents by color
                CREATE INDEX cars_color ON cars (color);

                """)
        let run = try store.script(
            """
            "$0" query "$STORE" "ADVISE SELECT * FROM cars WHERE color = 'blue'" |
                "$0" query "$STORE" -
            """)
        #expect(run.status == 0 && run.text == "commit 2\n", "\(run.errors)")
        let done = try store.query("ADVISE SELECT * FROM cars WHERE color = 'blue'")
        #expect(done.lines.count == 1 && done.text.hasPrefix("-- "), "\(done.text)")
        let raw = try store.query("ADVISE SELECT * FROM cars", "--json")
        #expect(raw.text.hasPrefix("{\"advice\":"))
    }

    // MARK: Trees

    @Test func `a plan is a tree with branches on a terminal`() throws {
        let run = try TerminalRun([
            "query", try cars().path, "--explain", "--no-color",
            "SELECT * FROM cars AS a JOIN cars AS b ON a._id = b._id WHERE a.miles > 3",
        ])
        #expect(try run.finish() == 0)
        let lines = lines(run.output)
        try #require(lines.count == 5, "\(run.output)")
        #expect(lines[0].hasPrefix("projection") && lines[1].hasPrefix("└─ join"))
        #expect(lines[2].hasPrefix("   ├─ ") && lines.last?.hasPrefix("   └─ ") == true)
        #expect(lines.contains { $0.hasPrefix("   │  └─ scan cars AS a") }, "\(run.output)")
    }

    @Test func `a profile has rows, time and share, and highlights the slowest operator`() throws {
        let store = try cars(2_000)
        let statement = "PROFILE SELECT color FROM cars WHERE miles > 70 ORDER BY note LIMIT 2"
        let run = try TerminalRun(["query", store.path, statement])
        #expect(try run.finish() == 0)
        let lines = lines(run.output)
        let head = try #require(lines.firstIndex { $0.contains("rows") && $0.contains("share") })
        #expect(lines[head].contains("operator"))
        let marked = lines.filter { $0.hasSuffix("  <- slowest\u{1B}[0m") }
        #expect(marked.count == 1 && marked.allSatisfy { $0.hasPrefix("\u{1B}[33m") })
        #expect(lines.contains { $0.contains("2000") && $0.contains("scan cars") })
        let shares = lines[(head + 1)...].compactMap { line in
            line.firstMatch(of: /(\d+)%/).flatMap { Int($0.1) }
        }
        #expect((90...110).contains(shares.reduce(0, +)), "\(run.output)")
        let share = marked.first?.firstMatch(of: /(\d+)%/).flatMap { Int($0.1) }
        #expect(share == shares.max(), "\(run.output)")
        #expect(lines.last?.contains("total ") == true)
    }
}
