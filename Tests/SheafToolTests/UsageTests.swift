import Foundation
import SheafStorage
import SheafSystem
import SheafTestSupport
import Testing

@Suite struct UsageTests {
    private let commands = [
        "shell", "query", "watch", "import", "export", "checksum", "log", "show", "blame", "verify",
        "salvage", "stats", "compact", "backup", "restore", "diff", "clock", "peer serve",
        "peer connect", "peer list", "peer execute", "sync status", "explain-sync", "keygen",
        "grant", "demo", "completions", "man",
    ]

    @Test func `the version and the help go to standard output`() throws {
        let version = try ToolRun("--version")
        #expect(version.status == 0 && version.errors.isEmpty)
        #expect(version.text == "sheaf \(SheafVersion.current)\n")
        for words in ["--help", "-h", "help"] {
            let help = try ToolRun(words)
            #expect(help.status == 0 && help.errors.isEmpty)
            for command in commands { #expect(help.text.contains("\n  \(command) ")) }
        }
    }

    @Test func `the help of a command is the same, however it is requested`() throws {
        for command in commands {
            let help = try ToolRun("help \(command)")
            #expect(help.status == 0 && help.errors.isEmpty)
            #expect(help.text.hasPrefix("usage: sheaf \(command)"))
            #expect(help.text.contains("JSON"))
            #expect(try ToolRun("\(command) --help").text == help.text)
            #expect(try ToolRun("\(command) /nowhere -h").text == help.text)
            #expect(help.lines.allSatisfy { $0.count <= 160 })
        }
    }

    @Test func `an invalid command line is refused in one line, with a suggestion`() throws {
        let cases: [(words: String, complaint: String)] = [
            ("", "missing command"),
            ("lgo /tmp", "unknown command 'lgo'; did you mean 'log'?"),
            ("verfiy /tmp", "did you mean 'verify'?"),
            ("frobnicate", "unknown command 'frobnicate'; see 'sheaf --help'"),
            ("--verison", "unknown option '--verison'; did you mean '--version'?"),
            ("help sow", "did you mean 'show'?"),
            ("help log extra", "unexpected argument 'extra'; usage: sheaf help COMMAND"),
            ("peer", "incomplete command 'peer'; expected peer serve, peer connect, peer list"),
            ("sync --wait 1", "incomplete command 'sync'; expected sync status"),
            ("peer sreve x", "unknown command 'peer sreve'; did you mean 'peer serve'?"),
            ("help peer lits", "unknown command 'peer lits'; did you mean 'peer list'?"),
            ("help sync status extra", "unexpected argument 'extra'; usage: sheaf help COMMAND"),
            ("log", "missing PATH; usage: sheaf log PATH"),
            ("show /tmp", "missing COMMIT"),
            ("log /tmp /var", "unexpected argument '/var'"),
            ("log /tmp --snice 4", "unknown option '--snice'; did you mean '--since'?"),
            ("log /tmp -j", "unknown option '-j'"),
            ("log /tmp --since", "option --since requires a value: --since COMMIT"),
            ("log /tmp --since=x", "--since must be a non-negative integer, not 'x'"),
            ("log /tmp --since -1", "--since must be a non-negative integer, not '-1'"),
            ("log /tmp --json=yes", "option --json takes no value"),
            ("log /tmp --since=+1", "--since must be a non-negative integer, not '+1'"),
            ("show /tmp +1", "COMMIT must be a non-negative integer, not '+1'"),
            ("show /tmp one", "COMMIT must be a non-negative integer, not 'one'"),
            ("salvage /tmp /x --store abc", "--store must be 32 hexadecimal digits"),
            (
                "salvage /tmp /x --store +23456789abcdef0+23456789abcdef0",
                "--store must be 32 hexadecimal digits"
            ),
        ]
        for (words, message) in cases {
            let run = try ToolRun(words)
            #expect(run.status == 64, "\(words)")
            #expect(run.output.isEmpty)
            #expect(run.errors.hasPrefix("sheaf: "))
            #expect(run.errors.contains(message), "\(words): \(run.errors)")
            #expect(run.errors.split(separator: "\n").count == 1)
        }
    }

    @Test func `an empty path is refused`() throws {
        let cases: [(words: [String], name: String)] = [
            (["log", ""], "PATH"), (["show", "", "1"], "PATH"), (["verify", ""], "PATH"),
            (["stats", ""], "PATH"), (["compact", ""], "PATH"), (["salvage", "", "/x"], "IN"),
            (["salvage", "/tmp", ""], "OUT"),
        ]
        for (words, name) in cases {
            let run = try ToolRun(words)
            #expect(run.status == 64 && run.output.isEmpty)
            #expect(
                run.errors.hasPrefix("sheaf: \(name) is empty; usage: sheaf \(words[0]) "),
                "\(words)")
        }
    }

