import BenchHarness
import SheafTestSupport
import Testing

/// The chart and the table that are drawn from the JSON lines of a run.
@Suite struct PublishedTests {
    private let groups = [
        PublishedGroup(
            title: "Commits & <more>",
            rows: [
                PublishedRow(
                    "one", "storage/durable-1",
                    [
                        .init(system: "sqlite", name: "SQLite"),
                        .init(system: "lmdb", name: "LMDB"),
                        .init(system: "stdlib", name: "Swift"),
                    ])
            ]),
        PublishedGroup(title: "Latency: of one", rows: [PublishedRow("all", "fanout/fanout-1")]),
    ]

    private func lines(_ values: [(case: String, system: String, value: Double)]) -> [String] {
        values.flatMap { name, system, value in
            let parts = name.split(separator: "/").map(String.init)
            let test = Case(parts[1], "", unit: "u/s", .higher, systems: [])
            return Figure.all(of: [Sample(value)], system: system, in: test, workload: parts[0])
        }.map { $0.line(machine: "P, 2 cores, 8 GiB, more").text }
    }

    private var sample: [String] {
        lines([
            ("storage/durable-1", "sheaf", 1_000), ("storage/durable-1", "sqlite", 400),
            ("storage/durable-1", "lmdb", 4_000), ("storage/durable-1", "stdlib", 10),
            ("fanout/fanout-1", "sheaf", 33),
        ])
    }

    private func results(_ lines: [String]) throws -> PublishedResults {
        try PublishedResults(parsing: lines.joined(separator: "\n"), groups: groups)
    }

    @Test func `the table has a ratio for each system, bold where the engine is slower`() throws {
        #expect(
            PublishedTable.lines(try results(sample)) == [
                "|  | Sheaf | SQLite | LMDB | RocksDB | others |",
                "| --- | --- | --- | --- | --- | --- |",
                "| Commits & <more>: one | 1,000 u/s | 2.5× | **0.25×** |  | 100× Swift |",
                "| Latency: all | 33.0 u/s |  |  |  |  |",
            ])
    }

    @Test func `a bar begins at one, and extends to the left if the engine is slower`() throws {
        let svg = PublishedChart.svg(try results(sample))
        let bars = try svg.matches(
            of: /<rect class="([abcd])" x="([0-9.]+)" y="[0-9.]+" width="([0-9.]+)"/
        )
        .map { bar in
            let x = try #require(Double(bar.output.2))
            let width = try #require(Double(bar.output.3))
            return (String(bar.output.1), x, x + width)
        }
        #expect(bars.map(\.0) == ["a", "b", "d"])
        let one = bars[0].1
        #expect(abs(bars[1].2 - one) < 0.2 && bars[1].1 < one)
        #expect(abs(bars[2].1 - one) < 0.2)
        // The scale is logarithmic: 100 is as far from 1 as 0.25 is, times log(100) / log(4).
        let (left, right) = (bars[1].2 - bars[1].1, bars[2].2 - bars[2].1)
        #expect(abs(right / left - 3.3219) < 0.02)
    }

    @Test func `the chart is deterministic, has texts for readers, and both appearances`() throws {
        let svg = PublishedChart.svg(try results(sample))
        let reversed = try results(sample.reversed())
        #expect(PublishedChart.svg(reversed) == svg)
        #expect(svg.contains("role=\"img\" aria-labelledby=\"title description\""))
        #expect(svg.contains("<title id=\"title\">"))
        #expect(
            svg.contains("Commits &amp; &lt;more&gt;, one: 2.5× SQLite, 0.25× LMDB, 100× Swift."))
        #expect(svg.contains("@media (prefers-color-scheme: dark)"))
        #expect(svg.contains("width=\"800.0\""))
        #expect(svg.contains("P, 2 cores, 8 GiB; medians"))
        for name in ["text", "svg", "style", "title", "desc"] {
            #expect(svg.ranges(of: "<\(name)").count == svg.ranges(of: "</\(name)>").count)
        }
    }

    @Test func `results that lack a figure or mix machines are refused`() throws {
        for missing in sample.indices {
            var rest = sample
            rest.remove(at: missing)
            #expect(throws: PublishedResults.Incomplete.self) { try results(rest) }
        }
        let other = sample[0].replacing("P, 2 cores", with: "Q, 2 cores")
        #expect(throws: PublishedResults.Incomplete("the figures are of 2 machines, not one")) {
            try results(sample + [other])
        }
        #expect(throws: PublishedResults.Incomplete("line 1 is not a figure")) {
            try results(["{}"])
        }
    }

    @Test func `the chart and the table of the README are those of the results`() throws {
        let results = try PublishedResults(
            parsing: try ProjectFile.text("Benchmarks/results.jsonl"))
        #expect(try ProjectFile.text("Benchmarks/chart.svg") == PublishedChart.svg(results))
        let table = PublishedTable.lines(results).joined(separator: "\n")
        #expect(
            try ProjectFile.text("README.md").contains("-->\n\(table)\n<!-- end of results -->"))
    }

    @Test func `the published cases can be selected on the command line`() throws {
        let arguments = try BenchmarkArguments(parsing: ["--published", "--json"])
        #expect(arguments.names.count == PublishedGroup.all.flatMap(\.rows).count)
        #expect(arguments.names.contains("storage/durable-1"))
        let chart = try BenchmarkArguments(parsing: ["--chart", "results.jsonl"])
        #expect(chart.action == .chart && chart.results == "results.jsonl")
        let table = try BenchmarkArguments(parsing: ["--table=results.jsonl"])
        #expect(table.action == .table && table.results == "results.jsonl")
    }
}
