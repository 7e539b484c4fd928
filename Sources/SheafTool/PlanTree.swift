import SheafDocument

/// A plan as a tree: one operator per line, its inputs below.
struct PlanTree {
    /// An operator, in the order of the lines.
    struct Node {
        let depth: Int
        let text: String
        /// Number of rows that the operator produced.
        var rows: Int?
        /// The time of the operator without its inputs; nil if it is part of another operator.
        var nanoseconds: Int?
    }

    private(set) var nodes: [Node] = []
    /// Whether branches are drawn; otherwise each level is indented by two columns.
    var hasBranches: Bool

    /// Creates the tree of the text of EXPLAIN, in which each level is indented by two columns.
    init(explained text: String, hasBranches: Bool) {
        self.hasBranches = hasBranches
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            let content = line.drop { $0 == " " }
            let depth = (line.utf8.count - content.utf8.count) / 2
            nodes.append(Node(depth: depth, text: TerminalText.visible(String(content))))
        }
    }

    /// Creates an empty tree.
    init(hasBranches: Bool) {
        self.hasBranches = hasBranches
    }

    /// Adds an operator after those that it is an input of.
    mutating func append(_ node: Node) {
        nodes.append(node)
    }

    /// The lines of the tree.
    var lines: [String] {
        zip(margins, nodes).map { $0 + $1.text }
    }

    /// The margin of each line: the branches that lead to its operator.
    var margins: [String] {
        guard hasBranches else {
            return nodes.map { String(repeating: "  ", count: $0.depth) }
        }
        // From the last line to the first: whether a level has another operator below.
        var isOpen: [Bool] = []
        var margins: [String] = []
        for node in nodes.reversed() {
            while isOpen.count <= node.depth { isOpen.append(false) }
            var margin = ""
            if node.depth > 0 {
                for level in 1..<node.depth { margin += isOpen[level] ? "│  " : "   " }
                margin += isOpen[node.depth] ? "├─ " : "└─ "
            }
            margins.append(margin)
            isOpen[node.depth] = true
            isOpen.removeSubrange((node.depth + 1)...)
        }
        return margins.reversed()
    }
}
