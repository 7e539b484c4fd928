import SheafDocument

/// The rows of an answer, in a form that can be compared.
struct Answer {
    /// What each row has in each column; nil is missing.
    var rows: [[Value?]]

    /// What is wrong with one of two answers; nil where both are the same.
    static func difference(_ sheaf: Answer, _ sqlite: Answer, _ select: SelectTwin) -> String? {
        let left = sheaf.rows.map { text(of: $0, isLoose: select.isLoose) }
        let right = sqlite.rows.map { text(of: $0, isLoose: select.isLoose) }
        if case .some(let limit, let offset) = select.order {
            let count = min(limit, max(right.count - offset, 0))
            guard left.count == count else {
                return "\(left.count) rows, and \(count) of \(right.count) from SQLite"
            }
            var rest = right
            for row in left {
                guard let index = rest.firstIndex(of: row) else {
                    return "SQLite has no row \(row), or not so often"
                }
                rest.remove(at: index)
            }
            return nil
        }
        guard left.count == right.count else {
            return "\(left.count) rows, and \(right.count) from SQLite"
        }
        switch select.order {
        case .total:
            guard let index = left.indices.first(where: { left[$0] != right[$0] }) else {
                return nil
            }
            return "row \(index) is \(left[index]), and from SQLite \(right[index])"
        case .keys(let count):
            for (row, other) in zip(sheaf.rows, sqlite.rows) {
                let keys = [row, other].map { text(of: Array($0.prefix(count)), isLoose: true) }
                guard keys[0] == keys[1] else {
                    return "the keys \(keys[0]) stand where SQLite has \(keys[1])"
                }
            }
        case .none, .some: break
        }
        guard let pair = zip(left.sorted(), right.sorted()).first(where: { $0 != $1 }) else {
            return nil
        }
        return "in the order of their texts, \(pair.0) stands where SQLite has \(pair.1)"
    }

    private static func text(of row: [Value?], isLoose: Bool) -> String {
        "(" + row.map { text(of: $0, isLoose: isLoose) }.joined(separator: ", ") + ")"
    }

    /// The value with its type, or without that of a number.
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

    /// All rows, one a line.
    func lines(isLoose: Bool) -> [String] {
        rows.map { Self.text(of: $0, isLoose: isLoose) }
    }
}
