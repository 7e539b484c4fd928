/// The figures of a run as a table.
package enum Table {
    /// Returns one line per figure; the last column shows how many times better the engine is.
    package static func lines(_ figures: [Figure]) -> [String] {
        let header = ["workload", "case", "system", "median", "unit", "min..max", "sheaf is"]
        let rows = figures.map { figure in
            [
                figure.workload, figure.name, figure.system, Format.number(figure.value),
                figure.unit,
                "\(Format.number(figure.range.lowerBound))..\(Format.number(figure.range.upperBound))",
                ratio(of: figure, among: figures),
            ]
        }
        return Format.table([header] + rows, rightAligned: [3, 6])
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
