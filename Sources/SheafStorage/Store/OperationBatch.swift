package import SheafBytes

/// A reader of many operations in one loop, which is faster than one call per operation.
package final class OperationBatch {
    /// The key and payload of the operations found, in the order of their record pointers.
    private let found: UnsafeMutablePointer<StoredBytes>
    package let capacity: Int
    /// The sum of the prefetched bytes, which keeps the compiler from removing the loads.
    @exclusivity(unchecked) private var trace: UInt64 = 0

    package init(capacity: Int) {
        self.capacity = capacity
        found = .allocate(capacity: capacity)
    }

    deinit {
        found.deallocate()
    }

    /// Returns the first `count` of the operations found.
    @inline(__always)
    package func stored(_ count: Int) -> UnsafeBufferPointer<StoredBytes> {
        UnsafeBufferPointer(start: found, count: count)
    }

    /// Finds the operations at `pointers` in order; returns the number found.
    ///
    /// Stops at the first delta or damaged operation.
    package func find(_ pointers: UnsafeBufferPointer<RecordPointer>, in log: LogSnapshot) -> Int {
        precondition(pointers.count <= capacity, "A batch has room for \(capacity) operations.")
        return withExtendedLifetime(log.segments) {
            fetch(pointers, log.segments)
            return find(pointers, in: log, log.segments)
        }
    }

    @inline(__always)
    private func find(
        _ pointers: UnsafeBufferPointer<RecordPointer>, in log: LogSnapshot,
        _ segments: SegmentTable
    ) -> Int {
        var segment: Unmanaged<Segment>?
        var (number, count) = (UInt32.max, 0)
        while count < pointers.count {
            let pointer = pointers[count]
            if pointer.position.segment != number {
                number = pointer.position.segment
                segment = segments.reference(number)
            }
            let rest = UnsafeBufferPointer(rebasing: pointers[count...])
            let more =
                segment?._withUnsafeGuaranteedRef { $0.find(rest, into: found + count) } ?? 0
            count += more
            guard more == 0 else { continue }
            // The operation is in a base file, not yet verified, a delta, or damaged.
            guard !pointer.isDelta, let operation = try? log.newestOperation(at: pointer) else {
                break
            }
            (found + count).initialize(
                to: StoredBytes(
                    key: operation.key, payload: operation.payload,
                    pointer: pointer.position.rawValue))
            count += 1
        }
        return count
    }

    /// Loads bytes at all positions before any is parsed, so that cache misses overlap.
    @inline(__always)
    private func fetch(_ pointers: UnsafeBufferPointer<RecordPointer>, _ segments: SegmentTable) {
        var (start, sum) = (0, UInt64(0))
        while start < pointers.count {
            let rest = UnsafeBufferPointer(rebasing: pointers[start...])
            let more = segments.reference(rest[0].position.segment)?
                ._withUnsafeGuaranteedRef { $0.fetch(rest, &sum) }
            start += max(more ?? 1, 1)
        }
        trace &+= sum
    }
}
