import SheafDocument

/// A plan as a tree of operators, for programs and for people.
struct PlanDescription {
    private let root: PlanOperator

    init(_ root: PlanOperator) {
        self.root = root
    }

    /// The tree as a value.
    var value: Value { root.value }

    /// The tree with an operator a line, below those that take its rows.
    var text: String {
        var lines: [String] = []
        root.write(into: &lines, depth: 0)
        return lines.joined(separator: "\n")
    }

    /// The row that PROFILE adds.
    var profile: Object {
        [
            "~request_profile": [
                "plan": value, "nanoseconds": .integer(Int64(clamping: root.totalNanoseconds)),
            ]
        ]
    }
}

/// An operator of a plan, above those whose rows it takes.
struct PlanOperator {
    let name: String
    /// What programs read.
    private(set) var details: [(name: String, value: Value)] = []
    /// What people read behind the name.
    var text: String
    /// What people read in parentheses.
    var notes: [String] = []
    /// How many rows it gives, as far as that is known before.
    var rows: Int?
    var children: [PlanOperator]
    /// What it has done; the time is left out where it belongs to an operator below.
    private var tally: [(name: String, value: Int)] = []
    private var nanoseconds: UInt64?

    init(_ name: String, _ text: String, rows: Int? = nil, _ children: [PlanOperator] = []) {
        self.name = name
        self.text = text
        self.rows = rows
        self.children = children
    }

    /// Says something of the operator, unless there is nothing to say.
    mutating func add(_ name: String, _ value: Value?) {
        if let value { details.append((name, value)) }
    }

    /// Says how many documents came in and went out, and how long that took.
    mutating func measure(_ tally: OperatorTally?) {
        guard let tally else { return }
        measure(in: tally.rowsIn, out: tally.rowsOut, nanoseconds: tally.nanoseconds)
    }

    /// Says how many came in and went out; the time only where it is known of this one alone.
    mutating func measure(in rowsIn: Int, out rowsOut: Int, nanoseconds: UInt64? = nil) {
        tally += [("documentsIn", rowsIn), ("documentsOut", rowsOut)]
        self.nanoseconds = nanoseconds
    }

    /// Says how much a scan has looked at, in entries of the tree or in documents.
    mutating func count(_ name: String, _ count: Int) {
        tally.append((name, count))
    }

    /// How long it and all below it have taken.
    var totalNanoseconds: UInt64 {
        children.reduce(nanoseconds ?? 0) { $0 &+ $1.totalNanoseconds }
    }

    // MARK: Output

    var value: Value {
        var object: Object = ["#operator": .string(name)]
        for (name, value) in details { object[name] = value }
        if let rows { object["rows"] = .integer(Int64(rows)) }
        for (name, count) in tally { object[name] = .integer(Int64(count)) }
        if let nanoseconds { object["nanoseconds"] = .integer(Int64(clamping: nanoseconds)) }
        if !children.isEmpty { object["children"] = .array(children.map(\.value)) }
        return .object(object)
    }

    fileprivate func write(into lines: inout [String], depth: Int) {
        var notes = notes
        if let rows { notes.append("rows \(rows)") }
        var line = String(repeating: "  ", count: depth) + name
        if !text.isEmpty { line += " " + text }
        if !notes.isEmpty { line += " (" + notes.joined(separator: ", ") + ")" }
        lines.append(line)
        for child in children { child.write(into: &lines, depth: depth + 1) }
    }
}
