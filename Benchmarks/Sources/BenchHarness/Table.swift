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

    /// Returns a table for each case that summarizes queries, with the times of its queries.
    ///
    /// The last columns are the time of the engine divided by that of each other system; the
    /// largest quotient of the first of them comes first. A query that the engine refuses has none,
    /// and comes last.
    package static func queries(_ figures: [Figure]) -> [String] {
        let queries = figures.filter(\.isQuery)
        let cases = figures.filter { figure in
            queries.contains {
                $0.workload == figure.workload && $0.name.hasPrefix("\(figure.name)/")
            }
        }
        return cases.map { "\($0.workload)/\($0.name)" }.distinct.flatMap { path in
            let own = queries.filter { "\($0.workload)/\($0.name)".hasPrefix("\(path)/") }
            return [""] + queryTable(own, path)
        }
    }

    private static func queryTable(_ figures: [Figure], _ path: String) -> [String] {
        let systems = figures.map(\.system).distinct
        let rivals = systems.filter { $0 != Figure.engine }
        let header =
            [path] + systems.map { "\($0) \(figures[0].unit)" }
            + rivals.map { "\(Figure.engine)/\($0)" }
        let rows = figures.map(\.name).distinct.map { name in
            let values = systems.map { system in
                figures.first { $0.name == name && $0.system == system }?.value ?? .nan
            }
            let engine = systems.firstIndex(of: Figure.engine).map { values[$0] } ?? .nan
            let quotients = zip(systems, values).filter { $0.0 != Figure.engine }
                .map { engine / $0.1 }
            return (
                name: String(name.split(separator: "/").last ?? ""), values: values,
                quotients: quotients
            )
        }
        let sorted = rows.sorted { left, right in
            let (first, second) = (left.quotients.first ?? .nan, right.quotients.first ?? .nan)
            return first > second || (first.isFinite && !second.isFinite)
        }
        let lines = sorted.map { row in
            [row.name] + (row.values + row.quotients).map(Format.number)
        }
        return Format.table([header] + lines, rightAligned: Set(1..<header.count))
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
