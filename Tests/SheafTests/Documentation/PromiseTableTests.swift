import Foundation
import SheafDocument
import SheafStatements
import SheafTestSupport
import Testing

/// The table of promises with a time or a number in `Tests/README.md`, and its limits and tests.
@Suite struct PromiseTableTests {
    private static let page = "Tests/README.md"

    private static let promises = "Promises with a time or a number"
    private static let others = [
        "Limits without a test of their boundary", "Limits that promise nothing",
    ]

    /// A row of a table.
    private struct Row {
        var names: [String]
        var tests: Substring
    }

    /// Returns the rows of the table under a heading.
    private func rows(under heading: String) throws -> [Row] {
        let lines = try ProjectFile.text(Self.page).split(separator: "\n")
        let table = lines.drop { $0 != "## \(heading)" }.dropFirst().prefix { !$0.hasPrefix("## ") }
        return table.filter { $0.hasPrefix("| `") }.map { line in
            let cells = line.split(separator: " | ")
            return Row(names: quoted(in: cells[0]), tests: cells.last ?? "")
        }
    }

    private func quoted(in text: Substring) -> [String] {
        let parts = text.split(separator: "`", omittingEmptySubsequences: false)
        return parts.indices.filter { $0 % 2 == 1 }.map { String(parts[$0]) }
    }

    @Test func `each limit of the code is in a table, and each name of the tables is in the code`()
        throws
    {
        let promised = try rows(under: Self.promises).flatMap(\.names)
        let others = try Self.others.flatMap(rows(under:)).flatMap(\.names)
        let declared = try LimitDeclarations.all()
        let limits = Set(declared.filter(\.isLimit).map(\.fullName))
        #expect(limits.count > 400)
        for limit in limits.subtracting(promised + others).sorted() {
            Issue.record("\(Self.page) has no row for \(limit)")
        }
        let names = Set(declared.map(\.fullName))
        for name in promised + others where name.first?.isUppercase == true {
            #expect(names.contains(name), "there is no \(name)")
        }
        #expect(Set(promised).intersection(others).isEmpty)
    }

    @Test func `each system parameter is in the table of promises, or promises nothing`() throws {
        let listed = try (Self.others + [Self.promises]).flatMap(rows(under:)).flatMap(\.names)
        for name in SystemParameters().all.map(\.name) {
            #expect(listed.contains(name), "\(Self.page) has no row for \(name)")
        }
    }

    @Test func `each promise names tests that exist`() throws {
        let tests = try TestSentences.bySuite()
        let promises = try rows(under: Self.promises)
        #expect(promises.count > 200)
        for row in promises {
            let cited = row.tests.split(separator: "; `")
            #expect(!cited.isEmpty, "\(row.names) has no test")
            for citation in cited {
                let parts = citation.split(separator: ": ", maxSplits: 1)
                let suite = parts[0].trimmingPrefix("`").prefix { $0 != "`" }
                let sentence = String(parts.last ?? "").replacing(" |", with: "")
                let sentences = tests[String(suite)] ?? []
                #expect(
                    sentences.contains(sentence),
                    "\(row.names): there is no test \(suite): \(sentence)")
            }
        }
    }
}
