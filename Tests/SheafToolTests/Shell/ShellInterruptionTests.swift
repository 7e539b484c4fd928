import Foundation
import Sheaf
import SheafSystem
import SheafTestSupport
import Testing

/// Ctrl-C in a shell.
@Suite(.serialized) struct ShellInterruptionTests {
    private let interrupt = "\u{3}"

    @Test func `Ctrl-C discards the line at the prompt`() throws {
        let shell = try ShellScene()
        try shell.type("DELETE FROM cars;", showing: "sheaf> DELETE FROM cars;")
        let row = shell.screen.row
        shell.run.type(interrupt)
        try shell.wait(after: row)
        #expect(try shell.enter("SELECT COUNT(*) AS n FROM cars;").contains("24"))
    }

    @Test(arguments: [(60, 2), (120, 4), (33, 2), (32, 1)])
    func `Ctrl-C at the start of a long line leaves all its rows`(
        _ length: Int, _ rows: Int
    ) throws {
        let shell = try ShellScene(columns: 40)
        let start = shell.screen.row
        // The first key moves the cursor to the start of the line.
        shell.run.type(String(repeating: "x", count: length) + "\u{1}" + interrupt)
        try shell.wait(after: start)
        #expect(shell.screen.row == start + rows, "\(shell.text)")
        #expect(shell.screen.lines[start].hasPrefix("sheaf> ^C"), "\(shell.text)")
    }

    @Test func `Ctrl-C discards an unfinished statement`() throws {
        let shell = try ShellScene()
        try shell.enter("DELETE FROM cars WHERE color = 'blue", prompt: " '...> ")
        let row = shell.screen.row
        shell.run.type(interrupt)
        try shell.wait(after: row)
        #expect(try shell.enter("SELECT COUNT(*) AS n FROM cars;").contains("24"))
    }

    @Test func `Ctrl-C on an empty line does not exit the shell`() throws {
        let shell = try ShellScene()
        for _ in 0..<3 {
            let row = shell.screen.row
            shell.run.type(interrupt)
            try shell.wait(after: row)
        }
        #expect(try shell.leave() == 0)
    }

    @Test func `a signal from another process discards the line, too`() throws {
        let shell = try ShellScene()
        try shell.type("SELECT", showing: "sheaf> SELECT")
        let row = shell.screen.row
        shell.run.send(SIGINT)
        try shell.wait(after: row)
        #expect(try shell.enter("SELECT 3 AS three FROM system:dual;").contains("three"))
    }

    // MARK: Long statements

    /// A store of 100,000 documents, created once.
    private static let many: Result<TemporaryDirectory, any Error> = Result {
        let directory = TemporaryDirectory()
        let path = directory.path("many.sheaf")
        let numbers = (0..<1_000).map(String.init).joined(separator: "}),({'n':")
        let statement = "INSERT INTO t DOCUMENTS ({'n':\(numbers)});\n"
        let file = directory.path("statements")
        try Data(String(repeating: statement, count: 100).utf8)
            .write(to: URL(fileURLWithPath: file))
        let run = try ToolRun([path, "-f", file])
        guard run.status == 0 else { throw Refused(errors: run.errors) }
        return directory
    }

    struct Refused: Error { let errors: String }

    private func shell(_ words: String...) throws -> ShellScene {
        let directory = try Self.many.get()
        return try ShellScene([directory.path("many.sheaf")] + words)
    }

    /// A statement that evaluates slow functions for each document.
    private let scan = "SELECT COUNT(*) FROM t WHERE repeat(CAST(n AS STRING), 100) LIKE '%x%';"

    @Test func `Ctrl-C cancels a long scan within two seconds`() throws {
        let shell = try shell()
        #expect(try shell.enter("SELECT COUNT(*) AS n FROM t;").contains("100000"))
        for _ in 0..<3 {
            let row = shell.screen.row
            shell.run.type(scan + "\r")
            try shell.run.wait(until: { _ in shell.run.isCooked })
            let start = Clock.system.monotonicNanoseconds()
            shell.run.type(interrupt)
            try shell.wait(after: row)
            let milliseconds = (Clock.system.monotonicNanoseconds() - start) / 1_000_000
            print("canceled after \(milliseconds) ms")
            #expect(
                shell.text.hasSuffix("sheaf: interrupted\nsheaf>"), "\(shell.text)")
            // A debug build on a busy machine; the limit in release builds is 100 ms.
            #expect(milliseconds < 2_000)
        }
        #expect(try shell.enter("SELECT COUNT(*) AS n FROM t;").contains("100000"))
    }

    @Test func `the shell waits for a long scan without using a processor`() throws {
        let shell = try shell()
        let row = shell.screen.row
        shell.run.type(scan + "\r")
        // At the prompt, where the shell waits as well, the terminal is not in this state.
        try shell.run.wait(until: { _ in
            shell.run.isCooked && shell.run.isWaiting && shell.run.isCooked
        })
        shell.run.type(interrupt)
        try shell.wait(after: row)
        #expect(shell.text.hasSuffix("sheaf: interrupted\nsheaf>"), "\(shell.text)")
    }

    @Test func `Ctrl-C ends the output of a long result`() throws {
        let shell = try shell("--mode", "jsonl")
        let row = shell.screen.row
        shell.run.type("SELECT n FROM t;\r")
        try shell.run.wait(until: { $0.utf8.count > 10_000 })
        shell.run.type(interrupt)
        try shell.wait(after: row)
        #expect(shell.screen.lines.count < 100_000)
        #expect(try shell.enter("SELECT 3 AS three FROM system:dual;").contains("three"))
    }

    @Test func `a canceled statement that writes changes nothing`() throws {
        let shell = try shell()
        let row = shell.screen.row
        shell.run.type("UPDATE t SET n = -1 WHERE upper(CAST(n AS STRING)) LIKE '%';\r")
        try shell.run.wait(until: { $0.contains("is open for writing") })
        shell.run.type(interrupt)
        try shell.wait(after: row)
        #expect(shell.text.contains("interrupted; nothing was changed"))
        #expect(
            try shell.enter("SELECT COUNT(*) AS changed FROM t WHERE n = -1;").contains("│       0")
        )
        #expect(try shell.leave() == 0)
    }

    @Test func `Ctrl-C ends a command that another process runs`() throws {
        let shell = try shell()
        let row = shell.screen.row
        shell.run.type(".system echo started; exec tail -f /dev/null\r")
        try shell.run.wait(until: { $0.contains("\nstarted") })
        shell.run.type(interrupt)
        try shell.wait(after: row)
        #expect(try shell.enter("SELECT 3 AS three FROM system:dual;").contains("three"))
    }
}
