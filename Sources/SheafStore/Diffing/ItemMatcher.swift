/// A matcher that finds the old index of each item of a new list.
///
/// Each of three passes handles the items that the previous one left: a parallel walk, because most
/// lists are similar to the one before; a table of versions; and a table of id hashes.
struct ItemMatcher: ~Copyable {
    package typealias Item = DiffState.Item

    private let old: UnsafeBufferPointer<Item>
    /// The state of the new items, filled during matching.
    private let new: UnsafeMutableBufferPointer<Item>
    private let versions: UnsafeBufferPointer<UInt64>
    /// The old index of each new item; negative if there is none.
    private let sources: FlatMemory<Int32>
    /// The items that have no counterpart yet.
    private var unmatchedOld: IndexList
    private var unmatchedNew: IndexList
    private var updates: [Int] = []

    /// Maximum distance at which the walk searches for the next equal items.
    private static let searchDistance = 8

    /// Creates a matcher of `old` with items that have `versions`; `match` writes them to `new`.
    init(
        _ old: UnsafeBufferPointer<Item>, _ new: UnsafeMutableBufferPointer<Item>,
        _ versions: UnsafeBufferPointer<UInt64>
    ) {
        self.old = old
        self.new = new
        self.versions = versions
        sources = FlatMemory(capacity: versions.count)
        unmatchedOld = IndexList(capacity: old.count)
        unmatchedNew = IndexList(capacity: versions.count)
    }

    /// Matches all items and returns the diff.
    mutating func match(_ fingerprint: (Int) -> (id: UInt64, content: UInt64)) -> Diff {
        walk()
        matchRemaining { $0.version == 0 ? nil : $0.version }
        for position in 0..<unmatchedNew.count {
            let index = unmatchedNew[position]
            let (id, content) = fingerprint(index)
            new[index] = Item(version: versions[index], id: id, content: content)
        }
        matchLeadingIDs()
        matchRemaining { $0.id }
        return Diff(
            insertions: unmatchedNew.array, deletions: unmatchedOld.array, updates: updates,
            moves: MoveFinder.moves(sources, count: versions.count))
    }

    // MARK: - Parallel walk

    /// Walks along both lists and pairs items with the same version.
    private mutating func walk() {
        var (oldEnd, newEnd) = (old.count, versions.count)
        while oldEnd > 0, newEnd > 0, isSame(oldEnd &- 1, newEnd &- 1) {
            oldEnd &-= 1
            newEnd &-= 1
            pairEqual(oldEnd, newEnd)
        }
        var (oldIndex, newIndex) = (0, 0)
        while oldIndex < oldEnd, newIndex < newEnd {
            if isSame(oldIndex, newIndex) {
                pairEqual(oldIndex, newIndex)
                oldIndex &+= 1
                newIndex &+= 1
                continue
            }
            let ahead = nextMatch(oldIndex..<oldEnd, newIndex..<newEnd)
            markUnmatched(oldIndex..<ahead.old, newIndex..<ahead.new)
            (oldIndex, newIndex) = ahead
        }
        markUnmatched(oldIndex..<oldEnd, newIndex..<newEnd)
    }

    /// Returns the nearest positions of equal items; if none are near, positions farther ahead.
    private func nextMatch(
        _ oldRange: Range<Int>, _ newRange: Range<Int>
    ) -> (old: Int, new: Int) {
        let (oldIndex, newIndex) = (oldRange.lowerBound, newRange.lowerBound)
        for distance in 1...Self.searchDistance {
            let (oldAhead, newAhead) = (oldIndex &+ distance, newIndex &+ distance)
            let isInOld = oldAhead < oldRange.upperBound
            let isInNew = newAhead < newRange.upperBound
            if isInOld, isSame(oldAhead, newIndex) { return (oldAhead, newIndex) }
            if isInNew, isSame(oldIndex, newAhead) { return (oldIndex, newAhead) }
            if isInOld, isInNew, isSame(oldAhead, newAhead) { return (oldAhead, newAhead) }
        }
        return (
            min(oldIndex &+ Self.searchDistance, oldRange.upperBound),
            min(newIndex &+ Self.searchDistance, newRange.upperBound)
        )
    }

    @inline(__always)
    private func isSame(_ oldIndex: Int, _ newIndex: Int) -> Bool {
        let version = versions[newIndex]
        return old[oldIndex].version == version && version != 0
    }

    /// Leaves items for the next passes.
    private mutating func markUnmatched(_ oldRange: Range<Int>, _ newRange: Range<Int>) {
        unmatchedOld.append(oldRange)
        for index in newRange {
            unmatchedNew.append(index)
            new[index] = Item(version: versions[index])
            sources[index] = -1
        }
    }

    // MARK: - Pairs

    /// Pairs an old item with an equal new one.
    @inline(__always)
    private func pairEqual(_ oldIndex: Int, _ newIndex: Int) {
        new[newIndex] = old[oldIndex]
        sources[newIndex] = Int32(truncatingIfNeeded: oldIndex)
    }

    /// Pairs an old item with a new one, and records an update if their contents differ.
    @inline(__always)
    private mutating func pair(_ oldIndex: Int, _ newIndex: Int) {
        if isSame(oldIndex, newIndex) { return pairEqual(oldIndex, newIndex) }
        sources[newIndex] = Int32(truncatingIfNeeded: oldIndex)
        if new[newIndex].content != old[oldIndex].content { updates.append(newIndex) }
    }

    // MARK: - Tables

    /// Pairs the remaining items by id while both lists have the same order.
    ///
    /// If all changes are in place, they are found here, without a table.
    private mutating func matchLeadingIDs() {
        var count = 0
        while count < unmatchedOld.count, count < unmatchedNew.count,
            old[unmatchedOld[count]].id == new[unmatchedNew[count]].id
        {
            pair(unmatchedOld[count], unmatchedNew[count])
            count &+= 1
        }
        unmatchedOld.removeFirst(count)
        unmatchedNew.removeFirst(count)
    }

    /// Pairs the remaining items that have equal keys, in order; skips items without a key.
    @inline(__always)
    private mutating func matchRemaining(by key: (Item) -> UInt64?) {
        guard unmatchedOld.count > 0, unmatchedNew.count > 0 else { return }
        let table = OccurrenceTable(count: unmatchedOld.count)
        for position in stride(from: unmatchedOld.count - 1, through: 0, by: -1) {
            if let key = key(old[unmatchedOld[position]]) { table.prepend(key, at: position) }
        }
        let isReceived = FlatMemory<Bool>(repeating: false, count: unmatchedOld.count)
        let isPaired = FlatMemory<Bool>(repeating: false, count: unmatchedNew.count)
        for position in 0..<unmatchedNew.count {
            guard let key = key(new[unmatchedNew[position]]) else { continue }
            guard let source = table.takeFirst(key) else { continue }
            pair(unmatchedOld[source], unmatchedNew[position])
            isReceived[source] = true
            isPaired[position] = true
        }
        unmatchedOld.remove(marked: isReceived)
        unmatchedNew.remove(marked: isPaired)
    }
}
