import SheafDocument

/// A plan as a tree of operators, printable as a value or as text.
struct PlanDescription {
    private let root: PlanOperator

    init(_ root: PlanOperator) {
        self.root = root
    }

    /// The tree as a value.
    var value: Value { root.value }

    /// The tree with one indented operator per line; children follow the operator that reads them.
    var text: String {
        var lines: [String] = []
        root.write(into: &lines, depth: 0)
        return lines.joined(separator: "\n")
    }

    /// The row that PROFILE appends.
    var profile: Object {
        [
            "~request_profile": [
                "plan": value, "nanoseconds": .integer(Int64(clamping: root.totalNanoseconds)),
            ]
        ]
    }
}

/// An operator of a plan; its children produce its input rows.
struct PlanOperator {
    let name: String
    /// Properties of the operator in the structured plan.
    private(set) var details: [(name: String, value: Value)] = []
    /// Description after the name in the textual plan.
    var text: String
    /// Remarks in parentheses in the textual plan.
    var notes: [String] = []
    /// Number of rows produced, if it is known before the run.
    var rows: Int?
    var children: [PlanOperator]
    /// Measured counters; `nanoseconds` is nil if the time is part of an operator below.
    private var tally: [(name: String, value: Int)] = []
    private var nanoseconds: UInt64?

    package init(_ name: String, _ text: String, rows: Int? = nil, _ children: [PlanOperator] = [])
    {
        self.name = name
        self.text = text
        self.rows = rows
        self.children = children
    }

    /// Adds a property unless it is nil.
    mutating func add(_ name: String, _ value: Value?) {
        if let value { details.append((name, value)) }
    }

    /// Adds the measured number of rows and the time.
    mutating func measure(_ tally: OperatorTally?) {
        guard let tally else { return }
        measure(in: tally.rowsIn, out: tally.rowsOut, nanoseconds: tally.nanoseconds)
    }

    /// Adds the measured number of rows; the time is nil if it is part of another operator.
    mutating func measure(in rowsIn: Int, out rowsOut: Int, nanoseconds: UInt64? = nil) {
        tally += [("documentsIn", rowsIn), ("documentsOut", rowsOut)]
        self.nanoseconds = nanoseconds
    }

    /// Adds a counter of a scan, such as entries visited or documents read.
    mutating func count(_ name: String, _ count: Int) {
        tally.append((name, count))
    }

    /// The time of the operator and all operators below.
    var totalNanoseconds: UInt64 {
        children.reduce(nanoseconds ?? 0) { $0 &+ $1.totalNanoseconds }
    }

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
