package import SheafDocument

/// Computed rows of a result that have the same columns; one array has the values of all rows.
package final class ComputedRows {
    /// The names of the columns, strictly sorted.
    private let names: [String]
    // Only the run that makes the rows changes them.
    /// The evaluators of the columns; empty after the last row.
    @exclusivity(unchecked) private var evaluators: [Evaluator]
    @exclusivity(unchecked) private var values: [Value?] = []
    /// Number of rows.
    @exclusivity(unchecked) package private(set) var count = 0

    /// Creates an empty list; nil unless all columns have fixed and different names.
    init?(_ projection: Projection) {
        guard case .columns(let columns, names: .some) = projection else { return nil }
        var (names, evaluators): ([String], [Evaluator]) = ([], [])
        for case .value(let name, let evaluator) in columns {
            // An object keeps only the last of equal names.
            if let last = names.last, UTF8Order.compare(last, name) >= 0 { return nil }
            names.append(name)
            evaluators.append(evaluator)
        }
        (self.names, self.evaluators) = (names, evaluators)
    }

    /// Appends the current row.
    func append(_ frame: RowContext) throws(StoreError) {
        for evaluator in evaluators { values.append(try evaluator(frame)) }
        count += 1
    }

    /// Releases what only further rows need.
    func finish() { evaluators = [] }

    /// Returns a value of a row; nil if it is missing.
    package func value(_ number: Int, of name: String) -> Value? {
        precondition(number < count, "The result has \(count) rows.")
        let length = name.utf8.count
        for column in names.indices
        where names[column].utf8.count == length && names[column].isSpelled(name) {
            return values[number * names.count + column]
        }
        return nil
    }

    /// Returns a row as an object, without the values that are missing.
    func object(_ number: Int) -> Object {
        var fields: [Object.Field] = []
        fields.reserveCapacity(names.count)
        for (column, name) in names.enumerated() {
            guard let value = values[number * names.count + column] else { continue }
            fields.append(Object.Field(name, value))
        }
        return Object(sorting: fields)
    }
}

/// The rows of a result.
package enum ResultRows {
    case items([ResultItem])
    case computed(ComputedRows)

    /// Number of rows.
    package var count: Int {
        switch self {
        case .items(let items): items.count
        case .computed(let rows): rows.count
        }
    }

    /// All rows.
    package var items: [ResultItem] {
        switch self {
        case .items(let items): items
        case .computed(let rows):
            (0..<rows.count).map { ResultItem(content: .computed(rows, number: $0)) }
        }
    }
}
