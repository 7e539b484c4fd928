import Foundation
import SheafDocument
import SheafTestSupport
import Testing

/// Boxes on terminals that are narrower than their columns, and results that are longer.
@Suite final class NarrowTerminalTests {
    /// The stores of the test, whose directories are removed with them.
    private var stores: [QueryCommandStore] = []

    private func store(_ documents: [(id: Value, fields: Object)]) throws -> String {
        let store = try QueryCommandStore("t", documents)
        stores.append(store)
        return store.path
    }

    private func lines(_ text: String) -> [String] {
        text.split(separator: "\n").map(String.init)
    }

    /// The widths of the columns of a box, from its first line.
    private func widths(_ output: String) -> [Int] {
        let rule = lines(output).first ?? ""
        return rule.dropFirst(2).dropLast(2).split(separator: "─┬─").map(\.count)
    }

    private func box(_ path: String, _ statement: String, columns: Int) throws -> String {
        let run = try TerminalRun(["query", path, statement, "--no-color"], columns: columns)
        #expect(try run.finish() == 0)
        return run.output
    }

    /// The id has 3 cells, each field at least 6, the gap between two columns 3, both margins 4,
    /// and the column of the ellipsis 1.
    @Test(arguments: [(10, 1), (16, 1), (17, 1), (19, 1), (20, 2), (73, 7), (74, 8), (82, 8)])
    func `as many columns are shown as a terminal has room for, and the others are counted`(
        _ columns: Int, _ shown: Int
    ) throws {
        let fields = (0..<30).map { ("field\($0)", Value.string("value \($0)")) }
        let output = try box(store([(1, Object(fields))]), "SELECT * FROM t", columns: columns)
        let note = "1 row, \(shown) of 31 columns (the mode line shows all) in "
        #expect(output.contains(note), "\(output)")
        let found = widths(output)
        #expect(found.count == shown + 1 && found.last == 1, "\(output)")
        let rows = lines(output).filter { "┌│├└".contains($0.first ?? " ") }
        #expect(rows.count == 5 && Set(rows.map(\.count)).count == 1, "\(output)")
        #expect(rows.allSatisfy { $0.count <= columns }, "\(output)")
    }

    @Test func `columns that fit are all shown, at their own widths`() throws {
        let path = try store([(1, ["a": "four", "b": "seven x"])])
        let output = try box(path, "SELECT * FROM t", columns: 24)
        #expect(widths(output) == [3, 4, 7])
        #expect(!output.contains(" columns "), "\(output)")
    }

    @Test(arguments: [
        ("SELECT a, b, c FROM t", [7, 7, 6]), ("SELECT _id, a, b FROM t", [3, 9, 8]),
        ("SELECT a, b FROM t", [12, 11]), ("SELECT a FROM t", [20]),
    ])
    func `wide columns share the room that narrow ones leave`(
        _ statement: String, _ expected: [Int]
    ) throws {
        let text = Value.string(String(repeating: "x", count: 20))
        let path = try store([(1, ["a": text, "b": text, "c": text])])
        #expect(widths(try box(path, statement, columns: 30)) == expected)
    }

    @Test func `a long result goes to the pager, unless an option forbids it`() throws {
        let path = try store((0..<12).map { (.integer($0), ["n": .integer($0)]) })
        for (options, isPaged) in [([], true), (["--no-pager"], false)] as [([String], Bool)] {
            let run = try TerminalRun(
                ["query", path, "SELECT * FROM t", "--no-color"] + options, rows: 10,
                environment: ["SHEAF_PAGER": "sed -u -e '1s/^/<pager>/'"])
            #expect(try run.finish() == 0)
            #expect(run.output.hasPrefix(isPaged ? "<pager>┌─" : "┌─"), "\(run.output)")
        }
    }

    /// The line of a field begins with its name in bold, `ESC[1m` and `ESC[0m`.
    @Test(
        arguments: [
            // A line of 207 cells has six rows, and the id and the summary have three.
            (["text"], 200, 7, true), (["text"], 200, 12, false),
            // Six lines of 38 cells have one row each, although they have more than 40 bytes.
            (["a", "b", "c", "d", "e", "f"], 34, 12, false),
        ] as [([String], Int, Int, Bool)])
    func `colors take no room when rows are counted for the pager`(
        _ names: [String], _ length: Int, _ rows: Int, _ isPaged: Bool
    ) throws {
        let text = Value.string(String(repeating: "x", count: length))
        let path = try store([(1, Object(names.map { ($0, text) }))])
        let run = try TerminalRun(
            ["query", path, "SELECT * FROM t", "--mode", "line"], columns: 40, rows: rows,
            environment: ["SHEAF_PAGER": "sed -u -e '1s/^/<pager>/'"])
        #expect(try run.finish() == 0)
        #expect(run.output.contains("\u{1B}[1m\(names[0])\u{1B}[0m = xxx"), "\(run.output)")
        #expect(run.output.hasPrefix("<pager>") == isPaged, "\(run.output)")
    }

    @Test func `after .output, a long result goes to the pager again, unless an option forbids it`()
        throws
    {
        let directory = TemporaryDirectory()
        let select = "SELECT make FROM cars"
        for (options, isPaged) in [([], true), (["--no-pager"], false)] as [([String], Bool)] {
            let file = directory.path("results-\(isPaged)")
            let run = try TerminalRun(
                ["-c", ".output '\(file)'", "-c", select, "-c", ".output", "-c", select]
                    + ["--no-color"] + options,
                rows: 10, environment: ["SHEAF_PAGER": "sed -u -e '1s/^/<pager>/'"])
            #expect(try run.finish() == 0)
            #expect(run.output.hasPrefix(isPaged ? "<pager>┌─" : "┌─"), "\(run.output)")
            #expect(lines(run.output).count { $0.hasPrefix("│") } == 25, "\(run.output)")
            // A file needs no pager.
            #expect(try String(contentsOfFile: file, encoding: .utf8).hasPrefix("┌─"))
        }
    }

    @Test func `a backup shows its progress on a terminal, at most ten times in a second`() throws {
        let path = try store((0..<12).map { (.integer($0), ["n": .integer($0)]) })
        let run = try TerminalRun(["backup", path, path + ".copy"])
        #expect(try run.finish() == 0)
        let line = "\r\u{1B}[K"
        let drawn = run.output.components(separatedBy: line).dropFirst()
        let copying = drawn.filter { $0.hasSuffix(" s left") }
        #expect(copying.first?.contains("/s, ") == true, "\(run.output.debugDescription)")
        #expect(drawn.contains { $0.hasPrefix("verifying ") }, "\(run.output.debugDescription)")
        // The line is removed before the report.
        let report = try #require(drawn.last)
        #expect(report.hasPrefix("backed up through commit 1: copied "), "\(report)")
        let match = try #require(report.firstMatch(of: /verified, (\d+) ms\n/))
        let milliseconds = try #require(Int(match.1))
        #expect(copying.count <= 1 + milliseconds / 100)
    }
}
