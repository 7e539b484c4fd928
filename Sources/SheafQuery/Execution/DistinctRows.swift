import SheafDocument

/// Rows of which each is there once, with what they are sorted by.
///
/// Neither depends on the order in which rows come: of equal rows one form stays, and it stands
/// where the first of them would.
struct DistinctRows {
    private let isDescending: [Bool]
    private var numbers: [Object: Int] = [:]
    private(set) var rows: [(object: Object, keys: [Value?])] = []

    /// Rows that are sorted by keys in these directions.
    init(_ isDescending: [Bool]) {
        self.isDescending = isDescending
    }

    /// Takes a row in; false where an equal one is there already.
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
