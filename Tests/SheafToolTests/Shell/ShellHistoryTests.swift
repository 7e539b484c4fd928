import Foundation
import SheafTestSupport
import Testing

/// The history of the shell.
@Suite struct ShellHistoryTests {
    private let up = "\u{1B}[A"
    private let down = "\u{1B}[B"

    private func one(_ name: String) -> String { "SELECT 1 AS \(name) FROM system:dual;" }

    @Test func `the arrow keys recall earlier lines`() throws {
        let shell = try ShellScene()
        try shell.enter(one("a"))
        try shell.enter(".mode line")
        try shell.type(up, showing: "sheaf> .mode line")
        try shell.type(up, showing: "sheaf> " + one("a"))
        try shell.type(down, showing: "sheaf> .mode line")
        try shell.type(down, showing: "sheaf>")
    }

    @Test func `the history has the entries of earlier sessions`() throws {
        let first = try ShellScene()
        try first.enter(one("early"))
        try first.enter(one("late"))
        #expect(try first.leave() == 0)
        let second = try ShellScene(in: first.directory)
        try second.type(up, showing: "sheaf> " + one("late"))
        try second.type(up, showing: "sheaf> " + one("early"))
        #expect(try second.enter("").contains("early"))
    }

    @Test func `a statement of several lines is one entry`() throws {
        let first = try ShellScene()
        try first.enter("SELECT 1 AS a", prompt: "  ...> ")
        try first.enter("FROM system:dual;")
        #expect(try first.leave() == 0)
        let second = try ShellScene(in: first.directory)
        second.run.type(up)
        try second.wait(showing: "sheaf> SELECT 1 AS a\nFROM system:dual;")
        #expect(try second.enter("").contains("1 row"))
    }

    @Test func `two shells keep the entries of each other`() throws {
        let first = try ShellScene()
        let second = try ShellScene(in: first.directory)
        for name in ["a", "c", "e"] {
            try first.enter(one(name))
            try second.enter(one("\(name)2"))
        }
        #expect(try first.leave() == 0)
        #expect(try second.leave() == 0)
        let third = try ShellScene(in: first.directory)
        for name in ["e2", "e", "c2", "c", "a2", "a"] {
            try third.type(up, showing: "sheaf> " + one(name))
        }
    }

    @Test func `a repeated entry is one entry, also in the file`() throws {
        let first = try ShellScene()
        for name in ["a", "b", "b", "b"] { try first.enter(one(name)) }
        try first.type(up, showing: "sheaf> " + one("b"))
        try first.type(up, showing: "sheaf> " + one("a"))
        try first.type("\u{15}", showing: "sheaf>")
        #expect(try first.leave() == 0)
        let file = try String(contentsOfFile: first.directory.path("history"), encoding: .utf8)
        #expect(file.split(separator: "\n").count == 3, "\(file)")
        let second = try ShellScene(in: first.directory)
        try second.type(up, showing: "sheaf> " + one("b"))
        try second.type(up, showing: "sheaf> " + one("a"))
    }

    @Test func `Ctrl-R searches the history`() throws {
        let shell = try ShellScene()
        try shell.enter(one("needle"))
        try shell.enter(one("hay"))
        shell.run.type("\u{12}need")
        try shell.wait(showing: "needle FROM system:dual;")
        let answer = try shell.enter("")
        #expect(answer.contains("needle"), "\(answer)")
    }

    @Test func `only the owner can read the history`() throws {
        let shell = try ShellScene()
        _ = FileManager.default.createFile(
            atPath: shell.directory.path("open"), contents: nil,
            attributes: [.posixPermissions: 0o644])
        try shell.enter(one("a"))
        #expect(try shell.leave() == 0)
        let other = try ShellScene(
            in: shell.directory, environment: ["SHEAF_HISTORY": shell.directory.path("open")])
        // libedit also changes the mode, but only with the first entry.
        #expect(try mode(of: shell.directory.path("open")) == 0o600)
        try other.enter(one("b"))
        for name in ["history", "open"] {
            #expect(try mode(of: shell.directory.path(name)) == 0o600, "\(name)")
        }
    }