    @Test func `an argument that is not valid UTF-8 is refused instead of repaired`() throws {
        let store = try StoreOnDisk()
        // A tool that repairs the argument would open this directory.
        try store.copy(to: "st\u{FFFD}re")
        let path = store.directory.path
        let valid = try ToolRun(script: "\"$0\" log \(path)/$(printf 'st\\357\\277\\275re')")
        #expect(valid.status == 0)
        let run = try ToolRun(script: "\"$0\" log \(path)/$(printf 'st\\377re')")
        #expect(run.status == 64 && run.output.isEmpty)
        #expect(run.errors == "sheaf: '\(path)/st\\xffre' is not valid UTF-8\n")
    }

    @Test func `the help of compact names the history that a store keeps by default`() throws {
        let help = try ToolRun("help compact").text
        let history = HistoryHorizon()
        let bounds = "\(history.commits) commits and \(history.bytes >> 20).0 MiB of log"
        #expect(help.contains(bounds))
    }

    @Test func `a path after two dashes may look like an option`() throws {
        let run = try ToolRun(["log", "--", "--json"])
        #expect(run.status == 1)
        #expect(run.errors == "sheaf: there is no store at --json\n")
    }

    @Test func `a file in place of a store is reported as a file`() throws {
        let directory = TemporaryDirectory()
        let path = directory.path("cars.csv")
        try Data("make\nFord\n".utf8).write(to: URL(fileURLWithPath: path))
        #expect(try ToolRun(["keygen", path + ".key"]).status == 0)
        for command in [
            "log \(path)", "verify \(path)", "stats \(path)", "salvage \(path) \(path)2",
            "diff \(path) \(path)", "query \(path) SELECT+*+FROM+cars",
            "watch \(path) SELECT+*+FROM+cars",
            "compact \(path)", "export \(path) cars", "backup \(path) \(path)2",
            "restore \(path) \(path)2", "shell \(path)", "shell \(path) -c SELECT+1", path,
            "peer serve \(path) --key \(path).key --database d --listen 127.0.0.1:0",
        ] {
            let words = command.split(separator: " ").map {
                String($0).replacingOccurrences(of: "+", with: " ")
            }
            let run = try ToolRun(words)
            #expect(run.status == 1 && run.output.isEmpty, "\(command)")
            #expect(
                run.errors == "sheaf: \(path) is a file, and a store is a directory; "
                    + "sheaf import NEWSTORE COLLECTION \(path) reads its rows into one\n",
                "\(command): \(run.errors)")
        }
    }

    @Test func `an import into a file states the order of the arguments`() throws {
        let directory = TemporaryDirectory()
        let path = directory.path("cars.csv")
        try Data("make\nFord\n".utf8).write(to: URL(fileURLWithPath: path))
        let message = "sheaf: \(path) is a file, and the first argument is a store, which is a "
        for words in [
            [path, "cars", directory.path("store")], [path, "cars", path], [path, "cars"],
            [path, "cars", "missing"],
        ] {
            let run = try ToolRun(["import"] + words)
            #expect(run.status == 64 && run.output.isEmpty, "\(words)")
            #expect(
                run.errors == message
                    + "directory: sheaf import NEWSTORE COLLECTION \(path)\n", "\(words)")
        }
        let full = try ToolRun(["import", path, "export", "--full"])
        #expect(full.status == 64)
        #expect(
            full.errors == message + "directory: sheaf import NEWSTORE \(path) --full\n",
            "\(full.errors)")
    }

    @Test func `a command on a path without a store fails and creates nothing`() throws {
        let store = try StoreOnDisk()
        let missing = store.directory.path("missing")
        let target = store.directory.path("target")
        for command in [
            "log \(missing)", "show \(missing) 1", "verify \(missing)", "stats \(missing)",
            "compact \(missing)", "compact \(missing) --dry-run", "salvage \(missing) \(target)",
            "log /dev/null", "verify /usr",
        ] {
            let run = try ToolRun(command)
            #expect(run.status == 1, "\(command)")
            #expect(run.output.isEmpty)
            #expect(run.errors.hasPrefix("sheaf: there is no store at "))
        }
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: store.directory.path) == ["store"])
    }

    @Test func `errors quote at most 200 scalars of arguments and paths`() throws {
        // Linux limits an argument to 128 KiB.
        let long = LongInput.text(scalars: 50_000)
        let path = TemporaryDirectory().path("none")
        for words in [
            [long], ["query", path, "SELECT * FROM cars", "--mode=\(long)"],
            ["help", "query", long],
            ["query", path, "SELECT * FROM cars", "--arg", long],
            ["query", path, "SELECT * FROM cars", "--\(long)"],
            ["query", long, "SELECT * FROM cars"], ["verify", long], ["log", long],
            ["query", path, "SELECT * FROM cars", long],
            ["show", path, long],
        ] {
            let run = try ToolRun(words)
            #expect(run.status != 0)
            #expect(LongInput.problem(in: run.errors) == nil, "\(words[0])")
        }
    }
}
