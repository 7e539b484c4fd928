import SheafDocument

/// The result of PROFILE as a tree, with the rows, the time and its share for each operator.
struct ProfileTree {
    private static let operatorName = "#operator"
    private static let childrenName = "children"
    /// Maximum depth, which no plan reaches; it bounds the recursion for rows that resemble plans.
    private static let maximumDepth = 64
    /// Properties that are shown without their names; the first one follows the operator.
    private static let subjects = [
        "collection", "columns", "condition", "terms", "keys", "fields", "index", "limit",
    ]
    /// Properties that have columns of their own.
    private static let measures: Set = [
        operatorName, childrenName, "documentsIn", "documentsOut", "nanoseconds",
    ]

    private var tree: PlanTree
    private var total = 0
    /// The JSON of rows that only resemble profiles.
    private var unknown: String?

    /// Creates the tree of the content of the row that PROFILE appends.
    init(_ profile: Value, hasBranches: Bool) {
        tree = PlanTree(hasBranches: hasBranches)
        guard case .object(let object) = profile, let plan = object["plan"] else {
            unknown = TerminalText.visible(profile.json)
            return
        }
        append(plan, depth: 0)
        total = Self.integer(object["nanoseconds"]) ?? 0
    }

    private mutating func append(_ node: Value, depth: Int) {
        guard depth < Self.maximumDepth, case .object(let node) = node,
            case .string(let name)? = node[Self.operatorName]
        else {
            tree.append(PlanTree.Node(depth: depth, text: TerminalText.visible(node.json)))
            return
        }
        tree.append(
            PlanTree.Node(
                depth: depth, text: TerminalText.visible(Self.text(name, node)),
                rows: Self.integer(node["documentsOut"]),
                nanoseconds: Self.integer(node["nanoseconds"])))
        guard case .array(let children)? = node[Self.childrenName] else { return }
        for child in children { append(child, depth: depth + 1) }
    }

    /// Returns the operator and its properties, the most important one first.
    private static func text(_ name: String, _ node: Object) -> String {
        let subject = subjects.first { node[$0] != nil }
        var text = name
        if let subject, let value = node[subject] {
            text += subject == "limit" ? " \(value.json)" : " " + self.text(value)
        }
        for field in node where field.name != subject && !measures.contains(field.name) {
            text += ", \(field.name) " + self.text(field.value)
        }
        return text
    }

    /// Returns texts without quotes, and the elements of an array without brackets.
    private static func text(_ value: Value) -> String {
        if case .array(let values) = value, !values.isEmpty {
            return values.map(text).joined(separator: ", ")
        }
        return ResultPrinter.text(value)
    }

    private static func integer(_ value: Value?) -> Int? {
        if case .integer(let number)? = value { Int(clamping: number) } else { nil }
    }

    /// Returns the lines of the tree, with the slowest operator marked and highlighted.
    func lines(styled: (String, TerminalStyle) -> String) -> [String] {
        if let unknown { return [unknown] }
        let slowest = tree.nodes.max { ($0.nanoseconds ?? 0) < ($1.nanoseconds ?? 0) }?.nanoseconds
        var rows = [["rows", "time", "share"]]
        for node in tree.nodes {
            let share = node.nanoseconds.map { Double($0) / Double(max(1, total)) }
            rows.append([
                node.rows.map(String.init) ?? "",
                node.nanoseconds.map { ElapsedTime.text(UInt64(clamping: $0)) } ?? "",
                share.map { Quantity.percent(min(1, $0)) } ?? "",
            ])
        }
        let widths = (0..<3).map { column in rows.map { $0[column].count }.max() ?? 0 }
        let texts = ["operator"] + tree.lines
        var isMarked = false
        var lines: [String] = []
        for (number, (cells, text)) in zip(rows, texts).enumerated() {
            var line = ""
            for (cell, width) in zip(cells, widths) {
                line += String(repeating: " ", count: width - cell.count) + cell + "  "
            }
            line += text
            if number == 0 {
                line = styled(line, .bold)
            } else if !isMarked, let slowest, slowest > 0,
                tree.nodes[number - 1].nanoseconds == slowest
            {
                isMarked = true
                line = styled(line + "  <- slowest", .yellow)
            }
            lines.append(line)
        }
        return lines + [styled("total \(ElapsedTime.text(UInt64(clamping: total)))", .dim)]
    }
}
