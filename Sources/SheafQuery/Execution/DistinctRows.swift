import SheafDocument

/// Rows of which each is there once, with what they are sorted by.
struct DistinctRows {
    private var numbers: [Object: Int] = [:]
    private(set) var rows: [(object: Object, keys: [Value?])] = []

    /// Takes a row in; false where an equal one is there already, of which one form stays.
    @discardableResult
    mutating func add(_ object: Object, _ keys: [Value?]) -> Bool {
        guard let number = numbers[object] else {
            numbers[object] = rows.count
            rows.append((object, keys))
            return true
        }
        if ValueForm.precedes(object, rows[number].object) { rows[number] = (object, keys) }
        return false
    }
}
