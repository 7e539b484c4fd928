/// The stacks of a profile as a flame graph in SVG.
///
/// A box is a function; its width is its share of the samples, and above it are the functions that
/// it called. A pointer over a box shows the complete name.
package struct FlameGraph {
    private enum Layout {
        static let width = 1_200.0
        static let margin = 12.0
        static let row = 17.0
        static let top = 56.0
        static let bottom = 24.0
        /// The width of a character.
        static let character = 6.6
        /// Boxes that are narrower than this are left out.
        static let narrowest = 0.4
    }

    /// A function with the functions that it called.
    private final class Node {
        let name: String
        let group: String
        var count = 0
        var calls: [Profile.Frame: Node] = [:]

        init(name: String, group: String) {
            self.name = name
            self.group = group
        }

        /// The number of rows above this one.
        func height(_ least: Double) -> Int {
            let wide = calls.values.filter { Double($0.count) >= least }
            return (wide.map { $0.height(least) }.max() ?? -1) + 1
        }
    }

    private let root = Node(name: "all", group: "")
    private let title: String
    private let samples: Int
    private var body: [String] = []

    /// Draws a profile; `name` returns the readable name of a function.
    package static func svg(
        _ profile: Profile, title: String, _ name: (Profile.Frame) -> String
    ) -> String {
        var graph = FlameGraph(profile, title, name)
        return graph.document()
    }

    private init(_ profile: Profile, _ title: String, _ name: (Profile.Frame) -> String) {
        self.title = title
        samples = profile.count
        root.count = samples
        for (stack, count) in profile.stacks {
            var node = root
            for frame in stack {
                let next =
                    node.calls[frame]
                    ?? Node(
                        name: name(frame),
                        group: SymbolName.group(of: frame.symbol, in: frame.file))
                node.calls[frame] = next
                next.count += count
                node = next
            }
        }
    }

    private var scale: Double { (Layout.width - 2 * Layout.margin) / Double(max(samples, 1)) }

    private mutating func document() -> String {
        let rows = Double(root.height(Layout.narrowest / scale) + 1)
        let height = Layout.top + rows * Layout.row + Layout.bottom
        add(root, x: Layout.margin, y: height - Layout.bottom - Layout.row)
        let head = [
            SVG.text(title, x: 12, y: 24, class: "title"),
            SVG.text(
                "The width of a box is its share of \(Format.number(Double(samples))) samples; "
                    + "functions are above their callers.",
                x: 12, y: 42, class: "note"),
        ]
        let groups = root.calls.isEmpty ? "No samples." : "Functions with their share of samples."
        return SVG.document(
            title: title, description: groups, width: Layout.width, height: height,
            style: Self.style, head + body)
    }

    private mutating func add(_ node: Node, x: Double, y: Double) {
        let width = Double(node.count) * scale
        guard width >= Layout.narrowest else { return }
        let share = Format.fixed(Double(node.count) / Double(max(samples, 1)) * 100, decimals: 1)
        let color = Self.colors[node.group] ?? (node.group.hasPrefix("Sheaf") ? "sheaf" : "other")
        let box = SVG.rectangle(
            x: x, y: y, width: max(0.3, width - 0.5), height: Layout.row - 1, class: color)
        var parts = ["<g><title>\(SVG.escaped("\(node.name), \(share) %"))</title>", box]
        let room = Int((width - 6) / Layout.character)
        if room >= 3 {
            let shown =
                node.name.count <= room ? node.name : node.name.prefix(room - 1) + "…"
            parts.append(SVG.text(String(shown), x: x + 3, y: y + 12, class: "function"))
        }
        body.append(parts.joined() + "</g>")
        var left = x
        let calls = node.calls.values.sorted { ($0.name, $0.count) < ($1.name, $1.count) }
        for call in calls {
            add(call, x: left, y: y - Layout.row)
            left += Double(call.count) * scale
        }
    }

    /// The class of each group's boxes.
    private static let colors = [
        "kernel": "kernel", "memory allocation": "memory", "reference counting": "memory",
        "Swift": "swift", "Swift runtime": "swift", "Swift concurrency": "swift",
        "C library": "library", "SQLite": "library",
    ]

    private static let style = """
        \(SVG.style)
        <style>
        .function { font: 11px ui-monospace, Menlo, Consolas, monospace; fill: #1f2328; }
        .sheaf { fill: #79b8ff; }
        .swift { fill: #ffab70; }
        .memory { fill: #f97583; }
        .library { fill: #b392f0; }
        .kernel { fill: #85e89d; }
        .other { fill: #d1d5da; }
        </style>
        """
}
