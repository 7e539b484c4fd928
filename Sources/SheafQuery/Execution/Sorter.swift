import SheafDocument

/// A sorter of rows; with a limit, it retains only the first rows in a heap.
struct Sorter<Row> {
    private struct Entry {
        let keys: [Value?]
        /// Number of the row in input order, so that the sort is stable.
        let number: Int
        let row: Row
    }

    private let isDescending: [Bool]
    /// Maximum number of rows in the result; nil if unlimited.
    private let limit: Int?
    private var count = 0
    /// All rows, or a heap with the last retained row at the root.
    private var entries: [Entry] = []

    init(_ isDescending: [Bool], limit: Int?) {
        self.isDescending = isDescending
        self.limit = limit
    }

    /// The first key and the number of the last retained row; nil until the limit is reached.
    var boundary: (key: Value?, number: Int)? {
        guard let limit, entries.count == limit, let last = entries.first else { return nil }
        return (last.keys[0], last.number)
    }

    /// Whether a row with this first key may be among the retained rows.
    func mayTake(_ first: Value?) -> Bool {
        guard let limit, entries.count == limit, let last = entries.first else { return true }
        let order = Self.compare(first, last.keys[0])
        return isDescending[0] ? order >= 0 : order <= 0
    }

    /// Adds a row; calls `row` only if the row is retained.
    mutating func add(
        _ keys: [Value?], _ row: () throws(StoreError) -> Row
    ) throws(StoreError) {
        let number = count
        count += 1
        guard let limit else {
            entries.append(Entry(keys: keys, number: number, row: try row()))
            return
        }
        guard limit > 0 else { return }
        guard entries.count == limit else {
            entries.append(Entry(keys: keys, number: number, row: try row()))
            siftUp()
            return
        }
        guard precedes(keys, number, entries[0].keys, entries[0].number) else { return }
        entries[0] = Entry(keys: keys, number: number, row: try row())
        siftDown()
    }

    /// Returns the retained rows in order.
    mutating func finish() -> [Row] {
        let isDescending = isDescending
        entries.sort {
            Self.precedes($0.keys, $0.number, $1.keys, $1.number, isDescending)
        }
        return entries.map(\.row)
    }

    private func precedes(
        _ left: [Value?], _ leftNumber: Int, _ right: [Value?], _ rightNumber: Int
    ) -> Bool {
        Self.precedes(left, leftNumber, right, rightNumber, isDescending)
    }

    private static func precedes(
        _ left: [Value?], _ leftNumber: Int, _ right: [Value?], _ rightNumber: Int,
        _ isDescending: [Bool]
    ) -> Bool {
        let order = compare(left, right, isDescending)
        return order != 0 ? order < 0 : leftNumber < rightNumber
    }

    /// Compares two rows by their keys; negative if `left` precedes `right`.
    package static func compare(_ left: [Value?], _ right: [Value?], _ isDescending: [Bool]) -> Int
    {
        for index in isDescending.indices {
            let order = compare(left[index], right[index])
            if order != 0 { return isDescending[index] ? -order : order }
        }
        return 0
    }

    /// Compares two values; missing values are last.
    static func compare(_ left: Value?, _ right: Value?) -> Int {
        switch (left, right) {
        case (let left?, let right?): left.compare(right)
        case (nil, nil): 0
        case (nil, _): 1
        case (_, nil): -1
        }
    }

    private mutating func siftUp() {
        var child = entries.count - 1
        while child > 0 {
            let parent = (child - 1) / 2
            guard isBehind(child, parent) else { return }
            entries.swapAt(child, parent)
            child = parent
        }
    }

    private mutating func siftDown() {
        var parent = 0
        while true {
            var last = parent
            for child in [2 * parent + 1, 2 * parent + 2]
            where child < entries.count && isBehind(child, last) {
                last = child
            }
            guard last != parent else { return }
            entries.swapAt(last, parent)
            parent = last
        }
    }

    private func isBehind(_ left: Int, _ right: Int) -> Bool {
        precedes(
            entries[right].keys, entries[right].number, entries[left].keys, entries[left].number)
    }
}
