import Foundation
import SheafTestSupport
import Testing

/// Stores that a shell opens, reads and writes.
@Suite struct ShellStoreTests {
    private let insert = "INSERT INTO t DOCUMENTS ({'_id': 1, 'n': 5});"
    private let read = "SELECT n FROM t;"

    private func path(_ directory: TemporaryDirectory) -> String { directory.path("s.sheaf") }

    @Test func `a store that does not exist is created by the first statement that writes`() throws
    {
        let directory = TemporaryDirectory()
        let shell = try ShellScene([path(directory)], in: directory, columns: 200)
        #expect(
            shell.text.contains("does not exist yet; the first statement that writes creates it."))
        #expect(try shell.enter(read).contains("there is no store at"))
        #expect(!FileManager.default.fileExists(atPath: path(directory)))
        #expect(try shell.enter(insert).contains("note: created the store"))
        #expect(try shell.enter(read).contains("│ 5 │"))
        #expect(try shell.leave() == 0)
        let second = try ShellScene([path(directory)], in: directory, columns: 200)
        #expect(second.text.contains("1 collection, such as t."))
        #expect(try second.enter(read).contains("│ 5 │"))
    }

    @Test func `a shell reads the commits of another one, which writes`() throws {
        let directory = TemporaryDirectory()
        let writer = try ShellScene([path(directory)], in: directory, columns: 200)
        try writer.enter(insert)
        let reader = try ShellScene([path(directory)], in: directory, columns: 200)
        #expect(try reader.enter(read).contains("│ 5 │"))
        try writer.enter("UPDATE t SET n = 6;")
        #expect(try reader.enter(read).contains("│ 6 │"))
    }

    @Test func `the error for a store in use names its process, until .release closes it`() throws {
        let directory = TemporaryDirectory()
        let writer = try ShellScene([path(directory)], in: directory, columns: 200)
        try writer.enter(insert)
        let other = try ShellScene([path(directory)], in: directory, columns: 200)
        let refusal = try other.enter("UPDATE t SET n = 7;")
        #expect(refusal.contains("in use by process"), "\(refusal)")
        #expect(refusal.contains("reading works meanwhile"), "\(refusal)")
        #expect(try other.enter(read).contains("│ 5 │"))
        #expect(try writer.enter(".release").contains("released"))
        #expect(try other.enter("UPDATE t SET n = 7;").contains("1 document changed"))
        #expect(try writer.enter(read).contains("│ 7 │"))
        #expect(try writer.enter("UPDATE t SET n = 8;").contains("in use by process"))
    }

    @Test func `only the error for a store in use suggests to close it`() throws {
        let directory = TemporaryDirectory()
        let file = directory.path("file")
        try Data("text".utf8).write(to: URL(fileURLWithPath: file))
        // No store can be created in a file.
        let run = try ToolRun([file + "/s.sheaf", "-c", insert])
        #expect(run.status != 0 && run.errors.contains("sheaf: "), "\(run.errors)")
        #expect(!run.errors.contains("reading works meanwhile"), "\(run.errors)")
    }

    @Test func `a shell with --readonly never writes`() throws {
        let directory = TemporaryDirectory()
        #expect(try ToolRun([path(directory), "-c", insert]).status == 0)
        let shell = try ShellScene([path(directory), "--readonly"], in: directory, columns: 200)
        #expect(try shell.enter("DELETE FROM t;").contains("only reads"))
        #expect(try shell.enter(read).contains("│ 5 │"))
        #expect(try ToolRun([path(directory), "-c", "UPDATE t SET n = 9"]).status == 0)
        #expect(try shell.enter(read).contains("│ 9 │"))
        let missing = try ToolRun([directory.path("none.sheaf"), "--readonly", "-c", ""])
        #expect(missing.status == 1 && missing.errors.contains("there is no store"))
    }

    @Test func `.open replaces the store, unless the path is not a store`() throws {
        let directory = TemporaryDirectory()
        #expect(try ToolRun([path(directory), "-c", insert]).status == 0)
        let shell = try ShellScene(in: directory, columns: 200)
        #expect(try shell.enter(".open \(path(directory))").contains("note: opened"))
        #expect(try shell.enter(read).contains("│ 5 │"))
        let refusal = try shell.enter(".open /dev/null")
        #expect(refusal.contains("sheaf: "), "\(refusal)")
        #expect(try shell.enter(read).contains("│ 5 │"))
        #expect(try shell.enter(".open").contains("scratch"))
        #expect(try shell.enter("SELECT COUNT(*) AS n FROM cars;").contains("24"))
    }

    @Test func `parameters of the store survive the change to writing`() throws {
        let directory = TemporaryDirectory()
        #expect(try ToolRun([path(directory), "-c", insert]).status == 0)
        let shell = try ShellScene([path(directory)], in: directory, columns: 200)
        try shell.enter("ALTER SYSTEM SET dql_strict_mode = true;")
        try shell.enter("UPDATE t SET n = 6;")
        let answer = try shell.enter("SHOW dql_strict_mode;")
        #expect(answer.contains("true"), "\(answer)")
    }

    @Test func `commands of the tool run on the store, also while the shell writes`() throws {
        let directory = TemporaryDirectory()
        let shell = try ShellScene([path(directory)], in: directory, columns: 200)
        try shell.enter(insert)
        #expect(try shell.enter(".log --json").contains("\"commit\""))
        #expect(try shell.enter(".blame t 1").contains("n"))
        #expect(try shell.enter(".log --snice 1").contains("did you mean '--since'?"))
        #expect(try shell.enter(read).contains("│ 5 │"))
        let scratch = try ShellScene(columns: 200)
        #expect(try scratch.enter(".log").contains("the scratch store is in memory"))
    }

    @Test func `.watch prints changes until Ctrl-C`() throws {
        let directory = TemporaryDirectory()
        #expect(try ToolRun([path(directory), "-c", insert]).status == 0)
        let shell = try ShellScene([path(directory)], in: directory, columns: 200)
        let row = shell.screen.row
        shell.run.type(".watch SELECT n FROM t WHERE n > 3\r")
        try shell.wait(showing: "5")
        #expect(try ToolRun([path(directory), "-c", "UPDATE t SET n = 4321"]).status == 0)
        try shell.wait(showing: "4321")
        shell.run.type("\u{3}")
        try shell.wait(after: row + 1)
        #expect(try shell.enter(read).contains("4321"))
    }
}
