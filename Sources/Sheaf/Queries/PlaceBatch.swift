import SheafStorage

/// Places that are read together: more and more of them, as long as nobody stops.
final class PlaceBatch {
    private let storage: UnsafeMutablePointer<Place>
    private var count = 0
    private var target = 8

    private static let capacity = 64

    init() {
        storage = .allocate(capacity: Self.capacity)
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
        target = min(target * 2, Self.capacity)
    }
}
