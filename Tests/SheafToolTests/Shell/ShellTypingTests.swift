import Foundation
import SheafTestSupport
import Testing

/// Typing statements in a shell.
@Suite struct ShellTypingTests {
    @Test func `the statements that the banner suggests run`() throws {
        let shell = try ShellScene(columns: 120, rows: 60)
        let suggestions = shell.screen.lines.filter { $0.hasPrefix("  SELECT") }
        #expect(suggestions.count == 2)
        for statement in suggestions {
            let answer = try shell.enter(statement)
            #expect(answer.contains("┌──") && answer.contains("rows in"), "\(answer)")
        }
        #expect(try shell.leave() == 0)
    }

    @Test func `several statements of a line run in order`() throws {
        let shell = try ShellScene()
        let answer = try shell.enter(
            "SELECT 1 AS first FROM system:dual; SELECT 2 AS second FROM system:dual;")
        let first = try #require(answer.range(of: "first"))
        let second = try #require(answer.range(of: "second"))
        #expect(first.lowerBound < second.lowerBound)
    }

    @Test func `a statement continues on further lines until its semicolon`() throws {
        let shell = try ShellScene()
        #expect(try shell.enter("SELECT COUNT(*) AS number", prompt: "  ...> ").isEmpty)
        #expect(try shell.enter("FROM cars -- all; of them", prompt: "  ...> ").isEmpty)
        #expect(try shell.enter(";").contains("24"))
    }

    @Test(arguments: [
        ("SELECT 'a", " '...> ", "';"), ("SELECT \"a", " \"...> ", "\";"),
        ("SELECT `a", " `...> ", "`;"), ("SELECT /* a;", "/*...> ", "*/ 1;"),
        ("SELECT (1,", " (...> ", "2);"), ("SELECT [1,", " [...> ", "2];"),
        ("SELECT { 'a':", " {...> ", "1 };"), ("SELECT ('(", " '...> ", "');"),
    ])
    func `the prompt shows the innermost open delimiter`(start: String, prompt: String, end: String)
        throws
    {
        let shell = try ShellScene()
        try shell.enter(start, prompt: prompt)
        try shell.enter(end)
        #expect(try shell.enter("SELECT 1 + 1 AS two FROM system:dual;").contains("two"))
    }

    @Test func `comments and empty lines start no statement`() throws {
        let shell = try ShellScene()
        for line in ["", "   ", "-- nothing", "/* nothing */", ";", ";;"] {
            #expect(try shell.enter(line).isEmpty, "\(line)")
        }
    }

    @Test func `a semicolon in a string does not end a statement`() throws {
        let shell = try ShellScene()
        #expect(try shell.enter("SELECT 'a;b' AS text FROM system:dual;").contains("a;b"))
    }

    @Test func `a dot command within a statement is text of the statement`() throws {
        let shell = try ShellScene()
        try shell.enter("SELECT COUNT(*) AS number FROM cars", prompt: "  ...> ")
        #expect(try shell.enter(".help", prompt: "  ...> ").isEmpty)
        #expect(try shell.enter(";").contains("^"))
    }

    @Test func `help and exit need no dot`() throws {
        let shell = try ShellScene(rows: 80)
        #expect(try shell.enter("help").contains(".collections"))
        shell.run.type("exit\r")
        #expect(try shell.run.finish() == 0)
    }

    // MARK: Editing

    @Test func `keys edit the line`() throws {
        let shell = try ShellScene()
        try shell.type("SELECT x", showing: "sheaf> SELECT x")
        try shell.type("\u{7F}1", showing: "sheaf> SELECT 1")
        // Ctrl-A, Ctrl-E and the arrow keys.
        try shell.type("\u{1}-", showing: "sheaf> -SELECT 1")
        try shell.type("\u{5}2", showing: "sheaf> -SELECT 12")
        try shell.type("\u{1B}[D\u{1B}[D+", showing: "sheaf> -SELECT +12")
        try shell.type("\u{1B}[C5", showing: "sheaf> -SELECT +152")
        // Home, the Delete key, and End.
        try shell.type("\u{1B}[H\u{1B}[3~", showing: "sheaf> SELECT +152")
        try shell.type("\u{1B}[F0", showing: "sheaf> SELECT +1520")
        // Ctrl-W deletes a word, Ctrl-K the rest, Ctrl-U the line.
        try shell.type("\u{17}", showing: "sheaf> SELECT +")
        try shell.type("\u{1}\u{1B}[C\u{1B}[C\u{B}", showing: "sheaf> SE")
        try shell.type("\u{15}", showing: "sheaf>")
        #expect(try shell.enter("SELECT 7 AS seven FROM system:dual;").contains("seven"))
    }

