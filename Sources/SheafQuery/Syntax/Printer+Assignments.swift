extension Assignment {
    fileprivate var isApplied: Bool {
        switch self {
        case .increment, .restart, .incrementOlder: true
        case .set, .unset: false
        }
    }

    fileprivate var isRemoval: Bool {
        if case .unset = self { true } else { false }
    }
}

extension Printer {
    /// Writes assignments in order; those that no clause can hold in this order become mutators.
    mutating func write(assignments: [Assignment]) {
        let applied = assignments.prefix { $0.isApplied }
        let rest = assignments[applied.endIndex...]
        let removalStart = rest.lastIndex { !$0.isRemoval }.map { $0 + 1 } ?? rest.startIndex
        write(clause: " APPLY ", applied) { $0.write(application: $1) }
        write(clause: " SET ", rest[..<removalStart]) { $0.write(setting: $1) }
        write(clause: " UNSET ", rest[removalStart...]) { printer, assignment in
            if case .unset(let path) = assignment { printer.write(path: path.names) }
        }
    }

    private mutating func write(
        clause: String, _ assignments: ArraySlice<Assignment>,
        _ body: (inout Printer, Assignment) -> Void
    ) {
        guard !assignments.isEmpty else { return }
        write(clause)
        write(assignments, body)
    }

    private mutating func write(application assignment: Assignment) {
        switch assignment {
        case .increment(let path, let amount):
            write(path: path.names)
            write(" INCREMENT BY ")
            write(amount)
        case .incrementOlder(let path, let amount):
            write(path: path.names)
            write(" PN_INCREMENT BY ")
            write(amount)
        case .restart(let path, let start):
            write(path: path.names)
            write(" RESTART")
            guard let start else { return }
            write(" WITH ")
            write(start)
        case .set, .unset: break
        }
    }

    private mutating func write(setting assignment: Assignment) {
        switch assignment {
        case .set(let path, let value):
            write(path: path.names)
            write(" = ")
            write(value)
        case .unset(let path):
            write(path: path.names)
            write(" -> tombstone()")
        case .increment(let path, let amount), .incrementOlder(let path, let amount):
            write(path: path.names)
            write(" -> increment(")
            write(amount)
            write(")")
        case .restart: break
        }
    }
}
