import Glibc

/// The distributions of latencies, one line for each system, as a chart in SVG.
///
/// Both scales are logarithmic: latencies upward, and to the right the share of operations that
/// took no longer, from half of them to all but one.
package struct CurvePlot {
    private enum Layout {
        static let width = 800.0
        static let height = 420.0
        static let left = 72.0
        static let right = 690.0
        static let top = 64.0
        static let bottom = 356.0
    }

    private let curves: [LatencyCurve]
    /// The decades of latencies in microseconds, as powers of ten.
    private let rows: ClosedRange<Int>
    /// Number of decades of the share of slower operations.
    private let columns: Double

    /// Draws curves of one case.
    package static func svg(_ curves: [LatencyCurve], title: String, machine: String) -> String {
        CurvePlot(curves).document(title, machine)
    }

    private init(_ curves: [LatencyCurve]) {
        self.curves = curves
        let exponents = curves.flatMap(\.points).map { log10(max($0.microseconds, 0.001)) }
        let lowest = Int((exponents.min() ?? 0).rounded(.down))
        let highest = Int((exponents.max() ?? 1).rounded(.up))
        rows = lowest...max(highest, lowest + 1)
        let decades = curves.flatMap(\.points).map { -log10(1 - $0.share) }
        columns = max(1, decades.max() ?? 1)
    }

    private func x(_ share: Double) -> Double {
        Layout.left + -log10(1 - share) / columns * (Layout.right - Layout.left)
    }

    private func y(_ microseconds: Double) -> Double {
        let height = log10(max(microseconds, 0.001)) - Double(rows.lowerBound)
        let share = height / Double(rows.upperBound - rows.lowerBound)
        return Layout.bottom - share * (Layout.bottom - Layout.top)
    }

    private func document(_ title: String, _ machine: String) -> String {
        var body = [
            SVG.text(title, x: 12, y: 24, class: "title"),
            SVG.text(
                "Share of operations that took no longer than a latency; both scales logarithmic.",
                x: 12, y: 42, class: "note"),
        ]
        body += grid
        for (index, curve) in curves.enumerated() {
            let points = curve.points.map {
                "\(SVG.number(x($0.share))),\(SVG.number(y($0.microseconds)))"
            }
            let color = SVG.colorClass(index)
            body.append(
                "<polyline class=\"curve \(color)\" points=\"\(points.joined(separator: " "))\"/>")
            let row = Layout.top + 14 + Double(index) * 18
            body.append(
                SVG.rectangle(
                    x: Layout.left + 10, y: row - 9, width: 10, height: 10, class: color))
            body.append(SVG.text(curve.system, x: Layout.left + 26, y: row, class: "value"))
        }
        body.append(SVG.text(machine, x: 12, y: Layout.height - 12, class: "note"))
        return SVG.document(
            title: title, description: description, width: Layout.width, height: Layout.height,
            style: SVG.plotStyle, body)
    }

    private var grid: [String] {
        var lines: [String] = []
        for exponent in rows {
            let value = pow(10, Double(exponent))
            let height = y(value)
            lines.append(
                SVG.line(
                    x1: Layout.left, y1: height, x2: Layout.right, y2: height, class: "grid"))
            lines.append(
                SVG.text(Self.time(value), x: Layout.left - 6, y: height + 4, class: "side"))
        }
        for (share, label) in Self.shares where -log10(1 - share) <= columns + 0.001 {
            let column = x(share)
            lines.append(
                SVG.line(
                    x1: column, y1: Layout.top, x2: column, y2: Layout.bottom, class: "grid"))
            lines.append(SVG.text(label, x: column, y: Layout.bottom + 16, class: "scale"))
        }
        return lines
    }

    private static let shares: [(Double, String)] = [
        (0, "0 %"), (0.5, "50 %"), (0.9, "90 %"), (0.99, "99 %"), (0.999, "99.9 %"),
        (0.9999, "99.99 %"), (0.99999, "99.999 %"), (0.999999, "99.9999 %"),
    ]

    /// Returns a power of ten in microseconds with a unit.
    private static func time(_ microseconds: Double) -> String {
        switch microseconds {
        case ..<0.9: "\(Format.fixed(microseconds * 1_000, decimals: 0)) ns"
        case ..<900: "\(Format.fixed(microseconds, decimals: 0)) µs"
        case ..<900_000: "\(Format.fixed(microseconds / 1_000, decimals: 0)) ms"
        default: "\(Format.fixed(microseconds / 1_000_000, decimals: 0)) s"
        }
    }

    private var description: String {
        curves.map { curve in
            let values = Self.shares.dropFirst().compactMap { share, label in
                curve.points.first { $0.share >= share }.map {
                    "\(label) at most \(Format.number($0.microseconds)) µs"
                }
            }
            return "\(curve.system): \(values.joined(separator: ", "))."
        }.joined(separator: " ")
    }
}
