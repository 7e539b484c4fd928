package import SheafDocument

/// Comparison of the engine's rows with those of the naive evaluator.
package enum RowComparison {
    /// Returns a description of the difference, or nil if `found` is a valid result.
    package static func difference(_ found: [Object], _ expected: NaiveRows) -> String? {
        let shown = expected.shown
        guard found.count == shown.count else {
            return "\(found.count) rows instead of \(shown.count)"
        }
        for run in expected.runs where run.overlaps(shown) {
            let part = run.clamped(to: shown)
            let rows = found[
                part.lowerBound - shown.lowerBound..<part.upperBound - shown.lowerBound]
            let wanted = expected.rows[run].map(\.object)
            if let unexpectedRow = unexpectedRow(among: rows, wanted, isLoose: expected.isLoose) {
                return "\(brief(unexpectedRow)) is not among the rows at \(part), which are "
                    + wanted.sorted { nearness($0, unexpectedRow) > nearness($1, unexpectedRow) }
                    .prefix(4)
                    .map(brief).joined(separator: ", ")
            }
        }
        return nil
    }

    /// Returns a row without a counterpart in `wanted`, whose rows match at most once each.
    private static func unexpectedRow(
        among rows: ArraySlice<Object>, _ wanted: [Object], isLoose: Bool
    ) -> Object? {
        var counts: [Object: Int] = [:]
        if !isLoose {
            var exact: [String: Int] = [:]
            for row in wanted { exact[json(row), default: 0] += 1 }
            for row in rows {
                guard let count = exact[json(row)], count > 0 else { return row }
                exact[json(row)] = count - 1
            }
            return nil
        }
        for row in wanted { counts[row, default: 0] += 1 }
        var rest: [Object] = []
        for row in rows {
            if let count = counts[row], count > 0 {
                counts[row] = count - 1
            } else {
                rest.append(row)
            }
        }
        for row in rest {
            let near = counts.first { $0.value > 0 && isNear(.object($0.key), .object(row)) }
            guard let near else { return row }
            counts[near.key] = near.value - 1
        }
        return nil
    }

    /// Whether two values are equal up to rounding errors of floats.
    private static func isNear(_ left: Value, _ right: Value) -> Bool {
        switch (left, right) {
        case (.float(let left), .float(let right)):
            return left == right || abs(left - right) <= 1e-9 * max(abs(left), abs(right))
        case (.array(let left), .array(let right)):
            return left.count == right.count && zip(left, right).allSatisfy { isNear($0, $1) }
        case (.object(let left), .object(let right)):
            return left.count == right.count
                && zip(left, right).allSatisfy {
                    $0.name == $1.name && isNear($0.value, $1.value)
                }
        default: return left == right
        }
    }

    private static func brief(_ object: Object) -> String { String(json(object).prefix(400)) }

    /// Returns the number of equal fields, by which reports sort the likely counterparts.
    private static func nearness(_ left: Object, _ right: Object) -> Int {
        left.count { right[$0.name] == $0.value }
    }

    static func json(_ object: Object) -> String { Value.object(object).json }
}
