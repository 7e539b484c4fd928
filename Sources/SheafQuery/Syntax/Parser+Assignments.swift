import SheafDocument

/// The assignments of an UPDATE, collected during parsing.
struct AssignmentList {
    /// Declared types of the fields; they select the type of counter for `-> increment(n)`.
    let types: [FieldType]
    var assignments: [Assignment] = []

    func isOlderCounter(_ path: [String]) -> Bool {
        var types = types
        for (index, name) in path.enumerated() {
            // Names are compared as bytes: names that look equal may differ.
            let type = types.first { $0.name.text.utf8.elementsEqual(name.utf8) }
            switch type?.kind {
            case .map(let inner)?: types = inner
            case .olderCounter?: return index == path.count - 1
            default: return false
            }
        }
        return false
    }
}

/// The APPLY and SET clauses.
extension Parser {
    /// Parses the path of an assigned field.
    mutating func target() throws(StoreError) -> Path {
        try path("a path")
    }

    mutating func applications(_ list: inout AssignmentList) throws(StoreError) {
        repeat {
            try checkTerms(list.assignments.count, "assignments")
            let path = try target()
            switch token.keyword {
            case .increment, .pnIncrement:
                let isOlder = token.keyword == .pnIncrement
                try advance()
                try expect(.by)
                let amount = try expression()
                list.assignments.append(
                    isOlder ? .incrementOlder(path, by: amount) : .increment(path, by: amount))
            case .restart:
                try advance()
                let start = try consumeNext(.with) ? try expression() : nil
                list.assignments.append(.restart(path, with: start))
            default:
                throw unexpected(
                    "INCREMENT, RESTART or PN_INCREMENT", [.increment, .restart, .pnIncrement])
            }
        } while try take(.comma)
    }

    mutating func settings(_ list: inout AssignmentList) throws(StoreError) {
        try settings(&list, below: [])
    }

    private mutating func settings(
        _ list: inout AssignmentList, below prefix: [String]
    ) throws(StoreError) {
        repeat {
            try checkTerms(list.assignments.count, "assignments")
            let written = try target()
            let names = prefix + written.names
            try checkTerms(
                names.count - 1, "names in the path", limit: QueryLimits.maximumPathLength)
            let path = Path(names, at: written.range)
            if token.kind == .equal {
                guard token.upper - token.lower == 1 else {
                    throw unexpected("=", hint: "== compares, = sets")
                }
                try advance()
                list.assignments.append(.set(path, try expression()))
            } else {
                guard try take(.arrow) else { throw unexpected("= or ->") }
                try mutator(of: path, &list)
            }
        } while try take(.comma)
    }

    /// Parses a legacy mutator after the arrow.
    private mutating func mutator(
        of path: Path, _ list: inout AssignmentList
    ) throws(StoreError) {
        if token.kind == .leftParenthesis {
            try enter()
            try advance()
            try settings(&list, below: path.names)
            guard try take(.rightParenthesis) else { throw unexpected("a comma or )") }
            return leave()
        }
        let name = token.kind == .word ? lexer.lowercased(token) : ""
        guard ["tombstone", "default", "increment"].contains(name) else {
            throw unexpected("tombstone(), default(), increment(n) or (..)")
        }
        try advance()
        try expect(.leftParenthesis)
        if name == "increment" {
            let amount = try expression()
            list.assignments.append(
                list.isOlderCounter(path.names)
                    ? .incrementOlder(path, by: amount) : .increment(path, by: amount))
        } else {
            list.assignments.append(.unset(path))
        }
        try expect(.rightParenthesis)
    }
}
