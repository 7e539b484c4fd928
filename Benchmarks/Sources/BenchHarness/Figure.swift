/// One measured value: a row of the table and a line of the JSON output.
package struct Figure {
    package let workload: String
    package let name: String
    package let system: String
    package let value: Double
    package let unit: String
    package let better: Better
    /// The range of the values of all rounds.
    package let range: ClosedRange<Double>
    package let rounds: Int
    /// The latency percentiles, in microseconds.
    package let latencies: [Percentile: Double]
    /// Whether repeated runs agree well enough for the figure to fail a comparison.
    package let isRepeatable: Bool
    /// The average number of rows that an operation returned; nil if they are not counted.
    package let rows: Double?
    /// Whether it is the figure of one of the queries that a case summarizes.
    package let isQuery: Bool

    /// The best value of all rounds.
    package var best: Double { better == .higher ? range.upperBound : range.lowerBound }

    /// The name of the system that others are compared with.
    package static let engine = "sheaf"

    /// Summarizes the samples of one system in one case, and in each of its parts and queries.
    package static func all(
        of samples: [Sample], system: String, in test: Case, workload: String
    ) -> [Figure] {
        figures(of: samples, system: system, in: test, part: nil, workload: workload)
            + test.parts.flatMap { part in
                let samples = samples.compactMap { $0.parts[part] }
                return samples.isEmpty
                    ? []
                    : figures(of: samples, system: system, in: test, part: part, workload: workload)
            }
            + test.queries.compactMap { query in
                let values = samples.compactMap { $0.parts[query]?.value }
                guard !values.isEmpty, case .value(let unit, let better) = test.headline
                else { return nil }
                return Figure(
                    workload: workload, name: test.name(ofQuery: query), system: system,
                    value: median(values), unit: unit, better: better, range: span(values),
                    rounds: values.count, latencies: [:], isRepeatable: false, rows: nil,
                    isQuery: true)
            }
    }

    private static func figures(
        of samples: [Sample], system: String, in test: Case, part: String?, workload: String
    ) -> [Figure] {
        let pooled = Latencies(samples.flatMap(\.latencies))
        // A part may lack operations in some rounds.
        let rounds = samples.map { Latencies($0.latencies) }.filter { !$0.isEmpty }
        var percentiles: [Percentile: Double] = [:]
        if !pooled.isEmpty {
            for percentile in Percentile.allCases {
                percentiles[percentile] = pooled.microseconds(percentile)
            }
        }
        var figures: [Figure] = []
        if case .value(let unit, let better) = test.headline {
            let values = samples.map(\.value)
            let rows = samples.compactMap(\.rows)
            figures.append(
                Figure(
                    workload: workload, name: part ?? test.name, system: system,
                    value: median(values), unit: unit, better: better, range: span(values),
                    rounds: samples.count, latencies: percentiles, isRepeatable: true,
                    rows: rows.isEmpty ? nil : median(rows), isQuery: false))
        }
        for percentile in Percentile.allCases {
            guard let value = percentiles[percentile] else { continue }
            let name = test.name(of: percentile, part: part)
            figures.append(
                Figure(
                    workload: workload, name: name, system: system, value: value, unit: "µs",
                    better: .lower, range: span(rounds.map { $0.microseconds(percentile) }),
                    rounds: samples.count, latencies: name == test.name ? percentiles : [:],
                    isRepeatable: percentile.isRepeatable, rows: nil, isQuery: false))
        }
        return figures
    }

    /// Returns the figure as a line of JSON; `machine` describes where it was measured.
    package func line(machine: String) -> BenchmarkJSONLine {
        var line = BenchmarkJSONLine()
        line["workload"] = .string(workload)
        line["case"] = .string(name)
        line["system"] = .string(system)
        line["value"] = .number(rounded(value))
        line["unit"] = .string(unit)
        line["better"] = .string(better.rawValue)
        line["lowest"] = .number(rounded(range.lowerBound))
        line["highest"] = .number(rounded(range.upperBound))
        line["rounds"] = .number(Double(rounds))
        for percentile in Percentile.allCases {
            guard let value = latencies[percentile] else { continue }
            line[percentile.rawValue] = .number(rounded(value))
        }
        if let rows { line["rows"] = .number(rounded(rows)) }
        line["machine"] = .string(machine)
        return line
    }

    /// Returns the figure as a line of JSON, with the conditions of the run.
    package func line(under conditions: RunConditions) -> BenchmarkJSONLine {
        var line = line(machine: conditions.machine)
        for (key, value) in conditions.members { line[key] = .string(value) }
        return line
    }

    private static func span(_ values: [Double]) -> ClosedRange<Double> {
        let finite = values.filter(\.isFinite)
        return (finite.min() ?? 0)...(finite.max() ?? 0)
    }

    /// Rounds to three decimals; the rest is noise.
    private func rounded(_ value: Double) -> Double {
        (value * 1_000).rounded() / 1_000
    }
}
