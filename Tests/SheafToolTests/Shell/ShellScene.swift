import Foundation
import SheafTestSupport

/// A shell under a pseudo-terminal.
final class ShellScene {
    static let prompt = "sheaf> "

    let run: TerminalRun
    private var columns: Int
    /// The files of the scene, which several shells may share.
    let directory: TemporaryDirectory

    /// Starts a shell and waits for its prompt; the history is a file of the scene.
    init(
        _ words: [String] = [], in directory: TemporaryDirectory = TemporaryDirectory(),
        columns: Int = 80, rows: Int = 24, environment: [String: String] = [:],
        waits: Bool = true
    ) throws {
        self.directory = directory
        self.columns = columns
        var variables = [
            "SHEAF_HISTORY": directory.path("history"), "NO_COLOR": "1",
            "HOME": directory.path("home"), "TMPDIR": "/tmp",
        ]
        variables.merge(environment) { $1 }
        run = try TerminalRun(words, columns: columns, rows: rows, environment: variables)
        if waits { try wait() }
    }

    /// The screen so far.
    var screen: TerminalScreen { TerminalScreen(run.output, width: columns) }

    /// The text of the screen.
    var text: String { screen.lines.joined(separator: "\n") }

    /// Waits for a prompt after which nothing is typed.
    func wait(for prompt: String = ShellScene.prompt, after row: Int = -1) throws {
        try run.wait(until: { [columns] output in
            let screen = TerminalScreen(output, width: columns)
            return screen.row > row && screen.typedLine == prompt
        })
    }

    /// Types keys and waits until the line of the cursor is `line`, with its prompt.
    @discardableResult
    func type(_ keys: String, showing line: String) throws -> ShellScene {
        run.type(keys)
        try run.wait(until: { [columns] output in
            let screen = TerminalScreen(output, width: columns)
            return screen.lines[screen.row] == line.trimmingSuffix(" ")
        })
        return self
    }

    /// Enters a line and waits for the next prompt; returns the rows between.
    @discardableResult
    func enter(_ line: String, prompt: String = ShellScene.prompt) throws -> String {
        let start = screen.row
        run.type(line + "\r")
        try wait(for: prompt, after: start)
        let screen = screen
        return screen.lines[(start + 1)..<screen.row].joined(separator: "\n")
    }

    /// Waits until the screen contains a text.
    func wait(showing text: String) throws {
        try run.wait(until: { [columns] output in
            TerminalScreen(output, width: columns).lines.joined(separator: "\n").contains(text)
        })
    }

    /// Changes the size of the terminal.
    func resize(columns: Int, rows: Int) {
        self.columns = columns
        run.resize(columns: columns, rows: rows)
    }

    /// Leaves the shell with Ctrl-D; returns its exit code.
    func leave() throws -> Int32 {
        run.type("\u{4}")
        return try run.finish()
    }
}

extension String {
    /// The text without a character at its end.
    func trimmingSuffix(_ character: Character) -> String {
        var text = self
        while text.last == character { text.removeLast() }
        return text
    }
}
