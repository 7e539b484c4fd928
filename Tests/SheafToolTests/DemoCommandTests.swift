import Foundation
import SheafSystem
import SheafTestSupport
import Testing

/// The demonstration, whose output the README shows.
@Suite struct DemoCommandTests {
    private let directory = TemporaryDirectory()

    @Test func `the demo ends with three peers that have the same documents`() throws {
        let run = try ToolRun(["demo", "--json", "--store", directory.path("ann")])
        #expect(run.status == 0, "\(run.errors)")
        let steps = try run.objects()
        let trips = steps.compactMap { step -> [String: Any]? in
            step["peer"] is String ? step["document"] as? [String: Any] : nil
        }
        #expect(trips.count == 9)
        for trip in trips.suffix(3) {
            #expect(trip["place"] as? String == "Zermatt" && trip["days"] as? Int == 5)
            #expect(trip["bring"] as? [String: Int] == ["rope": 1, "tent": 1])
        }
        let titles = steps.compactMap { $0["title"] as? String }
        for word in ["Write", "Query", "Observe", "Sync", "Try next"] {
            #expect(titles.contains { $0.contains(word) }, "\(word)")
        }
        let times = steps.compactMap { $0["milliseconds"] as? Double }
        #expect(times.count == 6 && times.allSatisfy { $0 > 0 })
    }

    @Test func `the commands at the end of the demo explore the store that it leaves`() throws {
        let path = directory.path("it's new")
        let demo = try ToolRun(["demo", "--json", "--store", path])
        let commands = try demo.objects().compactMap { $0["command"] as? String }
        #expect(commands.first == "alias sheaf=\(ToolRun.executable.path)")
        #expect(commands.last == "sheaf help")
        var outputs: [String] = []
        for command in commands.dropFirst() {
            let run = try ToolRun(script: "\"$0\"" + command.dropFirst("sheaf".count))
            #expect(run.status == 0, "\(command): \(run.errors)")
            outputs.append(run.text)
        }
        #expect(outputs.first?.contains("Zermatt") == true)
        let huts = try ToolRun([
            "query", path, "SELECT COUNT(*) AS n, MIN(beds) AS low, MAX(beds) AS high FROM huts",
            "--json",
        ])
        #expect(huts.text == "{\"high\":120,\"low\":6,\"n\":10000}\n", "\(huts.errors)")
    }

    @Test func `the demo fits a terminal of 80 columns and shows its times`() throws {
        let path = directory.path("ann")
        let run = try ToolRun(["demo", "--store", path])
        #expect(run.status == 0, "\(run.errors)")
        #expect(run.lines.first?.contains("Sheaf \(SheafVersion.current), ") == true)
        for line in run.lines where !line.contains(path) && !line.contains("alias ") {
            #expect(line.count <= 80, "\(line)")
        }
        let timed = run.lines.filter { $0.hasSuffix(" ms") }
        #expect(timed.count == 6)
        for line in timed {
            // Times end in the last column, with two decimals below ten milliseconds.
            #expect(line.count == 80, "\(line)")
            let digits = line.dropLast(3).split(separator: " ").last ?? ""
            let parts = digits.split(separator: ".").map(String.init)
            let whole = try #require(Int(parts.first ?? ""))
            #expect(parts.count == 2, "\(line)")
            #expect(parts.last?.count == (whole < 10 ? 2 : 1) || digits == "10.00", "\(line)")
        }
    }

    @Test func `the demo does not write to a path that exists`() throws {
        let run = try ToolRun(["demo", "--store", directory.path])
        #expect(run.status == 1 && run.output.isEmpty)
        #expect(run.errors.contains("exists already; --store requires a new path"))
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path).isEmpty)
    }
}
