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
        body.append(text(group.title, x: 12, y: y, class: "heading"))
        y += Layout.heading - Layout.barStep + Layout.rowGap
        for row in group.rows {
            add(row)
            y += Layout.rowGap
        }
    }

    private mutating func add(_ row: PublishedResults.Row) {
        let height = Layout.barStep * Double(max(1, row.ratios.count))
        let middle = y + height / 2 + 3.5
        body.append(text(row.label, x: Layout.left - 10, y: middle, class: "label"))
        if row.ratios.isEmpty {
            let value = "\(Format.number(row.value)) \(row.unit)"
            body.append(text(value, x: Layout.left, y: middle, class: "value"))
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
            "<rect class=\"\(color)\" x=\"\(number(start))\" y=\"\(number(y))\" "
                + "width=\"\(number(width))\" height=\"\(number(Layout.bar))\"/>")
        let side = max(one, end) + 5
        let label = "\(Format.ratio(ratio.advantage)) \(ratio.name)"
        body.append(text(label, x: side, y: y + 10, class: "value"))
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
        let size = "width=\"\(number(Layout.width))\" height=\"\(number(height))\""
        let box = "viewBox=\"0 0 \(number(Layout.width)) \(number(height))\""
        let opening = """
            <svg xmlns="http://www.w3.org/2000/svg" \(size) \(box) role="img" \
            aria-labelledby="title description">
            <title id="title">Sheaf compared with other systems</title>
            <desc id="description">\(escaped(description))</desc>
            \(Self.style)
            <rect class="page" width="100%" height="100%"/>
            """
        let head = [
            text("How many times as fast as other systems Sheaf is", x: 12, y: 26, class: "title"),
            text(
                "Bars to the right: Sheaf is faster. Bars to the left: Sheaf is slower.", x: 12,
                y: 44, class: "note"),
        ]
        let note = text(
            results.machine.split(separator: ",").prefix(3).joined(separator: ",")
                + "; medians; logarithmic scale", x: 12, y: height - 12, class: "note")
        let lines = [opening] + head + grid(to: y + 4) + body + [note, "</svg>"]
        return lines.joined(separator: "\n") + "\n"
    }

    /// One line of text for each ratio, for readers who do not see the bars.
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
            let x = number(x(of: ratio))
            let isOne = exponent == 0
            let label =
                isOne ? "equal" : "\(Format.fixed(ratio, decimals: max(0, -exponent)))×"
            return [
                "<line class=\"\(isOne ? "one" : "grid")\" x1=\"\(x)\" y1=\"\(number(Layout.top))\" "
                    + "x2=\"\(x)\" y2=\"\(number(bottom))\"/>",
                "<text class=\"scale\" x=\"\(x)\" y=\"\(number(Layout.top - 4))\">\(label)</text>",
            ]
        }
    }

    private func text(_ text: String, x: Double, y: Double, class name: String) -> String {
        "<text class=\"\(name)\" x=\"\(number(x))\" y=\"\(number(y))\">\(escaped(text))</text>"
    }

    private func number(_ value: Double) -> String { Format.fixed(value, decimals: 1) }

    private func escaped(_ text: String) -> String {
        var escaped = ""
        for character in text {
            switch character {
            case "&": escaped += "&amp;"
            case "<": escaped += "&lt;"
            case ">": escaped += "&gt;"
            default: escaped.append(character)
            }
        }
        return escaped
    }

    /// The colors of both appearances; the contrast of texts is at least 4.5 to 1.
    private static let style = """
        <style>
        text { font: 12px system-ui, -apple-system, "Segoe UI", Helvetica, Arial, sans-serif; fill: #1f2328; }
        .title { font-size: 16px; font-weight: 600; }
        .heading { font-weight: 600; }
        .label { text-anchor: end; }
        .note, .scale { font-size: 11px; fill: #59636e; }
        .scale { text-anchor: middle; }
        .value { font-size: 11px; }
        .page { fill: #ffffff; }
        .grid { stroke: #d1d9e0; }
        .one { stroke: #59636e; }
        .a { fill: #0969da; }
        .b { fill: #1a7f37; }
        .c { fill: #bc4c00; }
        .d { fill: #8250df; }
        @media (prefers-color-scheme: dark) {
        text { fill: #f0f6fc; }
        .note, .scale { fill: #9198a1; }
        .page { fill: #0d1117; }
        .grid { stroke: #3d444d; }
        .one { stroke: #9198a1; }
        .a { fill: #4493f8; }
        .b { fill: #3fb950; }
        .c { fill: #f0883e; }
        .d { fill: #ab7df8; }
        }
        </style>
        """
}
