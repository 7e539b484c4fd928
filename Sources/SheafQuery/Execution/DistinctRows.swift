import SheafDocument

/// Distinct rows with their sort keys.
///
/// The result does not depend on the input order: of equal rows, the canonical form and the first
/// sort key in the requested order are kept.
struct DistinctRows {
    private let isDescending: [Bool]
    private var numbers: [Object: Int] = [:]
    private(set) var rows: [(object: Object, keys: [Value?])] = []

    /// Creates an empty set of rows whose keys are sorted in these directions.
    init(_ isDescending: [Bool]) {
        self.isDescending = isDescending
    }

    /// Adds a row; returns false if an equal row is present.
    @discardableResult
    mutating func add(_ object: Object, _ keys: [Value?]) -> Bool {
        guard let number = numbers[object] else {
            numbers[object] = rows.count
            rows.append((object, keys))
            return true
        }
        if ValueForm.precedes(object, rows[number].object) { rows[number].object = object }
        if Sorter<Object>.compare(keys, rows[number].keys, isDescending) < 0 {
            rows[number].keys = keys
        }
        return false
    }
}
