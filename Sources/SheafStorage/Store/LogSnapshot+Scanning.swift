package import SheafBytes
import Synchronization

/// The order in which a scan visits record pointers.
package enum RecordPointerOrder: Sendable {
    case ascending
    case descending
    /// The fastest order: log order for large ranges.
    case any
}

extension LogSnapshot {
    /// Calls `body` with batches of pointers to the keys in a range until it returns false.
    ///
    /// Batches start small and grow, except those in log order.
    package func forEachPointers<Failure: Error>(
        in range: KeyRange, _ order: RecordPointerOrder,
        _ body: (UnsafeBufferPointer<RecordPointer>) throws(Failure) -> Bool
    ) throws(Failure) {
        // The number of pointers decides only whether they are sorted.
        let expected = order == .any ? tree.count(in: range) : .max
        if order == .any,
            RecordPointerBatch.minimumSorted...RecordPointerBatch.sortedTogether ~= expected
        {
            let batch = logOrders.batch(of: range) ?? cacheLogOrder(of: range, expected)
            // The pointers are valid as long as the batch, which the cache may evict.
            defer { withExtendedLifetime(batch) {} }
            _ = try body(batch.pointers)
            return
        }
        let batch = RecordPointerBatch(expected, isOrdered: order != .any)
        defer { withExtendedLifetime(batch) {} }
        guard try fill(batch, from: range, order, body) else { return }
        batch.sortIfWanted()
        _ = try body(batch.pointers)
    }

    /// Fills a batch from a range and passes it to `body` each time it is full.
    ///
    /// Returns false if `body` has stopped the scan.
    @inline(__always)
    private func fill<Failure: Error>(
        _ batch: RecordPointerBatch, from range: KeyRange, _ order: RecordPointerOrder,
        _ body: (UnsafeBufferPointer<RecordPointer>) throws(Failure) -> Bool
    ) throws(Failure) -> Bool {
        var goesOn = true
        try tree.forEachValues(in: range, reversed: order == .descending) {
            (values) throws(Failure) in
            var next = 0
            while next < values.count {
                if batch.isFull {
                    batch.sortIfWanted()
                    goesOn = try body(batch.pointers)
                    guard goesOn else { return false }
                    batch.removeAll()
                }
                next = batch.append(values, from: next)
            }
            return true
        }
        return goesOn
    }

    /// Returns the pointers of a range in log order, and caches them for later scans.
    private func cacheLogOrder(of range: KeyRange, _ expected: Int) -> RecordPointerBatch {
        let batch = RecordPointerBatch(expected, isOrdered: false)
        _ = fill(batch, from: range, .any) { _ in false }
        batch.sortIfWanted()
        logOrders.cache(batch, of: range)
        return batch
    }
}

/// A cache of the record pointers of large ranges in log order, for one snapshot.
///
/// Sorting them again would take a quarter of each scan.
final class LogOrders: Sendable {
    private struct Order: Sendable {
        let range: KeyRange
        // The batch is immutable after the sort.
        nonisolated(unsafe) let batch: RecordPointerBatch
    }

    private let orders = Mutex<[Order]>([])

    /// The maximum number of cached ranges; the oldest is evicted.
    private static let maximumRanges = 8
    private static let maximumPointers = RecordPointerBatch.sortedTogether

    /// Returns the cached pointers of a range, or nil if it is not cached.
    func batch(of range: KeyRange) -> RecordPointerBatch? {
        orders.withLock { orders in orders.first { $0.range == range } }?.batch
    }

    /// Caches the orders of a newer snapshot, changed to those of an earlier one.
    ///
    /// `keys` are all that were written at a position or later, as they were before. Orders of
    /// index entries, which are not among the keys, are left out.
    func derive(from newer: LogOrders, before position: LogPosition, _ keys: [ChangedKey]) {
        for order in newer.ordersOfKeys {
            let earlier = keys.compactMap { key in
                order.range.contains(key.key) ? key.pointer : nil
            }
            let batch = RecordPointerBatch(
                order.batch.pointers, before: position, adding: earlier)
            if let batch { cache(batch, of: order.range) }
        }
    }

    /// Caches the orders of a snapshot that differs in its index entries alone.
    func adopt(_ other: LogOrders) {
        let same = other.ordersOfKeys
        orders.withLock { $0 = same }
    }

    /// The orders of ranges without index entries.
    private var ordersOfKeys: [Order] {
        orders.withLock { $0 }.filter { $0.range.intersection(Keyspace.present) == $0.range }
    }

    /// Caches the sorted pointers of a range, evicting the oldest entries beyond the limits.
    func cache(_ batch: RecordPointerBatch, of range: KeyRange) {
        let order = Order(range: range, batch: batch)
        orders.withLock { orders in
            orders.append(order)
            var pointers = orders.reduce(0) { $0 + $1.batch.pointers.count }
            while orders.count > Self.maximumRanges
                || orders.count > 1 && pointers > Self.maximumPointers
            {
                pointers -= orders.removeFirst().batch.pointers.count
            }
        }
    }
}
