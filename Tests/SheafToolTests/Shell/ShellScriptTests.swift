import Foundation
import SheafTestSupport
import Testing

/// Statements of the command line, files and pipes.
@Suite struct ShellScriptTests {
    private func run(_ script: String) throws -> (run: ToolRun, directory: TemporaryDirectory) {
        let directory = TemporaryDirectory()
        let setup = "cd '\(directory.path(""))'\n"
        return (try ToolRun(script: setup + script), directory)
    }

    private let insert = "INSERT INTO t DOCUMENTS ({'_id': 1, 'n': 5});"

    @Test func `statements of the command line run in order, without a prompt`() throws {
        let (run, _) = try run(
            "\"$0\" new.sheaf -c \"\(insert) SELECT n FROM t; SELECT n + 1 AS m FROM t\" --mode jsonl"
        )
        #expect(run.status == 0)
        #expect(
            run.lines.count == 3 && run.lines[1...] == ["{\"n\":5}", "{\"m\":6}"], "\(run.text)")
        #expect(run.errors.isEmpty, "\(run.errors)")
    }

    @Test func `an empty text succeeds and creates no store`() throws {
        let (run, directory) = try run("\"$0\" new.sheaf -c ''")
        #expect(run.status == 0 && run.output.isEmpty && run.errors.isEmpty, "\(run.errors)")
        #expect(!FileManager.default.fileExists(atPath: directory.path("new.sheaf")))
    }

    @Test func `a file and a pipe run like the command line`() throws {
        for call in [
            "\"$0\" s.sheaf -f file", "\"$0\" s.sheaf < file", "\"$0\" s.sheaf -f - < file",
        ] {
            let (run, _) = try run(
                """
                cat > file <<'END'
                -- a file of several lines
                .mode jsonl
                \(insert)
                SELECT n
                  FROM t
                END
                \(call) 2>/dev/null
                """)
            #expect(run.status == 0 && run.lines.last == "{\"n\":5}", "\(call): \(run.text)")
        }
    }

    @Test func `the first error ends the run, with its line and its exit code`() throws {
        for (statement, status, message) in [
            ("SELEC 1;", 64, "file:2: "), ("SELECT :x FROM t;", 64, "file:2: "),
            (".mode bxo", 64, "file:2: unknown mode 'bxo'; did you mean 'box'?"),
            ("CREATE INDEX i ON t (n); CREATE INDEX i ON t (m);", 1, "file:2: "),
            (".read missing", 1, "file:2: cannot read missing: No such file or directory"),
        ] {
            let (run, _) = try run(
                """
                printf '%s\\n' "\(insert)" "\(statement)" "SELECT 'after' AS x FROM system:dual;" > file
                "$0" s.sheaf -f file
                """)
            #expect(run.status == Int32(status), "\(statement): \(run.errors)")
            #expect(run.errors.contains(message), "\(statement): \(run.errors)")
            #expect(!run.text.contains("after"))
        }
    }

    @Test func `an error has its line, or that on which its statement begins`() throws {
        for (statement, message) in [
            ("SELEC\n2;", "file:2: expected a statement, found SELEC\n  SELEC\n"),
            ("SELECT 2\nFORM x;", "file:3: expected FROM, found FORM\n  FORM x;\n"),
            ("SELECT *\nFROM\n t WHERE :x;", "file:4: Parameter x was not provided\n   t WHERE"),
            ("\n\n.mode bxo", "file:4: unknown mode 'bxo'"),
        ] {
            let (run, _) = try run(
                """
                cat > file <<'END'
                SELECT 1 AS x
                FROM system:dual; \(statement)
                END
                "$0" -f file
                """)
            #expect(run.errors.hasPrefix("sheaf: " + message), "\(statement): \(run.errors)")
        }
    }

    @Test func `with --keep-going the first error determines the exit code`() throws {
        let missing = "SELECT * FROM"
        let twice = "CREATE INDEX i ON t (n); CREATE INDEX i ON t (m);"
        for (calls, status) in [
            ("-c \"\(missing)\" -c \"\(twice)\"", 64), ("-c \"\(twice)\" -c \"\(missing)\"", 1),
            ("-c \"\(missing); \(twice)\" -c ''", 64), ("-c \"\(twice) \(missing);\" -c ''", 1),
        ] {
            let (run, _) = try run("\"$0\" s.sheaf --keep-going \(calls)")
            #expect(run.status == Int32(status), "\(calls): \(run.errors)")
        }
    }

    @Test func `with --keep-going an error ends only its statement`() throws {
        let (run, _) = try run(
            "\"$0\" s.sheaf --keep-going -c \"SELEC 1; \(insert) SELECT n FROM t\" --mode jsonl")
        #expect(run.status == 64)
        #expect(
            run.lines.last == "{\"n\":5}" && run.errors.contains("did you mean SELECT?"),
            "\(run.errors)")
    }

    @Test func `a caret marks the position of an error`() throws {
        let (run, _) = try run("\"$0\" s.sheaf -c \"\(insert) SELECT * FRM t\"")
        #expect(run.status == 64)
        let lines = run.errors.split(separator: "\n").map(String.init)
        let line = try #require(lines.firstIndex { $0.contains("SELECT * FRM t") })
        let caret = try #require(lines[line + 1].firstIndex(of: "^"))
        #expect(lines[line][caret...].hasPrefix("FRM"))
        #expect(run.errors.contains("see: sheaf help "))
    }

    @Test func `a caret is aligned with text after wide characters`() throws {
        let (run, _) = try run("\"$0\" -c \"SELECT '日本' AS x FRM t\"")
        // Each of the two characters has two columns.
        let mark = String(repeating: " ", count: 2 + "SELECT '日本' AS x ".count + 2) + "^^^"
        #expect(run.errors.split(separator: "\n").contains { $0 == mark }, "\(run.errors)")
    }

    @Test func `the scratch store answers statements, too`() throws {
        let (run, _) = try run("\"$0\" -c 'SELECT COUNT(*) AS number FROM cars' --json")
        #expect(run.text == "{\"number\":24}\n", "\(run.errors)")
    }

    @Test func `arguments are values of parameters`() throws {
        let (run, _) = try run(
            "\"$0\" --arg 'color=\"blue\"' --json -c 'SELECT COUNT(*) AS n FROM cars WHERE color = :color'"
        )
        #expect(run.text == "{\"n\":6}\n", "\(run.text)\(run.errors)")
    }

    @Test func `invalid UTF-8 and endless statements are refused`() throws {
        let (invalid, _) = try run(
            "printf 'SELECT 1 FROM system:dual;\\nSELECT \"\\377\";' | \"$0\" shell")
        #expect(invalid.errors.contains("standard input:2: the line is not valid UTF-8"))
        let (endless, _) = try run("yes 'SELECT 1,' | head -c 3000000 | \"$0\" s.sheaf")
        #expect(endless.status == 64 && endless.errors.contains("more than 1048576 bytes"))
        let (line, _) = try run("head -c 4000000 /dev/zero | tr '\\0' 'x' | \"$0\" s.sheaf")
        #expect(line.status == 64 && line.errors.contains("the line has more than"))
    }

    @Test func `an unfinished statement at the end is an error`() throws {
        let (run, _) = try run("printf 'SELECT \"a' | \"$0\" s.sheaf")
        #expect(run.status == 64 && run.errors.contains("unterminated string"), "\(run.errors)")
    }

    @Test func `a path never shadows a command, and a misspelled command gets a suggestion`() throws
    {
        for (call, message) in [
            ("mkdir log; \"$0\" log", "missing PATH"), ("\"$0\" verfiy", "did you mean 'verify'?"),
            ("\"$0\" qurey x", "did you mean 'query'?"),
            ("\"$0\" frobnicate", "unknown command 'frobnicate'"),
            ("\"$0\" frobnicate -c '' extra", "unexpected argument 'extra'"),
            ("\"$0\" frobnicate --comand x", "unknown command 'frobnicate'"),
        ] {
            let (run, _) = try run(call)
            #expect(run.status == 64 && run.errors.contains(message), "\(call): \(run.errors)")
        }
        for call in ["\"$0\" word -c ''", "\"$0\" ./log -c ''", "\"$0\" shell log -c ''"] {
            #expect(try run(call).run.status == 0)
        }
    }

    @Test func `a path that is not a store is refused`() throws {
        let (run, _) = try run("echo text > file; \"$0\" ./file -c 'SELECT 1 FROM system:dual'")
        #expect(run.status == 1 && run.errors.contains("file"), "\(run.errors)")
    }

    @Test func `a reading statement creates no store, and --readonly writes nothing`() throws {
        let (missing, directory) = try run("\"$0\" s.sheaf -c 'SELECT * FROM t'")
        #expect(missing.status == 1)
        #expect(
            missing.errors.contains(
                "there is no store at s.sheaf yet; the first statement that writes creates it"))
        #expect(!FileManager.default.fileExists(atPath: directory.path("s.sheaf")))
        let (only, _) = try run(
            "\"$0\" s.sheaf -c \"\(insert)\"; \"$0\" s.sheaf --readonly -c \"DELETE FROM t\"")
        #expect(only.status == 1 && only.errors.contains("--readonly"), "\(only.errors)")
    }

    @Test func `.output writes results to a file, and then to standard output again`() throws {
        let (run, directory) = try run(
            """
            "$0" --mode jsonl <<'END'
            .output results
            SELECT 1 AS a FROM system:dual;
            .output
            SELECT 2 AS b FROM system:dual;
            END
            """)
        #expect(run.text == "{\"b\":2}\n", "\(run.errors)")
        #expect(
            try String(contentsOfFile: directory.path("results"), encoding: .utf8) == "{\"a\":1}\n")
    }

    @Test func `a file that .output cannot create leaves the output as it is`() throws {
        let (run, directory) = try run(
            """
            "$0" --mode jsonl --keep-going <<'END'
            .output results
            SELECT 1 AS a FROM system:dual;
            .output missing/file
            SELECT 2 AS b FROM system:dual;
            .output
            SELECT 3 AS c FROM system:dual;
            END
            """)
        #expect(run.status == 1 && run.text == "{\"c\":3}\n", "\(run.errors)")
        #expect(run.errors.contains("cannot write missing/file: No such file or directory"))
        #expect(
            try String(contentsOfFile: directory.path("results"), encoding: .utf8)
                == "{\"a\":1}\n{\"b\":2}\n")
    }

    @Test func `a failed write to a file of .output names the file`() throws {
        let (run, _) = try run(
            """
            "$0" --mode jsonl <<'END'
            SELECT 1 AS a FROM system:dual;
            .output /dev/full
            SELECT 2 AS b FROM system:dual;
            END
            """)
        #expect(run.status == 1 && run.text == "{\"a\":1}\n", "\(run.errors)")
        #expect(run.errors == "sheaf: cannot write to /dev/full: No space left on device\n")
    }

    @Test func `.output does not replace a file of the store`() throws {
        let (run, directory) = try run(
            """
            "$0" s.sheaf -c "INSERT INTO t DOCUMENTS ({'_id': 1})" > log
            ln -s s.sheaf link
            for file in s.sheaf/0000000001.log s.sheaf/new link/LOCK; do
                "$0" s.sheaf -c ".output $file" -c "SELECT * FROM t"
            done
            "$0" s.sheaf --mode jsonl -c "SELECT * FROM t"
            "$0" verify s.sheaf > log
            """)
        #expect(run.status == 0 && run.text == "{\"_id\":1}\n", "\(run.text)")
        #expect(run.errors.split(separator: "\n").count == 3, "\(run.errors)")
        #expect(run.errors.contains("s.sheaf/new is inside the store s.sheaf; name a file outside"))
        #expect(!FileManager.default.fileExists(atPath: directory.path("s.sheaf/new")))
    }

    @Test func `the nesting of .read is limited`() throws {
        let (run, _) = try run("echo '.read loop' > loop; \"$0\" -f loop")
        #expect(run.status == 1 && run.errors.contains(".read is nested more than 16 times: loop"))
    }

    @Test func `a closed pipe ends the run`() throws {
        let (run, _) = try run(
            "\"$0\" --mode jsonl -c 'SELECT * FROM trips; SELECT * FROM trips' | head -n 1; echo end"
        )
        #expect(
            run.lines.count == 2 && run.lines[1] == "end" && run.errors.isEmpty, "\(run.errors)")
    }
}
