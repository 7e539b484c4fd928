/// The figures of a run as tables.
package enum Table {
    /// Returns one line per figure; the last column shows the advantage of the engine.
    ///
    /// Operations of a workload file have a table of their own, with their latencies in columns.
    package static func lines(_ figures: [Figure]) -> [String] {
        let mixed = Set(figures.filter { $0.rows != nil }.map(\.workload))
        let plain = figures.filter { !mixed.contains($0.workload) }
        var lines = plain.isEmpty ? [] : table(plain)
        for name in figures.map(\.workload).distinct where mixed.contains(name) {
            if !lines.isEmpty { lines.append("") }
            lines += operations(figures.filter { $0.workload == name })
        }
        return lines
    }

    private static func table(_ figures: [Figure]) -> [String] {
        let header = ["workload", "case", "system", "median", "unit", "min..max", "sheaf is"]
        let rows = figures.map { figure in
            [
                figure.workload, figure.name, figure.system, Format.number(figure.value),
                figure.unit, range(of: figure), ratio(of: figure, among: figures),
            ]
        }
        return Format.table([header] + rows, rightAligned: [3, 6])
    }

    private static func operations(_ figures: [Figure]) -> [String] {
        let header =
            ["operation", "system", "per second", "min..max"]
            + ["median", "p95", "p99", "p99.9", "max"].map { "\($0) µs" } + ["rows", "sheaf is"]
        let rows = figures.filter { $0.rows != nil }.map { figure in
            [figure.name, figure.system, Format.number(figure.value), range(of: figure)]
                + Percentile.allCases.map { Format.number(figure.latencies[$0] ?? .nan) }
                + [Format.number(figure.rows ?? .nan), ratio(of: figure, among: figures)]
        }
        return Format.table([header] + rows, rightAligned: [2, 4, 5, 6, 7, 8, 9, 10])
    }

    private static func range(of figure: Figure) -> String {
        [figure.range.lowerBound, figure.range.upperBound].map(Format.number)
            .joined(separator: "..")
    }

    private static func ratio(of figure: Figure, among figures: [Figure]) -> String {
        let engine = figures.first {
            $0.workload == figure.workload && $0.name == figure.name && $0.system == Figure.engine
        }
        guard let engine, figure.system != Figure.engine,
            let advantage = figure.better.advantage(of: engine.value, over: figure.value)
        else { return "" }
        return "×\(Format.number(advantage))"
    }
}
