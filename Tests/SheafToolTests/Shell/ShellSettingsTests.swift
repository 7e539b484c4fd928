import SheafSystem
import SheafTestSupport
import Testing

/// Tests of dot commands on the command line: their words, settings and exit codes.
@Suite struct ShellSettingsTests {
    private let directory = TemporaryDirectory()

    /// Runs the shell with each text as a value of `-c`.
    private func run(_ texts: String..., words: [String] = []) throws -> ToolRun {
        try ToolRun(words + texts.flatMap { ["-c", $0] })
    }

    private func settings(_ changed: [String: String]) -> String {
        let defaults = [
            ("store", "the scratch store (in memory)"), ("mode", "table"), ("timer", "off"),
            ("explain", "off"), ("profile", "off"), ("output", "standard output"),
            ("params", "0 values"), ("version", SheafVersion.current),
        ]
        return defaults.map { name, value in
            name + String(repeating: " ", count: 9 - name.count) + (changed[name] ?? value) + "\n"
        }.joined()
    }

    // MARK: Settings

    @Test func `the settings are those that commands have changed`() throws {
        #expect(try run(".settings").text == settings([:]))
        let changed = try run(
            ".timer on", ".explain on", ".params a 1", ".mode line", ".settings", ".timer off",
            ".profile on", ".params b 2", ".settings")
        #expect(
            changed.text
                == settings([
                    "timer": "on", "explain": "on", "params": "1 value", "mode": "line",
                ]) + settings(["profile": "on", "params": "2 values", "mode": "line"]))
        let printed = try run(
            ".mode", ".timer", ".explain", ".profile", ".mode tsv", ".timer ON", ".explain ON",
            ".mode", ".timer", ".explain", ".profile")
        #expect(printed.lines == ["table", "off", "off", "off", "tsv", "on", "on", "off"])
    }

    @Test func `plans and profiles exclude each other, and each is switched off alone`() throws {
        let run = try run(
            ".explain on", ".profile off", ".explain", ".profile on", ".explain", ".profile",
            ".explain off", ".profile", ".profile OFF", ".profile")
        #expect(run.lines == ["on", "off", "on", "on", "off"])
    }

    @Test func `only statements on documents become plans`() throws {
        let select = "SELECT 1 AS x FROM system:dual"
        let plan = "projection 1 AS x\n  scan system:dual\n"
        let run = try run(
            ".explain on", "EXPLAIN " + select, select, "ALTER SYSTEM SET dql_strict_mode = true")
        #expect(run.text == plan + plan + "dql_strict_mode\n---------------\ntrue\n\n1 row\n")
    }

    @Test func `the settings show how a store is open`() throws {
        let path = directory.path("store")
        let file = directory.path("file")
        func store(_ access: String) -> String { settings(["store": "\(path) (\(access))"]) }
        let insert = "INSERT INTO t DOCUMENTS ({'_id': 1})"
        let run = try run(
            ".settings", ".release", insert, ".settings", ".release", ".settings",
            ".output '\(file)'", ".settings", ".output", words: [path])
        #expect(
            run.text == store("reading") + "commit 1, 1 document changed\n" + store("writing")
                + store("reading"))
        #expect(
            run.errors == "note: the store is not open for writing\nnote: released \(path)\n")
        let redirected = settings(["store": "\(path) (reading)", "output": "a file"])
        #expect(try ToolRun(script: "cat '\(file)'").text == redirected)
        let readOnly = try self.run(".settings", words: [path, "--readonly"])
        #expect(readOnly.text == store("read only"))
        let opened = try self.run(".open", ".settings", words: [path])
        #expect(opened.text == settings([:]))
        #expect(opened.errors == "note: opened the scratch store\n")
        let missing = try self.run(".open '\(path)2'", words: [path])
        #expect(
            missing.errors == "note: \(path)2 does not exist yet; the first statement that writes "
                + "creates it\n")
    }

    @Test func `indexes are listed by collection, with the directions of their fields`() throws {
        let create = [
            "CREATE INDEX i ON t (a.b DESC, c)", "CREATE INDEX h ON s (x)", ".indexes",
            ".indexes t",
        ]
        let run = try ToolRun(
            [directory.path("store"), "--json"] + create.flatMap { ["-c", $0] })
        let (h, i) = (
            #"{"collection":"s","fields":"x","index":"h"}"#,
            #"{"collection":"t","fields":"a.b DESC, c","index":"i"}"#
        )
        #expect(run.lines == [#"{"commit":1}"#, #"{"commit":2}"#, h, i, i])
        #expect(run.errors.isEmpty)
    }

    // MARK: Parameters

    @Test func `parameters are listed by name, and each form of an assignment sets one`() throws {
        let run = try run(
            ".params b = [2]", ".params :a  =  1", ".params c=\"x y\"", ".params d {\"e\": 1}",
            ".params", ".params c", ".params :d", ".params", ".params clear", ".params")
        #expect(
            run.text == #"""
                name | value
                -----+--------
                a    | 1
                b    | [2]
                c    | "x y"
                d    | {"e":1}

                4 rows
                name | value
                -----+------
                a    | 1
                b    | [2]

                2 rows

                """#)
        #expect(run.errors == "note: no parameter has a value\n")
        let select = "SELECT :a + 1 AS n FROM system:dual"
        let value = try self.run(".params :a 41", select, words: ["--json"])
        #expect(value.text == "{\"n\":42}\n", "\(value.errors)")
        let unknown = try self.run(".params a 1", ".params b")
        #expect(unknown.status == 64)
        #expect(unknown.errors == "sheaf: the parameter 'b' has no value\n")
        let invalid = try self.run(".params :a 'x'")
        #expect(invalid.status == 64)
        #expect(
            invalid.errors.hasPrefix("sheaf: the value of 'a' is not valid JSON: line 1, column 1"))
    }

    // MARK: Words

    @Test func `words are divided at spaces outside of quotes`() throws {
        let run = try run(
            #".print 'a b'"c" "" d"#, ".print\ta \t b ;", ".print x;", #".print "it's" 'a "b"'"#,
            ".PRINT y", ".pri z", ".print", ".print;")
        #expect(run.text == "a bc  d\na b\nx\nit's a \"b\"\ny\nz\n\n\n")
        #expect(run.status == 0 && run.errors.isEmpty)
    }

    @Test(arguments: [
        (".set x", "unexpected argument 'x'; usage: .settings"),
        (".print 'x", "the closing quote ' is missing"),
        (".print \"it's", "the closing quote \" is missing"),
        (".timer on off", "unexpected argument 'off'; usage: .timer on|off"),
        (".timer maybe", "expected on or off, not 'maybe'; usage: .timer on|off"),
        (".mode a b", "unexpected argument 'b'; usage: .mode [MODE]"),
        (".cd", "usage: .cd DIRECTORY"), (".system", "usage: .system COMMAND"),
        // Several commands begin with these.
        (".s", "unknown command '.s'; see .help"), (".", "unknown command '.'; see .help"),
    ])
    func `a command with wrong words is refused, and ends the run`(
        _ line: String, _ message: String
    ) throws {
        let run = try run(line, ".print after")
        #expect(run.status == 64 && run.output.isEmpty)
        #expect(run.errors == "sheaf: \(message)\n")
    }

    @Test func `words of other shells end a run, or print the help`() throws {
        for word in ["exit", "QUIT", "quit;", "Exit;", #"\q"#, " .exit ", ".quit", ".quit;"] {
            let run = try run(".print before", word, ".print after")
            #expect(run.status == 0 && run.text == "before\n", "\(word)")
        }
        let help = try run(".help").text
        #expect(help.hasPrefix("Statements end with a semicolon"))
        for word in ["?", "HELP", "help;", #"\?"#] {
            #expect(try run(word).text == help, "\(word)")
        }
    }

    // MARK: Exit codes

    @Test func `a command that fails has the exit code of its program`() throws {
        let path = directory.path("store")
        let insert = "INSERT INTO t DOCUMENTS ({'_id': 1})"
        #expect(try run(insert, words: [path]).status == 0)
        let failures: [(line: String, status: Int32, message: String)] = [
            (".show 99", 1, "no commit 99; 'sheaf log' lists the commits"),
            (".log --nope", 64, "unknown option '--nope'"),
            (".system exit 3", 1, "the command ended with exit code 3"),
            (".system kill -9 $$", 1, "the command ended with exit code 137"),
        ]
        for (line, status, message) in failures {
            let run = try run(line, ".print after", words: [path])
            #expect(run.status == status && run.output.isEmpty, "\(line)")
            // The program has printed the message, and the shell prints nothing after it.
            #expect(run.errors == "sheaf: \(message)\n", "\(line)")
            let all = try self.run(line, ".print after", words: [path, "--keep-going"])
            #expect(all.status == status && all.text == "after\n", "\(line)")
            #expect(all.errors == "sheaf: \(message)\n", "\(line)")
        }
        let shown = try run(".show 1", ".print after", words: [path])
        #expect(shown.status == 0 && shown.lines.last == "after", "\(shown.errors)")
    }

    @Test func `commands that need a store on disk, or write, are refused elsewhere`() throws {
        let memory = try run(".stats")
        #expect(memory.status == 1)
        #expect(
            memory.errors == "sheaf: 'sheaf stats' needs a store on disk, and the scratch store is "
                + "in memory; open one with .open PATH\n")
        let path = directory.path("store")
        #expect(try run("INSERT INTO t DOCUMENTS ({'_id': 1})", words: [path]).status == 0)
        for line in ["DELETE FROM t", ".import t missing.csv"] {
            let run = try run(line, words: [path, "--readonly"])
            #expect(run.status == 1 && run.output.isEmpty)
            #expect(
                run.errors
                    == "sheaf: the shell only reads, because it was started with --readonly\n")
        }
    }
}
