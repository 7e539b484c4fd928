/// A buffer of record pointers to read together.
///
/// Batches in key order start small and double with each refill. Large batches without a required
/// order are sorted by log position.
final class RecordPointerBatch {
    @exclusivity(unchecked) private var storage: UnsafeMutablePointer<RecordPointer>
    @exclusivity(unchecked) private var count = 0
    @exclusivity(unchecked) private var target: Int
    private let capacity: Int
    private let sorts: Bool

    private static let readTogether = 64
    static let sortedTogether = 1 << 20
    /// The minimum number of pointers for which sorting is worthwhile.
    static let minimumSorted = 4_096

    /// Creates a batch for `expected` pointers, which is sorted only if `isOrdered` is false.
    init(_ expected: Int, isOrdered: Bool) {
        sorts = !isOrdered && expected >= Self.minimumSorted
        capacity = min(max(expected, 1), sorts ? Self.sortedTogether : Self.readTogether)
        target = sorts ? capacity : min(capacity, 8)
        storage = .allocate(capacity: capacity)
    }

    /// Creates a batch, in log order, of those of `newer` before a position and of others.
    ///
    /// Returns nil if they are too many.
    init?(
        _ newer: UnsafeBufferPointer<RecordPointer>, before position: LogPosition,
        adding others: [RecordPointer]
    ) {
        let kept = newer.reduce(0) { $0 + ($1.position < position ? 1 : 0) }
        guard kept + others.count <= Self.sortedTogether else { return nil }
        let sorted = RecordPointerBatch(max(others.count, Self.minimumSorted), isOrdered: false)
        for pointer in others { sorted.append(pointer) }
        sorted.sortIfWanted()
        sorts = true
        capacity = max(kept + others.count, 1)
        target = capacity
        storage = .allocate(capacity: capacity)
        var next = 0
        let added = sorted.pointers
        for pointer in newer where pointer.position < position {
            while next < added.count, added[next].position < pointer.position {
                append(added[next])
                next += 1
            }
            append(pointer)
        }
        for pointer in added[next...] { append(pointer) }
        // Its pointers are valid as long as it exists.
        withExtendedLifetime(sorted) {}
    }

    deinit {
        storage.deallocate()
    }

    var pointers: UnsafeBufferPointer<RecordPointer> {
        UnsafeBufferPointer(start: storage, count: count)
    }

    var isFull: Bool { count == target }

    /// Appends pointers, starting at index `first`, while there is room; returns the next index.
    @inline(__always)
    func append(_ values: BTreeLeafValues, from first: Int) -> Int {
        let end = min(values.count, first &+ target &- count)
        var number = first
        while number < end {
            if let pointer = RecordPointer(values[number]) {
                (storage + count).initialize(to: pointer)
                count &+= 1
            }
            number &+= 1
        }
        return end
    }

    @inline(__always)
    private func append(_ pointer: RecordPointer) {
        (storage + count).initialize(to: pointer)
        count &+= 1
    }

    /// Sorts the pointers by log position if the batch was created for sorting.
    func sortIfWanted() {
        if sorts, count > 1 { sort() }
    }

    /// Empties the batch and doubles its size up to the capacity.
    func removeAll() {
        count = 0
        target = min(target * 2, capacity)
    }

    /// Sorts the pointers by log position with a radix sort.
    private func sort() {
        var line = LogLine()
        for pointer in pointers { line.record(pointer.position) }
        line.computeDigits()
        guard line.digitCount > 0 else { return }
        var spare = UnsafeMutablePointer<RecordPointer>.allocate(capacity: capacity)
        let ends = UnsafeMutablePointer<UInt32>.allocate(capacity: 1 << line.digitBits)
        defer {
            spare.deallocate()
            ends.deallocate()
        }
        for digit in 0..<line.digitCount {
            ends.initialize(repeating: 0, count: 1 << line.digitBits)
            for pointer in pointers { ends[line.digit(digit, of: pointer)] &+= 1 }
            var sum: UInt32 = 0
            for index in 0..<(1 << line.digitBits) {
                (ends[index], sum) = (sum, sum &+ ends[index])
            }
            for pointer in pointers {
                let digit = line.digit(digit, of: pointer)
                (spare + Int(ends[digit])).initialize(to: pointer)
                ends[digit] &+= 1
            }
            (storage, spare) = (spare, storage)
        }
    }
}

/// A mapping of log positions to radix digits.
private struct LogLine {
    private(set) var digitBits: UInt64 = 0
    private(set) var digitCount = 0
    private var segments = (first: UInt64.max, last: UInt64.min)
    private var offsets: UInt64 = 0
    /// The number of bits of an offset in a segment.
    private var offsetBits: UInt64 = 0

    /// The number of low bits ignored: order within a cache line has no benefit.
    private static let ignoredBits: UInt64 = 6
    /// The maximum number of bits per digit, which bounds the pages written in parallel.
    private static let maximumDigitBits: UInt64 = 11

    /// Extends the range of positions by `position`.
    @inline(__always)
    mutating func record(_ position: LogPosition) {
        segments.first = min(segments.first, UInt64(position.segment))
        segments.last = max(segments.last, UInt64(position.segment))
        offsets |= UInt64(position.offset)
    }

    /// Computes the digits after all positions have been recorded.
    mutating func computeDigits() {
        offsetBits = UInt64(64 - offsets.leadingZeroBitCount)
        let bits =
            offsetBits + UInt64(64 - (segments.last - segments.first).leadingZeroBitCount)
        let left = bits - min(bits, Self.ignoredBits)
        let count = (left + Self.maximumDigitBits - 1) / Self.maximumDigitBits
        digitCount = Int(count)
        digitBits = count == 0 ? 0 : (left + count - 1) / count
    }

    /// Returns the radix digit `number` of a log position.
    @inline(__always)
    func digit(_ number: Int, of pointer: RecordPointer) -> Int {
        let segment = UInt64(pointer.position.segment) &- segments.first
        let onLine = segment &<< offsetBits | UInt64(pointer.position.offset)
        let shift = Self.ignoredBits &+ UInt64(number) &* digitBits
        return Int(truncatingIfNeeded: (onLine &>> shift) & ((1 &<< digitBits) &- 1))
    }
}
