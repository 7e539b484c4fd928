import SheafStorage

/// Places that are read together: a few, and more and more as long as nobody stops; or very many,
/// in the order of the log.
final class PlaceBatch {
    private var storage: UnsafeMutablePointer<Place>
    private var count = 0
    private var target: Int
    private let capacity: Int

    private static let fetchedTogether = 64
    private static let sortedTogether = 1 << 20
    /// Fewer are not worth being sorted.
    static let leastSorted = 4_096

    init(sorts: Bool) {
        capacity = sorts ? Self.sortedTogether : Self.fetchedTogether
        target = sorts ? capacity : 8
        storage = .allocate(capacity: capacity)
    }

    deinit {
        storage.deallocate()
    }

    var places: UnsafeBufferPointer<Place> { UnsafeBufferPointer(start: storage, count: count) }

    /// Adds a place; true when there are enough to be read.
    @inline(__always)
    func append(_ place: Place) -> Bool {
        (storage + count).initialize(to: place)
        count += 1
        return count == target
    }

    func removeAll() {
        count = 0
        target = min(target * 2, capacity)
    }

    /// Sorts the places by their positions, digit by digit.
    func sort() {
        guard count > 1 else { return }
        let first = storage[0].position.rawValue
        let varying = places.reduce(0) { $0 | ($1.position.rawValue ^ first) }
        var spare = UnsafeMutablePointer<Place>.allocate(capacity: capacity)
        var ends = [Int](repeating: 0, count: Self.digitCount)
        for shift in stride(from: UInt64(0), to: 64, by: Self.digitBits)
        where (varying >> shift) & Self.digitMask != 0 {
            for index in ends.indices { ends[index] = 0 }
            for place in places { ends[Self.digit(place, shift)] += 1 }
            var sum = 0
            for index in ends.indices {
                (ends[index], sum) = (sum, sum + ends[index])
            }
            for place in places {
                let digit = Self.digit(place, shift)
                (spare + ends[digit]).initialize(to: place)
                ends[digit] += 1
            }
            (storage, spare) = (spare, storage)
        }
        spare.deallocate()
    }

    private static let digitBits = 11
    private static let digitCount = 1 << digitBits
    private static let digitMask = UInt64(digitCount - 1)

    @inline(__always)
    private static func digit(_ place: Place, _ shift: UInt64) -> Int {
        Int(truncatingIfNeeded: (place.position.rawValue >> shift) & digitMask)
    }
}
