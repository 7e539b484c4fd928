/// Places that are read together: a few, and more and more as long as nobody stops; or very many,
/// in the order of the log.
final class PlaceBatch {
    @exclusivity(unchecked) private var storage: UnsafeMutablePointer<Place>
    @exclusivity(unchecked) private var count = 0
    @exclusivity(unchecked) private var target: Int
    private let capacity: Int
    private let sorts: Bool

    private static let readTogether = 64
    static let sortedTogether = 1 << 20
    /// Fewer are not worth being sorted.
    static let leastSorted = 4_096

    /// For so many places, of which none are sorted where their order matters.
    init(_ expected: Int, isOrdered: Bool) {
        sorts = !isOrdered && expected >= Self.leastSorted
        capacity = min(max(expected, 1), sorts ? Self.sortedTogether : Self.readTogether)
        target = sorts ? capacity : min(capacity, 8)
        storage = .allocate(capacity: capacity)
    }

    deinit {
        storage.deallocate()
    }

    var places: UnsafeBufferPointer<Place> { UnsafeBufferPointer(start: storage, count: count) }

    var isFull: Bool { count == target }

    /// Adds places, from one on, as long as there is room; returns the first that was not added.
    @inline(__always)
    func append(_ values: BTreeLeafValues, from first: Int) -> Int {
        let end = min(values.count, first &+ target &- count)
        var number = first
        while number < end {
            if let place = Place(values[number]) {
                (storage + count).initialize(to: place)
                count &+= 1
            }
            number &+= 1
        }
        return end
    }

    func sortIfWanted() {
        if sorts, count > 1 { sort() }
    }

    func removeAll() {
        count = 0
        target = min(target * 2, capacity)
    }

    /// Brings the places into the order of the log, digit by digit.
    private func sort() {
        var line = LogLine()
        for place in places { line.note(place.position) }
        line.cut()
        guard line.digitCount > 0 else { return }
        var spare = UnsafeMutablePointer<Place>.allocate(capacity: capacity)
        let ends = UnsafeMutablePointer<UInt32>.allocate(capacity: 1 << line.digitBits)
        defer {
            spare.deallocate()
            ends.deallocate()
        }
        for digit in 0..<line.digitCount {
            ends.initialize(repeating: 0, count: 1 << line.digitBits)
            for place in places { ends[line.digit(digit, of: place)] &+= 1 }
            var sum: UInt32 = 0
            for index in 0..<(1 << line.digitBits) {
                (ends[index], sum) = (sum, sum &+ ends[index])
            }
            for place in places {
                let digit = line.digit(digit, of: place)
                (spare + Int(ends[digit])).initialize(to: place)
                ends[digit] &+= 1
            }
            (storage, spare) = (spare, storage)
        }
    }
}

/// The log between some positions as one line, cut into digits.
private struct LogLine {
    private(set) var digitBits: UInt64 = 0
    private(set) var digitCount = 0
    private var segments = (first: UInt64.max, last: UInt64.min)
    private var offsets: UInt64 = 0
    /// How many bits the offsets in a segment have.
    private var offsetBits: UInt64 = 0

    /// The bits that stay out: to sort within a cache line is not worth a look.
    private static let ignoredBits: UInt64 = 6
    /// With more, places would be written to more pages at a time than caches can follow.
    private static let mostDigitBits: UInt64 = 11

    @inline(__always)
    mutating func note(_ position: LogPosition) {
        segments.first = min(segments.first, UInt64(position.segment))
        segments.last = max(segments.last, UInt64(position.segment))
        offsets |= UInt64(position.offset)
    }

    /// Cuts the line, when all positions were noted.
    mutating func cut() {
        offsetBits = UInt64(64 - offsets.leadingZeroBitCount)
        let bits =
            offsetBits + UInt64(64 - (segments.last - segments.first).leadingZeroBitCount)
        let left = bits - min(bits, Self.ignoredBits)
        let count = (left + Self.mostDigitBits - 1) / Self.mostDigitBits
        digitCount = Int(count)
        digitBits = count == 0 ? 0 : (left + count - 1) / count
    }

    @inline(__always)
    func digit(_ number: Int, of place: Place) -> Int {
        let segment = UInt64(place.position.segment) &- segments.first
        let onLine = segment &<< offsetBits | UInt64(place.position.offset)
        let shift = Self.ignoredBits &+ UInt64(number) &* digitBits
        return Int(truncatingIfNeeded: (onLine &>> shift) & ((1 &<< digitBits) &- 1))
    }
}
