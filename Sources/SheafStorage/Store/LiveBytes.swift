/// How many bytes of each file of the log a key still stands on.
struct LiveBytes: Equatable, Sendable {
    /// The count of one file.
    struct Entry: Equatable, Sendable {
        /// The first segment whose positions the file holds.
        let firstSegment: UInt32
        var length: Int
    }

    /// In the order of their segments.
    private(set) var entries: [Entry]
    private(set) var total: Int

    /// Starts with nothing in files that begin with these segments, in ascending order.
    init(firstSegments: [UInt32] = []) {
        entries = firstSegments.map { Entry(firstSegment: $0, length: 0) }
        total = 0
    }

    /// Starts with known counts, in ascending order.
    init(entries: [Entry]) {
        self.entries = entries
        total = entries.reduce(0) { $0 + $1.length }
    }

    /// Counts all places that a tree knows, and what is found of what they stand on.
    init(of tree: BTreeSnapshot, in segments: SegmentTable) {
        var live = LiveBytes(firstSegments: segments.files.map(\.header.segments.lowerBound))
        tree.forEach(in: Keyspace.logged) { _, value in
            guard let place = Place(value) else { return true }
            live.add(place)
            if place.isExtension {
                _ = segments.forEachFoundation(of: place.position) { live.add($0) }
            }
            return true
        }
        self = live
    }

    /// The same counts for other files: what was folded together is added up.
    func aligned(to firstSegments: [UInt32]) -> LiveBytes {
        var aligned = LiveBytes(firstSegments: firstSegments)
        for entry in entries { aligned.change(entry.firstSegment, by: entry.length) }
        return aligned
    }

    /// Begins to count a new file behind all others.
    mutating func begin(_ segment: UInt32) {
        entries.append(Entry(firstSegment: segment, length: 0))
    }

    /// Notes that a file now holds all of `segments`.
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

    /// Adds the counts of `other`, file by file.
    mutating func add(_ other: LiveBytes) {
        for entry in other.entries { change(entry.firstSegment, by: entry.length) }
    }

    /// Takes the counts of `other` away, file by file.
    mutating func subtract(_ other: LiveBytes) {
        for entry in other.entries { change(entry.firstSegment, by: -entry.length) }
    }

    /// Notes that a key stands on an operation.
    @inline(__always)
    mutating func add(_ place: Place) {
        change(place.position.segment, by: place.length)
    }

    /// Notes that no key stands on an operation any more.
    @inline(__always)
    mutating func subtract(_ place: Place) {
        change(place.position.segment, by: -place.length)
    }

    /// The bytes of the file that begins with `segment`.
    func length(ofFileAt segment: UInt32) -> Int {
        guard let index = index(of: segment), entries[index].firstSegment == segment else {
            return 0
        }
        return entries[index].length
    }

    private mutating func change(_ segment: UInt32, by length: Int) {
        guard let index = index(of: segment) else { return }
        entries[index].length += length
        total += length
    }

    /// The file that holds the positions of `segment`.
    @inline(__always)
    private func index(of segment: UInt32) -> Int? {
        if let last = entries.last, segment >= last.firstSegment { return entries.count - 1 }
        var low = 0
        var high = entries.count
        while low < high {
            let middle = (low + high) / 2
            if entries[middle].firstSegment <= segment { low = middle + 1 } else { high = middle }
        }
        return low == 0 ? nil : low - 1
    }
}
