import SheafQuery

/// Memory for a fixed number of trivial elements, freed automatically.
///
/// An array would always be filled first, and would check for unique ownership on each write.
struct FlatMemory<Element: BitwiseCopyable>: ~Copyable {
    private let start: UnsafeMutablePointer<Element>
    private let capacity: Int

    init(capacity: Int) {
        self.capacity = capacity
        start = .allocate(capacity: max(capacity, 1))
    }

    init(repeating element: Element, count: Int) {
        self.init(capacity: count)
        start.initialize(repeating: element, count: count)
    }

    deinit { start.deallocate() }

    @inline(__always)
    subscript(index: Int) -> Element {
        get {
            assert(index >= 0 && index < capacity, "The index is inside the memory.")
            return start[index]
        }
        nonmutating set {
            assert(index >= 0 && index < capacity, "The index is inside the memory.")
            start[index] = newValue
        }
    }
}

/// An ascending list of item indexes from which some can be removed.
struct IndexList: ~Copyable {
    private let indexes: FlatMemory<Int32>
    private(set) var count = 0

    init(capacity: Int) {
        indexes = FlatMemory(capacity: capacity)
    }

    @inline(__always)
    subscript(position: Int) -> Int {
        assert(position < count, "The position is inside the list.")
        return Int(indexes[position])
    }

    @inline(__always)
    mutating func append(_ index: Int) {
        indexes[count] = Int32(truncatingIfNeeded: index)
        count &+= 1
    }

    mutating func append(_ range: Range<Int>) {
        for index in range { append(index) }
    }

    /// Removes the first indexes.
    mutating func removeFirst(_ removed: Int) {
        for position in removed..<count { indexes[position &- removed] = indexes[position] }
        count &-= removed
    }

    /// Removes the indexes at marked positions.
    mutating func remove(marked isMarked: borrowing FlatMemory<Bool>) {
        var kept = 0
        for position in 0..<count where !isMarked[position] {
            indexes[kept] = indexes[position]
            kept &+= 1
        }
        count = kept
    }

    /// The indexes as an array.
    var array: [Int] { (0..<count).map { self[$0] } }
}