    @Test func `the cursor moves by words`() throws {
        let shell = try ShellScene()
        try shell.type("alpha beta gamma", showing: "sheaf> alpha beta gamma")
        try shell.type("\u{1B}[1;5D\u{1B}[1;5D_", showing: "sheaf> alpha _beta gamma")
        try shell.type("\u{1B}f_", showing: "sheaf> alpha _beta_ gamma")
    }

    @Test func `a letter beyond ASCII is erased with one key`() throws {
        let shell = try ShellScene()
        try shell.type("SELECT 'é€", showing: "sheaf> SELECT 'é€")
        try shell.type("\u{7F}", showing: "sheaf> SELECT 'é")
        let answer = try shell.enter("' AS text FROM system:dual;")
        #expect(answer.contains("│ é"), "\(answer)")
    }

    @Test func `a line longer than the terminal wraps, and runs`() throws {
        let shell = try ShellScene(columns: 40)
        let word = String(repeating: "a", count: 60)
        let answer = try shell.enter("SELECT '\(word)' AS text FROM system:dual;")
        #expect(answer.contains("1 row"), "\(answer)")
    }

    @Test func `a resized terminal keeps the line, and results fit it`() throws {
        let shell = try ShellScene(columns: 120)
        try shell.type("SELECT * FROM cars", showing: "sheaf> SELECT * FROM cars")
        shell.resize(columns: 60, rows: 24)
        let answer = try shell.enter(" LIMIT 3;")
        let box = answer.split(separator: "\n").filter { $0.hasPrefix("│") }
        #expect(box.count == 4 && box.allSatisfy { $0.count <= 60 }, "\(answer)")
    }

    @Test func `pasted lines run in order`() throws {
        let shell = try ShellScene()
        shell.run.type("SELECT 1 AS a\rFROM system:dual;\rSELECT 2 AS b FROM system:dual;\r")
        try shell.wait(showing: "│ 2 │")
        try shell.wait()
        #expect(shell.text.contains("│ 1 │"))
    }

    // MARK: The end

    @Test func `Ctrl-D exits the shell, but only on an empty line`() throws {
        let shell = try ShellScene()
        try shell.type("SELECT", showing: "sheaf> SELECT")
        shell.run.type("\u{4}")
        try shell.type(" 1", showing: "sheaf> SELECT 1")
        try shell.type("\u{15}", showing: "sheaf>")
        #expect(try shell.leave() == 0)
        #expect(shell.run.isCooked)
    }

    @Test func `the terminal is as before after a statement and at the end`() throws {
        let shell = try ShellScene()
        try shell.enter("SELECT 1 AS one FROM system:dual;")
        shell.run.type(".quit\r")
        #expect(try shell.run.finish() == 0)
        #expect(shell.run.isCooked)
    }

    @Test(arguments: [SIGTERM, SIGHUP])
    func `a signal that ends the shell restores the terminal`(signal: Int32) throws {
        let shell = try ShellScene()
        try shell.type("SELECT", showing: "sheaf> SELECT")
        #expect(!shell.run.isCooked)
        shell.run.send(signal)
        #expect(try shell.run.finish() == 128 + signal)
        #expect(shell.run.isCooked)
    }

    @Test func `a stopped shell continues with its line`() throws {
        let shell = try ShellScene()
        try shell.type("SELECT 5", showing: "sheaf> SELECT 5")
        shell.run.send(SIGSTOP)
        shell.run.send(SIGCONT)
        #expect(try shell.enter(" AS five FROM system:dual;").contains("five"))
    }

    @Test func `a shell that continues sets the terminal again, if another program changed it`()
        throws
    {
        let shell = try ShellScene()
        try shell.type("SELECT 5", showing: "sheaf> SELECT 5")
        #expect(!shell.run.isCooked)
        shell.run.send(SIGSTOP)
        shell.run.cook()
        #expect(shell.run.isCooked)
        shell.run.send(SIGCONT)
        try shell.run.wait(until: { _ in !shell.run.isCooked })
        #expect(try shell.enter(" AS five FROM system:dual;").contains("five"))
    }
}
