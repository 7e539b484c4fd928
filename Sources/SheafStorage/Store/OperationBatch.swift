package import SheafBytes

/// Finds the operations at some places at a time, in one loop: to call for each of them would take
/// longer than to read it.
package final class OperationBatch {
    /// The bytes of those that were found, in the order of their places.
    private let found: UnsafeMutablePointer<StoredBytes>
    package let capacity: Int
    /// What was read ahead, so that the compiler does not leave the reading out.
    @exclusivity(unchecked) private var trace: UInt64 = 0

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
        return withExtendedLifetime(log.segments) {
            fetch(places, log.segments)
            return find(places, in: log, log.segments)
        }
    }

    @inline(__always)
    private func find(
        _ places: UnsafeBufferPointer<Place>, in log: LogSnapshot, _ segments: SegmentTable
    ) -> Int {
        var segment: Unmanaged<Segment>?
        var (number, count) = (UInt32.max, 0)
        while count < places.count {
            let place = places[count]
            if place.position.segment != number {
                number = place.position.segment
                segment = segments.reference(number)
            }
            let rest = UnsafeBufferPointer(rebasing: places[count...])
            let more =
                segment?._withUnsafeGuaranteedRef { $0.find(rest, into: found + count) } ?? 0
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

    /// Reads from all places before any of them is looked at: memory is asked for all at once, and
    /// does not answer for one after the other.
    @inline(__always)
    private func fetch(_ places: UnsafeBufferPointer<Place>, _ segments: SegmentTable) {
        var (start, sum) = (0, UInt64(0))
        while start < places.count {
            let rest = UnsafeBufferPointer(rebasing: places[start...])
            let more = segments.reference(rest[0].position.segment)?
                ._withUnsafeGuaranteedRef { $0.fetch(rest, &sum) }
            start += max(more ?? 1, 1)
        }
        trace &+= sum
    }
}