    private func mode(of path: String) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
    }

    @Test func `the history is below XDG_STATE_HOME, or in the home directory`() throws {
        let directory = TemporaryDirectory()
        for (variables, path) in [
            (["XDG_STATE_HOME": directory.path("state/deep")], "state/deep/sheaf/history"),
            (["HOME": directory.path("home")], "home/.sheaf_history"),
        ] {
            // The scene sets the variable, which `env` removes again.
            let settings = variables.map { "\($0.key)='\($0.value)'" }.joined(separator: " ")
            let run = try TerminalRun(
                script: "env -u SHEAF_HISTORY \(settings) \"$0\"", environment: [:])
            try run.expect("sheaf> ")
            run.type(one("a") + "\r")
            try run.expect("1 row")
            try run.expect("sheaf> ")
            run.type("\u{4}")
            #expect(try run.finish() == 0)
            #expect(FileManager.default.fileExists(atPath: directory.path(path)), "\(path)")
        }
    }

    @Test func `without a history file, the history ends with the shell`() throws {
        let first = try ShellScene(["--no-history"])
        try first.enter(one("a"))
        try first.type(up, showing: "sheaf> " + one("a"))
        #expect(!FileManager.default.fileExists(atPath: first.directory.path("history")))
        let second = try ShellScene(environment: ["SHEAF_HISTORY": ""])
        try second.enter(one("a"))
        #expect(!FileManager.default.fileExists(atPath: second.directory.path("history")))
    }

    @Test func `statements from a pipe are not added to the history`() throws {
        let directory = TemporaryDirectory()
        let path = directory.path("history")
        let run = try ToolRun(
            script: "echo '\(one("a"))' | SHEAF_HISTORY='\(path)' \"$0\" shell")
        #expect(run.status == 0, "\(run.errors)")
        #expect(!FileManager.default.fileExists(atPath: path))
    }

    @Test func `a history file of another format is reported and kept`() throws {
        let directory = TemporaryDirectory()
        let path = directory.path("history")
        try Data("something else\n".utf8).write(to: URL(fileURLWithPath: path))
        let shell = try ShellScene(in: directory)
        #expect(shell.text.contains("the history \(path.prefix(20))"), "\(shell.text)")
        try shell.enter(one("a"))
        #expect(try String(contentsOfFile: path, encoding: .utf8) == "something else\n")
    }

    @Test(arguments: [(837, 5_001), (838, 5_000)])
    func `the oldest entries of a file beyond 4 MiB are removed`(
        _ length: Int, _ count: Int
    ) throws {
        let directory = TemporaryDirectory()
        let path = directory.path("history")
        let entries = (10_000..<15_001).map { "\($0)" + String(repeating: "x", count: length - 5) }
        func text(_ entries: some Sequence<String>) -> String {
            "_HiStOrY_V2_\n" + entries.joined(separator: "\n") + "\n"
        }
        let all = text(entries)
        #expect(all.utf8.count == 13 + 5_001 * (length + 1))
        try Data(all.utf8).write(to: URL(fileURLWithPath: path))
        #expect(try ShellScene(in: directory).leave() == 0)
        let isShortened =
            try String(contentsOfFile: path, encoding: .utf8)
            == text(entries.suffix(count))
        #expect(isShortened)
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path) == ["history"])
        #expect(try mode(of: path) == 0o600)
    }

    @Test func `the directory of the history is created for its owner only`() throws {
        let directory = TemporaryDirectory()
        let path = directory.path("a/b/history")
        let shell = try ShellScene(in: directory, environment: ["SHEAF_HISTORY": path])
        try shell.enter(one("a"))
        #expect(try shell.leave() == 0)
        #expect(try mode(of: path) == 0o600)
        for name in ["a", "a/b"] { #expect(try mode(of: directory.path(name)) == 0o700) }
    }

    @Test func `a history that cannot be written is reported once`() throws {
        let shell = try ShellScene(columns: 200, environment: ["SHEAF_HISTORY": "/dev/full/h"])
        let note = "note: the history /dev/full/h cannot be written: Not a directory"
        #expect(try shell.enter(one("a")).contains(note))
        #expect(try !shell.enter(one("b")).contains("history"))
        try shell.type(up, showing: "sheaf> " + one("b"))
    }
}
