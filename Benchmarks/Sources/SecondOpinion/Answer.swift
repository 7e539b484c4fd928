import SheafDocument

/// The rows returned by a statement, in comparable form.
struct Answer {
    /// The value of each column in each row; nil means missing.
    var rows: [[Value?]]

    /// Describes the first difference between two results, or returns nil.
    static func difference(_ sheaf: Answer, _ sqlite: Answer, _ select: DualSelect) -> String? {
        let left = sheaf.rows.map { text(of: $0, isLoose: select.isLoose) }
        let right = sqlite.rows.map { text(of: $0, isLoose: select.isLoose) }
        if case .some(let limit, let offset) = select.order {
            let count = min(limit, max(right.count - offset, 0))
            guard left.count == count else {
                return "\(left.count) rows, but \(count) of \(right.count) from SQLite"
            }
            var rest = right
            for row in left {
                guard let index = rest.firstIndex(of: row) else {
                    return "SQLite returns row \(row) less often or never"
                }
                rest.remove(at: index)
            }
            return nil
        }
        guard left.count == right.count else {
            return "\(left.count) rows, but \(right.count) from SQLite"
        }
        switch select.order {
        case .total:
            guard let index = left.indices.first(where: { left[$0] != right[$0] }) else {
                return nil
            }
            return "row \(index) is \(left[index]), but \(right[index]) from SQLite"
        case .keys(let count):
            for (row, other) in zip(sheaf.rows, sqlite.rows) {
                let keys = [row, other].map { text(of: Array($0.prefix(count)), isLoose: true) }
                guard keys[0] == keys[1] else {
                    return "the keys are \(keys[0]), but \(keys[1]) from SQLite"
                }
            }
        case .none, .some: break
        }
        guard let pair = zip(left.sorted(), right.sorted()).first(where: { $0 != $1 }) else {
            return nil
        }
        return "after sorting, a row is \(pair.0), but \(pair.1) from SQLite"
    }

    private static func text(of row: [Value?], isLoose: Bool) -> String {
        "(" + row.map { text(of: $0, isLoose: isLoose) }.joined(separator: ", ") + ")"
    }

    /// Returns the JSON of a value; with `isLoose`, equal integers and floats have one text.
    private static func text(of value: Value?, isLoose: Bool) -> String {
        switch value {
        case nil: return "MISSING"
        case .float(let number)?:
            // SQLite has no negative zero.
            if number == 0 { return isLoose ? "0" : "0.0" }
            if isLoose, let integer = Int64(exactly: number) { return "\(integer)" }
            return "\(number)"
        case let value?: return value.json
        }
    }

    /// Returns each row as a line of text.
    func lines(isLoose: Bool) -> [String] {
        rows.map { Self.text(of: $0, isLoose: isLoose) }
    }
}
