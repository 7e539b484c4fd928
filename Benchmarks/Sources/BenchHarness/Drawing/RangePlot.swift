/// The medians of a workload with the ranges of their rounds, as a chart in SVG.
///
/// Each figure has its own scale, which begins at zero; a bar ends at the median, and a line from
/// the lowest to the highest round crosses it.
package struct RangePlot {
    private enum Layout {
        static let width = 800.0
        static let left = 150.0
        static let right = 640.0
        static let bar = 14.0
        static let step = 18.0
        static let heading = 20.0
        static let gap = 12.0
        static let top = 56.0
        static let bottom = 30.0
    }

    private let systems: [String]
    private var body: [String] = []
    private var sentences: [String] = []
    private var y = Layout.top

    /// Draws the figures of one workload; percentiles are in the plots of latencies.
    package static func svg(_ figures: [Figure], title: String, machine: String) -> String {
        var plot = RangePlot(systems: figures.map(\.system).distinct)
        for name in figures.filter(\.isHeadline).map(\.name).distinct {
            plot.add(figures.filter { $0.name == name })
        }
        return plot.document(title, machine)
    }

    private init(systems: [String]) {
        self.systems = systems
    }

    private mutating func add(_ figures: [Figure]) {
        guard let first = figures.first else { return }
        let unit = "\(first.unit), \(first.better.rawValue) is better"
        body.append(
            SVG.text("\(first.name) (\(unit))", x: 12, y: y + 13, class: "heading"))
        y += Layout.heading
        let highest = figures.map { max($0.range.upperBound, $0.value) }.max() ?? 0
        let scale = highest > 0 ? (Layout.right - Layout.left) / highest : 0
        for figure in figures { add(figure, scale) }
        y += Layout.gap
    }

    private mutating func add(_ figure: Figure, _ scale: Double) {
        let color = SVG.colorClass(systems.firstIndex(of: figure.system) ?? 4)
        body.append(SVG.text(figure.system, x: Layout.left - 8, y: y + 11, class: "label"))
        let width = figure.value.isFinite ? max(1, figure.value * scale) : 0
        body.append(
            SVG.rectangle(
                x: Layout.left, y: y, width: width, height: Layout.bar, class: color))
        let ends = [figure.range.lowerBound, figure.range.upperBound].map {
            Layout.left + $0 * scale
        }
        let middle = y + Layout.bar / 2
        body.append(
            SVG.line(x1: ends[0], y1: middle, x2: ends[1], y2: middle, class: "whisker"))
        for end in ends {
            body.append(
                SVG.line(x1: end, y1: middle - 4, x2: end, y2: middle + 4, class: "whisker"))
        }
        let value = Format.number(figure.value)
        let side = max(Layout.left + width, ends[1]) + 6
        body.append(SVG.text(value, x: side, y: y + 11, class: "value"))
        sentences.append(
            "\(figure.name), \(figure.system): \(value) \(figure.unit), "
                + "\(Format.number(figure.range.lowerBound)) to "
                + "\(Format.number(figure.range.upperBound)).")
        y += Layout.step
    }

    private func document(_ title: String, _ machine: String) -> String {
        let head = [
            SVG.text(title, x: 12, y: 24, class: "title"),
            SVG.text(
                "Bars end at the median; lines extend from the lowest to the highest round.", x: 12,
                y: 42, class: "note"),
        ]
        let note = SVG.text(machine, x: 12, y: y + 14, class: "note")
        return SVG.document(
            title: title, description: sentences.joined(separator: " "), width: Layout.width,
            height: y + Layout.bottom, style: SVG.plotStyle, head + body + [note])
    }
}

extension Figure {
    /// Whether the figure is the main one of its case or part.
    var isHeadline: Bool { !latencies.isEmpty || !isPercentile }

    private var isPercentile: Bool {
        Percentile.allCases.contains { name.hasSuffix("-\($0.rawValue)") }
    }
}

extension Array where Element: Hashable {
    /// The elements without repetitions, in order of their first occurrence.
    var distinct: [Element] {
        var seen: Set<Element> = []
        return filter { seen.insert($0).inserted }
    }
}
