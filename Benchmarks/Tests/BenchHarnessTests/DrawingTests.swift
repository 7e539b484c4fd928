import BenchHarness
import Foundation
import FoundationXML
import Testing

/// The charts of `--plot`.
@Suite struct DrawingTests {
    private func samples(_ values: [Double], slowest: UInt64) -> [Sample] {
        values.map { value in
            let latencies = (1...2_000).map { UInt64($0) * 100 } + [slowest]
            let part = Sample(value / 2, latencies: latencies, rows: 1)
            return Sample(value, latencies: latencies, rows: 1, parts: ["get <&>": part])
        }
    }

    private let test = Case(
        "all", "", unit: "operations/s", .higher, hasLatencies: true, parts: ["get <&>"],
        systems: [])

    private var figures: [Figure] {
        Figure.all(
            of: samples([90, 100, 120], slowest: 5_000_000), system: "sheaf", in: test,
            workload: "till")
            + Figure.all(
                of: samples([40, 50, 60], slowest: 90_000_000), system: "sqlite", in: test,
                workload: "till")
    }

    /// Returns the elements of a document; fails if it is not well-formed.
    private func elements(_ svg: String) throws -> [(name: String, attributes: [String: String])] {
        let reader = ElementReader()
        let parser = XMLParser(data: .init(svg.utf8))
        parser.delegate = reader
        let isWellFormed = parser.parse()
        #expect(isWellFormed, "\(parser.parserError.map { "\($0)" } ?? "")")
        return reader.elements
    }

    @Test func `a chart of medians has a bar and a range for each figure`() throws {
        let svg = RangePlot.svg(figures, title: "till <1>", machine: "P & Q")
        let elements = try elements(svg)
        let bars = elements.filter { $0.name == "rect" && $0.attributes["class"] != "page" }
        try #require(bars.map { $0.attributes["class"] } == ["a", "b", "a", "b"])
        let widths = bars.compactMap { $0.attributes["width"].flatMap(Double.init) }
        // The bars of one figure have one scale.
        #expect(abs(widths[0] / widths[1] - 2) < 0.02)
        let ranges = elements.filter { $0.attributes["class"] == "whisker" }
        try #require(ranges.count == 12)
        let ends = ["x1", "x2"].compactMap { ranges[0].attributes[$0].flatMap(Double.init) }
        let left = try #require(bars[0].attributes["x"].flatMap(Double.init))
        #expect(abs((ends[0] - left) / widths[0] - 0.9) < 0.01)
        #expect(abs((ends[1] - left) / widths[0] - 1.2) < 0.01)
        #expect(svg.contains("all, sheaf: 100 operations/s, 90.0 to 120."))
        #expect(svg.contains("@media (prefers-color-scheme: dark)"))
        #expect(!svg.contains("all-p99"))
    }

    @Test func `a curve of latencies rises to the slowest operation`() throws {
        let curves =
            LatencyCurve.all(
                of: samples([1], slowest: 5_000_000), system: "sheaf", in: test)
            + LatencyCurve.all(
                of: samples([1], slowest: 90_000_000), system: "sqlite", in: test)
        let all = curves.filter { $0.name == "all" }
        for curve in all {
            for (first, second) in zip(curve.points, curve.points.dropFirst()) {
                #expect(first.share < second.share && first.microseconds <= second.microseconds)
            }
        }
        try #require(all.map { $0.points.last?.microseconds } == [5_000, 90_000])
        let middle = try #require(all[0].points.first { $0.share >= 0.5 })
        #expect(abs(middle.microseconds - 100) < 10)
        let svg = CurvePlot.svg(all, title: "a & b", machine: "")
        let elements = try elements(svg)
        #expect(elements.count { $0.name == "polyline" } == 2)
        #expect(svg.contains("99.9 %") && svg.contains("100 ms"))
    }

    @Test func `empty and constant latencies are drawn`() throws {
        _ = try elements(CurvePlot.svg([], title: "", machine: ""))
        let one = LatencyCurve.all(
            of: [Sample(1, latencies: [7])], system: "sheaf", in: test)
        #expect(one.count == 1)
        _ = try elements(CurvePlot.svg(one, title: "", machine: ""))
        let zero = Figure.all(of: [Sample(.nan)], system: "sheaf", in: test, workload: "w")
        _ = try elements(RangePlot.svg(zero, title: "\u{0}\u{1B}", machine: ""))
    }

    @Test func `a flame graph has a box for each function on a stack`() throws {
        let profile = Profile(parsing: ProfileTests.script)
        let svg = FlameGraph.svg(profile, title: "till") { $0.symbol }
        let boxes = try elements(svg).filter { $0.name == "g" }
        #expect(boxes.count == 9)
        #expect(svg.contains("<title>all, 100.0 %</title>"))
        #expect(svg.contains("<title>main, 100.0 %</title>"))
        #expect(svg.contains("<title>malloc, 25.0 %</title>"))
        #expect(svg.contains("operator&lt;&lt;(int)"))
    }
}

/// A reader that collects the elements of a document.
private final class ElementReader: NSObject, XMLParserDelegate {
    var elements: [(name: String, attributes: [String: String])] = []

    func parser(
        _ parser: XMLParser, didStartElement elementName: String, namespaceURI: String?,
        qualifiedName qName: String?, attributes attributeDict: [String: String] = [:]
    ) {
        elements.append((elementName, attributeDict))
    }
}
