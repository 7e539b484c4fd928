package import SheafBytes

/// Finds the operations at some places at a time, in one loop: to call for each of them would take
/// longer than to read it.
package final class OperationBatch {
    /// The bytes of those that were found, in the order of their places.
    private let found: UnsafeMutablePointer<StoredBytes>
    package let capacity: Int
    /// Where the last one was found.
    private var segment: Segment?
    /// What was read ahead, so that the compiler does not leave the reading out.
    private var trace: UInt64 = 0

    package init(capacity: Int) {
        self.capacity = capacity
        found = .allocate(capacity: capacity)
    }

    deinit {
        found.deallocate()
    }

    /// The first so many of those that were found.
    @inline(__always)
    package func stored(_ count: Int) -> UnsafeBufferPointer<StoredBytes> {
        UnsafeBufferPointer(start: found, count: count)
    }

    /// Finds what lies at places, one behind the other, up to an extension or what is damaged; returns
    /// how many were found.
    package func find(_ places: UnsafeBufferPointer<Place>, in log: LogSnapshot) -> Int {
        precondition(places.count <= capacity, "A batch has room for \(capacity) operations.")
        fetch(places, log.segments)
        var count = 0
        while count < places.count {
            let place = places[count]
            select(place.position.segment, log.segments)
            let rest = UnsafeBufferPointer(rebasing: places[count...])
            let more = segment?.find(rest, into: found + count) ?? 0
            count += more
            guard more == 0 else { continue }
            // In a base file, not verified yet, an extension, or damaged.
            guard !place.isExtension, let operation = try? log.newestOperation(at: place) else {
                break
            }
            (found + count).initialize(
                to: StoredBytes(
                    key: operation.key, payload: operation.payload,
                    place: place.position.rawValue))
            count += 1
        }
        return count
    }

    @inline(__always)
    private func select(_ number: UInt32, _ segments: SegmentTable) {
        if segment?.header.segments.contains(number) != true { segment = segments.segment(number) }
    }

    /// Reads from all places before any of them is looked at: memory is asked for all at once, and
    /// does not answer for one after the other.
    private func fetch(_ places: UnsafeBufferPointer<Place>, _ segments: SegmentTable) {
        var start = 0
        while start < places.count {
            select(places[start].position.segment, segments)
            let rest = UnsafeBufferPointer(rebasing: places[start...])
            start += max(segment?.fetch(rest, &trace) ?? 1, 1)
        }
    }
}
