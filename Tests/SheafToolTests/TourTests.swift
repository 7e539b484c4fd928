import Foundation
import SheafTestSupport
import Testing

/// The lines of `sheaf help tour`, each run by /bin/sh.
@Suite struct TourTests {
    private struct Line {
        let title: String
        let command: String
    }

    /// Parses the tour as a reader would: a title with a number, and a line below it.
    private func lines() throws -> (preparation: String, tasks: [Line], commit: String) {
        let lines = try ToolRun("help tour").lines
        let preparation = try #require(lines.first { $0.hasPrefix("  printf ") })
        let tasks = zip(lines, lines.dropFirst()).compactMap { title, line -> Line? in
            guard let number = title.firstMatch(of: #/^\d+\. /#), line.hasPrefix("  ") else {
                return nil
            }
            return Line(
                title: String(title[number.range.upperBound...]),
                command: String(line.dropFirst(2)))
        }
        let commit = try #require(lines.last { $0.hasPrefix("  sheaf query ") })
        return (preparation, tasks, String(commit.dropFirst(2)))
    }

    /// Runs a script in a directory where `sheaf` is the tool.
    private func run(_ script: String, in directory: String) throws -> ToolRun {
        try ToolRun(
            script: "cd '\(directory)' && sheaf() { \"$tool\" \"$@\"; }; tool=$0\n\(script)")
    }

    /// Texts in the output of each task.
    private let expected: [(title: String, texts: [String])] = [
        ("create a store from a CSV file", ["3"]), ("list the collections", ["cars"]),
        ("list the fields and the indexes", ["color", "miles"]),
        ("find documents", ["a   | blue  |  3000", "c   | blue  |  9000", "2 rows"]),
        ("group them", ["blue ", "6000", "red "]), ("show the plan", ["filter", "scan cars"]),
        ("follow changes", ["3 rows", #"+ {"_id":"new","miles":1}"#]), ("back up", []),
        ("compare two stores", []), ("follow the log into jq", ["[", "]"]),
    ]

    @Test func `the tour has ten tasks of one line each`() throws {
        let tasks = try lines().tasks
        #expect(tasks.count == 10 && tasks.allSatisfy { $0.command.contains("sheaf ") })
        for (task, expected) in zip(tasks, expected) {
            #expect(task.title.hasPrefix(expected.title))
            #expect(task.command.count < 100)
        }
    }

    @Test func `each line of the tour prints the promised result`() throws {
        let directory = TemporaryDirectory()
        let path = directory.path("tour")
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: true)
        let (preparation, tasks, commit) = try lines()
        #expect(try run(preparation, in: path).status == 0)
        #expect(
            try String(contentsOfFile: path + "/cars.csv", encoding: .utf8)
                == "_id,color,miles\na,blue,3000\nb,red,10\nc,blue,9000\n")
        for (task, expected) in zip(tasks, expected) {
            let isEndless = task.title.hasSuffix("until Ctrl-C")
            let run = try run(isEndless ? following(task.command) : task.command, in: path)
            #expect(run.status == 0, "\(task.command): \(run.errors)")
            for text in expected.texts {
                #expect(run.text.contains(text), "\(task.command): \(run.text) \(run.errors)")
            }
        }
        #expect(try run(commit, in: path).text.hasSuffix(", 1 document changed\n"))
    }

    /// Returns a script that runs an endless line, writes meanwhile, and ends the line.
    ///
    /// The line gets an option that ends it after one change, so the script waits for no time.
    private func following(_ command: String) -> String {
        let write =
            "INSERT INTO cars DOCUMENTS ({'_id': 'new', 'miles': 1}) ON ID CONFLICT DO UPDATE"
        let isLog = command.hasPrefix("sheaf log")
        let ended = command.replacing(
            isLog ? "--follow" : "sheaf watch cars.sheaf",
            with: isLog ? "--follow --since 0 --limit 1" : "sheaf watch cars.sheaf --count 1")
        return """
            { \(ended); } > output &
            \(isLog ? "" : "until [ -s output ]; do :; done")
            "$tool" query cars.sheaf "\(write)" > /dev/null
            wait $!
            cat output
            rm -f output
            """
    }
}
