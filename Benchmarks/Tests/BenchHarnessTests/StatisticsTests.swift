import BenchHarness
import Testing

@Suite struct StatisticsTests {
    @Test func `the ratio of two geometric means is the geometric mean of the ratios`() {
        #expect(abs(geometricMean([1, 10, 100]) - 10) < 1e-9)
        #expect(abs(geometricMean([2, 8]) / geometricMean([1, 1]) - 4) < 1e-9)
        #expect(geometricMean([]).isNaN)
    }

    @Test func `a percentile is the smallest latency that covers its fraction`() {
        let latencies = Latencies((1...1_000).map { UInt64($0) * 1_000 }.reversed())
        #expect(latencies.microseconds(.p50) == 500)
        #expect(latencies.microseconds(.p95) == 950)
        #expect(latencies.microseconds(.p99) == 990)
        #expect(latencies.microseconds(.p999) == 999)
        #expect(latencies.microseconds(.max) == 1_000)
    }

    @Test func `a single latency is every percentile`() {
        let latencies = Latencies([2_500])
        for percentile in Percentile.allCases { #expect(latencies.microseconds(percentile) == 2.5) }
    }

    @Test func `the median of an even count is the mean of the two middle values`() {
        #expect(median([4, 1, 3, 2]) == 2.5)
        #expect(median([9, 1, 5]) == 5)
        #expect(median([]).isNaN)
    }

    @Test func `a case with a rate reports its median and separately named percentiles`() {
        let test = Case(
            "durable-1", "", unit: "commits/s", .higher, hasLatencies: true, systems: [])
        let samples = [100.0, 300, 200].map { Sample($0, latencies: [1_000, 2_000]) }
        let figures = Figure.all(of: samples, system: "sheaf", in: test, workload: "storage")
        #expect(figures.map(\.name) == test.figureNames)
        #expect(figures[0].value == 200)
        #expect(figures[0].range == 100...300)
        #expect(figures[1].name == "durable-1-p50")
        #expect(figures[1].better == .lower)
    }

    @Test func `a case with a percentile has that percentile as its headline`() {
        let test = Case(stem: "compaction", .p99, "", systems: [])
        let samples = [Sample(0, latencies: (1...100).map { $0 * 1_000 })]
        let figures = Figure.all(of: samples, system: "sheaf", in: test, workload: "storage")
        #expect(test.name == "compaction-p99")
        #expect(figures.first { $0.name == test.name }?.value == 99)
        #expect(Set(figures.map(\.name)) == Set(test.figureNames))
        #expect(figures.count == test.figureNames.count)
    }

    @Test func `numbers are printed with at most two decimals and with thousands separators`() {
        #expect(Format.number(1_234_567.4) == "1,234,567")
        #expect(Format.number(999) == "999")
        #expect(Format.number(12.34) == "12.3")
        #expect(Format.number(0.056) == "0.06")
        #expect(Format.number(-0.001) == "0.00")
        #expect(Format.number(.nan) == "-")
    }
}
