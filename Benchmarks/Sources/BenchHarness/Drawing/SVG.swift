/// The parts that all drawings share: texts, numbers, and both appearances.
enum SVG {
    /// Returns a complete document, whose size is `width` by `height`.
    ///
    /// Screen readers present the description in place of the drawing.
    static func document(
        title: String, description: String, width: Double, height: Double, style: String = style,
        _ body: [String]
    ) -> String {
        let size = "width=\"\(number(width))\" height=\"\(number(height))\""
        let box = "viewBox=\"0 0 \(number(width)) \(number(height))\""
        let opening = """
            <svg xmlns="http://www.w3.org/2000/svg" \(size) \(box) role="img" \
            aria-labelledby="title description">
            <title id="title">\(escaped(title))</title>
            <desc id="description">\(escaped(description))</desc>
            \(style)
            <rect class="page" width="100%" height="100%"/>
            """
        return ([opening] + body + ["</svg>"]).joined(separator: "\n") + "\n"
    }

    /// Returns a text at a position.
    static func text(_ text: String, x: Double, y: Double, class name: String) -> String {
        "<text class=\"\(name)\" x=\"\(number(x))\" y=\"\(number(y))\">\(escaped(text))</text>"
    }

    /// Returns a rectangle.
    static func rectangle(
        x: Double, y: Double, width: Double, height: Double, class name: String
    ) -> String {
        "<rect class=\"\(name)\" x=\"\(number(x))\" y=\"\(number(y))\" "
            + "width=\"\(number(width))\" height=\"\(number(height))\"/>"
    }

    /// Returns a line.
    static func line(
        x1: Double, y1: Double, x2: Double, y2: Double, class name: String
    ) -> String {
        "<line class=\"\(name)\" x1=\"\(number(x1))\" y1=\"\(number(y1))\" "
            + "x2=\"\(number(x2))\" y2=\"\(number(y2))\"/>"
    }

    /// Returns a number with one decimal.
    static func number(_ value: Double) -> String { Format.fixed(value, decimals: 1) }

    /// Returns a text without characters that XML does not allow as they are.
    static func escaped(_ text: String) -> String {
        var escaped = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": escaped += "&amp;"
            case "<": escaped += "&lt;"
            case ">": escaped += "&gt;"
            case _ where scalar.value < 0x20 || scalar.value == 0xFFFE || scalar.value == 0xFFFF:
                escaped += "\u{FFFD}"
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }

    /// The class of a system's bars and lines, by its number in a drawing.
    static func colorClass(_ index: Int) -> String { ["a", "b", "c", "d", "e"][min(index, 4)] }

    /// The colors of both appearances; the contrast of texts is at least 4.5 to 1.
    static let style = """
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

    /// The style of plots, which have lines as well.
    static let plotStyle = """
        \(style)
        <style>
        .e { fill: #59636e; }
        .side { text-anchor: end; font-size: 11px; fill: #59636e; }
        .whisker { stroke: #1f2328; stroke-width: 1.5; }
        .curve { fill: none; stroke-width: 2; stroke-linejoin: round; }
        .curve.a { stroke: #0969da; fill: none; }
        .curve.b { stroke: #1a7f37; fill: none; }
        .curve.c { stroke: #bc4c00; fill: none; }
        .curve.d { stroke: #8250df; fill: none; }
        .curve.e { stroke: #59636e; fill: none; }
        @media (prefers-color-scheme: dark) {
        .e { fill: #9198a1; }
        .side { fill: #9198a1; }
        .whisker { stroke: #f0f6fc; }
        .curve.a { stroke: #4493f8; }
        .curve.b { stroke: #3fb950; }
        .curve.c { stroke: #f0883e; }
        .curve.d { stroke: #ab7df8; }
        .curve.e { stroke: #9198a1; }
        }
        </style>
        """
}
