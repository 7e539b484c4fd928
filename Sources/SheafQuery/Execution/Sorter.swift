import SheafDocument

/// A sorter of rows; with a limit, it retains only the first rows in a heap.
///
/// Sorting moves no rows: the heap and the sorted order hold their indexes.
final class Sorter<Row> {
    private struct Entry {
        let rank: SortRank
        /// The first key, and the others.
        let first: Value?
        let rest: [Value?]
        /// Number of the row in input order, so that the sort is stable.
        let number: Int
        let row: Row
    }

    private let isDescending: [Bool]
    /// Maximum number of rows in the result; nil if unlimited.
    private let limit: Int?
    // Only one run uses the properties, on one thread.
    @exclusivity(unchecked) private var count = 0
    @exclusivity(unchecked) private var entries: UnsafeMutablePointer<Entry>
    @exclusivity(unchecked) private var capacity = 16
    @exclusivity(unchecked) private var retained = 0
    /// All indexes, or a heap with that of the last retained row at the root.
    @exclusivity(unchecked) private var heap: [Int32] = []

    init(_ isDescending: [Bool], limit: Int?) {
        self.isDescending = isDescending
        self.limit = limit
        entries = .allocate(capacity: capacity)
    }

    deinit {
        entries.deinitialize(count: retained)
        entries.deallocate()
    }

    /// The first key and the number of the last retained row; nil until the limit is reached.
    var boundary: (key: Value?, number: Int)? {
        guard let limit, retained == limit, let root = heap.first else { return nil }
        let last = entries + Int(root)
        return (last.pointee.first, last.pointee.number)
    }

    /// Whether a row with this first key may be among the retained rows.
    func mayTake(_ first: Value?) -> Bool {
        guard let limit, retained == limit, let root = heap.first else { return true }
        let last = entries + Int(root)
        let order = SortRank(first).compare(last.pointee.rank) {
            Self.compare(first, last.pointee.first)
        }
        return isDescending[0] ? order >= 0 : order <= 0
    }

    /// Adds a row with its first key and the others; calls `row` only if the row is retained.
    func add(
        _ first: Value?, _ rest: [Value?], _ row: () throws(StoreError) -> Row
    ) throws(StoreError) {
        let number = count
        count += 1
        guard limit != 0 else { return }
        let rank = SortRank(first)
        guard let limit, retained == limit else {
            append(Entry(rank: rank, first: first, rest: rest, number: number, row: try row()))
            return
        }
        // A later row never precedes one with equal keys.
        let last = entries + Int(heap[0])
        var order = rank.compare(last.pointee.rank) { Self.compare(first, last.pointee.first) }
        if isDescending[0] { order = -order }
        if order == 0 { order = compare(rest, last.pointee.rest) }
        guard order < 0 else { return }
        last.pointee = Entry(rank: rank, first: first, rest: rest, number: number, row: try row())
        siftDown()
    }

    private func append(_ entry: Entry) {
        if retained == capacity {
            let larger = UnsafeMutablePointer<Entry>.allocate(capacity: 2 * capacity)
            larger.moveInitialize(from: entries, count: retained)
            entries.deallocate()
            (entries, capacity) = (larger, 2 * capacity)
        }
        precondition(retained < Int(Int32.max), "A result has fewer rows than 2³¹.")
        (entries + retained).initialize(to: entry)
        heap.append(Int32(retained))
        retained += 1
        if limit != nil { siftUp() }
    }

    /// Returns the retained rows in order.
    func finish() -> [Row] {
        heap.sort { precedes($0, $1) }
        return heap.map { entries[Int($0)].row }
    }

    private func precedes(_ left: Int32, _ right: Int32) -> Bool {
        let (left, right) = (entries + Int(left), entries + Int(right))
        var order = left.pointee.rank.compare(right.pointee.rank) {
            Self.compare(left.pointee.first, right.pointee.first)
        }
        if isDescending[0] { order = -order }
        if order == 0 { order = compare(left.pointee.rest, right.pointee.rest) }
        return order != 0 ? order < 0 : left.pointee.number < right.pointee.number
    }

    /// Compares the keys after the first.
    private func compare(_ left: [Value?], _ right: [Value?]) -> Int {
        for index in left.indices {
            let order = Self.compare(left[index], right[index])
            if order != 0 { return isDescending[index + 1] ? -order : order }
        }
        return 0
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

    private func siftUp() {
        var child = heap.count - 1
        while child > 0 {
            let parent = (child - 1) / 2
            guard precedes(heap[parent], heap[child]) else { return }
            heap.swapAt(child, parent)
            child = parent
        }
    }

    private func siftDown() {
        var parent = 0
        while true {
            var last = parent
            for child in [2 * parent + 1, 2 * parent + 2]
            where child < heap.count && precedes(heap[last], heap[child]) {
                last = child
            }
            guard last != parent else { return }
            heap.swapAt(last, parent)
            parent = last
        }
    }
}

/// The type and the first eight bytes of an ORDER BY value, which decide most comparisons.
struct SortRank {
    private let kind: UInt8
    private let head: UInt64

    private static let missing: UInt8 = 255

    init(_ value: Value?) {
        guard let value else {
            (kind, head) = (Self.missing, 0)
            return
        }
        kind = UInt8(value.kind.rawValue)
        switch value {
        case .bool(let flag): head = flag ? 1 : 0
        // Large integers are rounded to the nearest float; equal ranks are compared by value.
        case .integer(let integer): head = Self.bits(Double(integer))
        case .float(let float): head = Self.bits(float)
        case .string(let text): head = Self.beginning(text.utf8)
        case .bytes(let bytes): head = Self.beginning(bytes)
        case .array, .object, .null: head = 0
        }
    }

    /// Returns bits in the order of floats, in which zeros are equal, and NaN is the greatest.
    private static func bits(_ float: Double) -> UInt64 {
        let bits = float.isNaN ? Double.nan.bitPattern : float == 0 ? 0 : float.bitPattern
        return bits >> 63 == 0 ? bits | 1 << 63 : ~bits
    }

    private static func beginning(_ bytes: some Sequence<UInt8>) -> UInt64 {
        var (head, shift) = (UInt64(0), UInt64(64))
        for byte in bytes {
            shift -= 8
            head |= UInt64(byte) << shift
            if shift == 0 { break }
        }
        return head
    }

    /// Compares two ranks; calls `compareValues` if they are equal.
    @inline(__always)
    func compare(_ other: SortRank, _ compareValues: () -> Int) -> Int {
        if kind != other.kind { return kind < other.kind ? -1 : 1 }
        if head != other.head { return head < other.head ? -1 : 1 }
        return compareValues()
    }
}
