import Glibc

/// The published results as a chart in SVG.
///
/// Each bar begins at 1, where the engine and the other system are equal: it extends to the right
/// if the engine is faster, and to the left if it is slower. The scale is logarithmic.
package struct PublishedChart {
    private enum Layout {
        static let width = 800.0
        static let left = 214.0
        static let right = 620.0
        static let bar = 12.0
        static let barStep = 15.0
        static let rowGap = 7.0
        static let groupGap = 16.0
        static let heading = 22.0
        static let top = 62.0
        static let bottom = 34.0
    }

    /// The classes of the style sheet, by the first word of a system's name.
    private static let classes = ["SQLite": "a", "LMDB": "b", "RocksDB": "c"]

    private let results: PublishedResults
    /// The decades that the scale covers, as powers of ten.
    private let decades: ClosedRange<Int>
    private var body: [String] = []
    private var y = Layout.top

    private init(_ results: PublishedResults) {
        self.results = results
        let exponents = results.groups.flatMap(\.rows).flatMap(\.ratios).map { log10($0.advantage) }
        let lowest = Int((exponents.min() ?? 0).rounded(.down))
        let highest = Int((exponents.max() ?? 0).rounded(.up))
        decades = min(lowest, -1)...max(highest, 1)
    }

    /// Returns the text of the file; equal results yield equal text.
    package static func svg(_ results: PublishedResults) -> String {
        var chart = PublishedChart(results)
        for group in results.groups { chart.add(group) }
        return chart.document
    }

    private mutating func add(_ group: PublishedResults.Group) {
        y += Layout.groupGap
        body.append(SVG.text(group.title, x: 12, y: y, class: "heading"))
        y += Layout.heading - Layout.barStep + Layout.rowGap
        for row in group.rows {
            add(row)
            y += Layout.rowGap
        }
    }

    private mutating func add(_ row: PublishedResults.Row) {
        let height = Layout.barStep * Double(max(1, row.ratios.count))
        let middle = y + height / 2 + 3.5
        body.append(SVG.text(row.label, x: Layout.left - 10, y: middle, class: "label"))
        if row.ratios.isEmpty {
            let value = "\(Format.number(row.value)) \(row.unit)"
            body.append(SVG.text(value, x: Layout.left, y: middle, class: "value"))
        }
        for ratio in row.ratios {
            add(ratio)
            y += Layout.barStep
        }
        if row.ratios.isEmpty { y += Layout.barStep }
    }

    private mutating func add(_ ratio: PublishedResults.Row.Ratio) {
        let (one, end) = (x(of: 1), x(of: ratio.advantage))
        let color = Self.classes[ratio.name] ?? "d"
        let (start, width) = (min(one, end), max(1, abs(end - one)))
        body.append(
            SVG.rectangle(x: start, y: y, width: width, height: Layout.bar, class: color))
        let side = max(one, end) + 5
        let label = "\(Format.ratio(ratio.advantage)) \(ratio.name)"
        body.append(SVG.text(label, x: side, y: y + 10, class: "value"))
    }

    /// The horizontal position of a ratio.
    private func x(of ratio: Double) -> Double {
        let share =
            (log10(ratio) - Double(decades.lowerBound))
            / Double(decades.upperBound - decades.lowerBound)
        return Layout.left + share * (Layout.right - Layout.left)
    }

    // MARK: The document

    private var document: String {
        let height = y + Layout.bottom
        let head = [
            SVG.text(
                "How many times as fast as other systems Sheaf is", x: 12, y: 26, class: "title"),
            SVG.text(
                "Bars to the right: Sheaf is faster. Bars to the left: Sheaf is slower.", x: 12,
                y: 44, class: "note"),
        ]
        let note = SVG.text(
            results.machine.split(separator: ",").prefix(3).joined(separator: ",")
                + "; medians; logarithmic scale", x: 12, y: height - 12, class: "note")
        return SVG.document(
            title: "Sheaf compared with other systems", description: description,
            width: Layout.width, height: height, head + grid(to: y + 4) + body + [note])
    }

    /// One line of text for each ratio, for screen readers.
    private var description: String {
        let rows = results.groups.flatMap { group in
            group.rows.map { row in
                let ratios = row.ratios.map { "\(Format.ratio($0.advantage)) \($0.name)" }
                let values = ratios.isEmpty ? ["\(Format.number(row.value)) \(row.unit)"] : ratios
                return "\(group.title), \(row.label): \(values.joined(separator: ", "))."
            }
        }
        return rows.joined(separator: " ")
    }

    /// The vertical lines of the scale and their labels.
    private func grid(to bottom: Double) -> [String] {
        decades.flatMap { exponent in
            let ratio = pow(10, Double(exponent))
            let x = SVG.number(x(of: ratio))
            let isOne = exponent == 0
            let label =
                isOne ? "equal" : "\(Format.fixed(ratio, decimals: max(0, -exponent)))×"
            return [
                "<line class=\"\(isOne ? "one" : "grid")\" x1=\"\(x)\" y1=\"\(SVG.number(Layout.top))\" "
                    + "x2=\"\(x)\" y2=\"\(SVG.number(bottom))\"/>",
                "<text class=\"scale\" x=\"\(x)\" y=\"\(SVG.number(Layout.top - 4))\">\(label)</text>",
            ]
        }
    }
}
