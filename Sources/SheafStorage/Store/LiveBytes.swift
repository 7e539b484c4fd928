/// The number of live operation bytes in each file of the log.
struct LiveBytes: Equatable, Sendable {
    /// The live bytes of one file.
    package struct Entry: Equatable, Sendable {
        /// The first segment whose positions the file holds.
        let firstSegment: UInt32
        var length: Int
    }

    /// The entries, sorted by segment.
    private(set) var entries: [Entry]
    private(set) var total: Int

    /// Creates zero counts for files that begin with these segments, in ascending order.
    init(firstSegments: [UInt32] = []) {
        entries = firstSegments.map { Entry(firstSegment: $0, length: 0) }
        total = 0
    }

    /// Creates counts from entries in ascending order.
    init(entries: [Entry]) {
        self.entries = entries
        total = entries.reduce(0) { $0 + $1.length }
    }

    /// Counts all operations in a tree and the operations that their deltas are based on.
    init(of tree: BTreeSnapshot, in segments: SegmentTable) {
        var live = LiveBytes(firstSegments: segments.files.map(\.header.segments.lowerBound))
        var work = PeriodicYield()
        tree.forEach(in: Keyspace.logged) { _, value in
            work.record(Operation.headerLength)
            guard let pointer = RecordPointer(value) else { return true }
            live.add(pointer)
            if pointer.isDelta {
                _ = segments.forEachFoundation(of: pointer.position) { live.add($0) }
            }
            return true
        }
        self = live
    }

    /// Returns the counts for a new set of files, adding up those of compacted files.
    func aligned(to firstSegments: [UInt32]) -> LiveBytes {
        var aligned = LiveBytes(firstSegments: firstSegments)
        for entry in entries { aligned.change(entry.firstSegment, by: entry.length) }
        return aligned
    }

    /// Adds a new file after all others.
    mutating func begin(_ segment: UInt32) {
        entries.append(Entry(firstSegment: segment, length: 0))
    }

    /// Merges the counts of `segments`, which one file has replaced.
    mutating func merge(_ segments: ClosedRange<UInt32>) {
        guard let first = entries.firstIndex(where: { segments.contains($0.firstSegment) }) else {
            return
        }
        var last = first
        while last + 1 < entries.count, segments.contains(entries[last + 1].firstSegment) {
            last += 1
        }
        entries[first].length = entries[first...last].reduce(0) { $0 + $1.length }
        entries.removeSubrange(first + 1..<last + 1)
    }

    /// Subtracts the counts of `other`, file by file.
    mutating func subtract(_ other: LiveBytes) {
        for entry in other.entries { change(entry.firstSegment, by: -entry.length) }
    }

    /// Counts an operation as live.
    @inline(__always)
    mutating func add(_ pointer: RecordPointer) {
        change(pointer.position.segment, by: pointer.length)
    }

    /// Counts an operation as garbage.
    @inline(__always)
    mutating func subtract(_ pointer: RecordPointer) {
        change(pointer.position.segment, by: -pointer.length)
    }

    /// Returns the live bytes of the file that begins with `segment`.
    func length(ofFileAt segment: UInt32) -> Int {
        index(of: segment).map { entries[$0].length } ?? 0
    }

    private mutating func change(_ segment: UInt32, by length: Int) {
        guard let index = index(of: segment) else { return }
        entries[index].length += length
        total += length
    }

    /// Returns the index of the file that holds the positions of `segment`.
    @inline(__always)
    private func index(of segment: UInt32) -> Int? {
        var low = 0
        var high = entries.count
        // Most operations are in the last file, which is compared first.
        var middle = high - 1
        while low < high {
            if entries[middle].firstSegment <= segment { low = middle + 1 } else { high = middle }
            middle = (low + high) / 2
        }
        return low == 0 ? nil : low - 1
    }
}
