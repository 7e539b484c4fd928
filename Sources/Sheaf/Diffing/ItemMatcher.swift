/// Finds for each item of a list where it was before.
///
/// Three times in turn, each for what was left over: side by side, for most lists are much like the
/// one before; by version, through a table; and by the hash of the id, through another.
struct ItemMatcher: ~Copyable {
    typealias Item = DiffState.Item

    private let old: UnsafeBufferPointer<Item>
    /// Filled while items are matched.
    private let new: UnsafeMutableBufferPointer<Item>
    private let versions: UnsafeBufferPointer<UInt64>
    /// For each new item its index before; negative where it was not there.
    private let sources: FlatMemory<Int32>
    /// Those whose counterpart was not found yet.
    private var oldLeft: IndexList
    private var newLeft: IndexList
    private var updates: [Int] = []

    /// So far ahead a walk looks for where the two lists go on alike.
    private static let reach = 8

    /// Compares `old` to items with `versions`, and leaves in `new` what is to be known of those.
    init(
        _ old: UnsafeBufferPointer<Item>, _ new: UnsafeMutableBufferPointer<Item>,
        _ versions: UnsafeBufferPointer<UInt64>
    ) {
        self.old = old
        self.new = new
        self.versions = versions
        sources = FlatMemory(capacity: versions.count)
        oldLeft = IndexList(capacity: old.count)
        newLeft = IndexList(capacity: versions.count)
    }

    /// Matches all that can be matched.
    mutating func match(_ fingerprint: (Int) -> (id: UInt64, content: UInt64)) -> Diff {
        walk()
        matchLeft { $0.version == 0 ? nil : $0.version }
        for position in 0..<newLeft.count {
            let index = newLeft[position]
            let (id, content) = fingerprint(index)
            new[index] = Item(version: versions[index], id: id, content: content)
        }
        matchLeadingIDs()
        matchLeft { $0.id }
        return Diff(
            insertions: newLeft.array, deletions: oldLeft.array, updates: updates,
            moves: MoveFinder.moves(sources, count: versions.count))
    }

    // MARK: - Side by side

    /// Walks along both lists and pairs what has the same version, as long as they are much alike.
    private mutating func walk() {
        var (oldEnd, newEnd) = (old.count, versions.count)
        while oldEnd > 0, newEnd > 0, isSame(oldEnd &- 1, newEnd &- 1) {
            oldEnd &-= 1
            newEnd &-= 1
            keep(oldEnd, newEnd)
        }
        var (oldIndex, newIndex) = (0, 0)
        while oldIndex < oldEnd, newIndex < newEnd {
            if isSame(oldIndex, newIndex) {
                keep(oldIndex, newIndex)
                oldIndex &+= 1
                newIndex &+= 1
                continue
            }
            let ahead = nextSame(oldIndex..<oldEnd, newIndex..<newEnd)
            leave(oldIndex..<ahead.old, newIndex..<ahead.new)
            (oldIndex, newIndex) = ahead
        }
        leave(oldIndex..<oldEnd, newIndex..<newEnd)
    }

    /// Where the lists go on alike after an insertion, a deletion or changes; otherwise a bit ahead.
    private func nextSame(
        _ oldRange: Range<Int>, _ newRange: Range<Int>
    ) -> (old: Int, new: Int) {
        let (oldIndex, newIndex) = (oldRange.lowerBound, newRange.lowerBound)
        for distance in 1...Self.reach {
            let (oldAhead, newAhead) = (oldIndex &+ distance, newIndex &+ distance)
            let isInOld = oldAhead < oldRange.upperBound
            let isInNew = newAhead < newRange.upperBound
            if isInOld, isSame(oldAhead, newIndex) { return (oldAhead, newIndex) }
            if isInNew, isSame(oldIndex, newAhead) { return (oldIndex, newAhead) }
            if isInOld, isInNew, isSame(oldAhead, newAhead) { return (oldAhead, newAhead) }
        }
        return (
            min(oldIndex &+ Self.reach, oldRange.upperBound),
            min(newIndex &+ Self.reach, newRange.upperBound)
        )
    }

    @inline(__always)
    private func isSame(_ oldIndex: Int, _ newIndex: Int) -> Bool {
        let version = versions[newIndex]
        return old[oldIndex].version == version && version != 0
    }

    /// Leaves items over for the tables.
    private mutating func leave(_ oldRange: Range<Int>, _ newRange: Range<Int>) {
        oldLeft.append(oldRange)
        for index in newRange {
            newLeft.append(index)
            new[index] = Item(version: versions[index])
            sources[index] = -1
        }
    }

    // MARK: - Pairs

    /// Pairs an item with itself, unchanged.
    @inline(__always)
    private func keep(_ oldIndex: Int, _ newIndex: Int) {
        new[newIndex] = old[oldIndex]
        sources[newIndex] = Int32(truncatingIfNeeded: oldIndex)
    }

    /// Pairs an item with itself, of which the fingerprint is known unless it has its version yet.
    @inline(__always)
    private mutating func pair(_ oldIndex: Int, _ newIndex: Int) {
        if isSame(oldIndex, newIndex) { return keep(oldIndex, newIndex) }
        sources[newIndex] = Int32(truncatingIfNeeded: oldIndex)
        if new[newIndex].content != old[oldIndex].content { updates.append(newIndex) }
    }

    // MARK: - Tables

    /// Pairs what is left by its ids as long as they come in the same order.
    ///
    /// Changes in place are all of this kind, and need no table.
    private mutating func matchLeadingIDs() {
        var count = 0
        while count < oldLeft.count, count < newLeft.count,
            old[oldLeft[count]].id == new[newLeft[count]].id
        {
            pair(oldLeft[count], newLeft[count])
            count &+= 1
        }
        oldLeft.removeFirst(count)
        newLeft.removeFirst(count)
    }

    /// Pairs what is left by a key, which some have not; items of one key in their order.
    @inline(__always)
    private mutating func matchLeft(by key: (Item) -> UInt64?) {
        guard oldLeft.count > 0, newLeft.count > 0 else { return }
        let table = OccurrenceTable(count: oldLeft.count)
        for position in stride(from: oldLeft.count - 1, through: 0, by: -1) {
            if let key = key(old[oldLeft[position]]) { table.prepend(key, at: position) }
        }
        let isTaken = FlatMemory<Bool>(repeating: false, count: oldLeft.count)
        let isPaired = FlatMemory<Bool>(repeating: false, count: newLeft.count)
        for position in 0..<newLeft.count {
            guard let key = key(new[newLeft[position]]) else { continue }
            guard let source = table.takeFirst(key) else { continue }
            pair(oldLeft[source], newLeft[position])
            isTaken[source] = true
            isPaired[position] = true
        }
        oldLeft.remove(marked: isTaken)
        newLeft.remove(marked: isPaired)
    }
}
