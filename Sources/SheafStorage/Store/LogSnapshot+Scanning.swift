package import SheafBytes
import Synchronization

/// In which order a scan comes to places.
package enum PlaceOrder: Sendable {
    case ascending
    case descending
    /// Whatever is fastest: for many of them, the order in which they lie in the log.
    case any
}

extension LogSnapshot {
    /// Calls `body` with the places of the keys in a range, some at a time and soon more, until it
    /// returns false.
    package func forEachPlaces<Failure: Error>(
        in range: KeyRange, _ order: PlaceOrder,
        _ body: (UnsafeBufferPointer<Place>) throws(Failure) -> Bool
    ) throws(Failure) {
        let expected = tree.count(in: range)
        if order == .any, PlaceBatch.leastSorted...PlaceBatch.sortedTogether ~= expected {
            let batch = logOrders.batch(of: range) ?? keepLogOrder(of: range, expected)
            _ = try body(batch.places)
            return
        }
        let batch = PlaceBatch(expected, isOrdered: order != .any)
        guard try fill(batch, from: range, order, body) else { return }
        batch.sortIfWanted()
        _ = try body(batch.places)
    }

    /// Puts the places of a range into a batch, and shows the batch to `body` as often as it is full;
    /// false when no more are wanted.
    @inline(__always)
    private func fill<Failure: Error>(
        _ batch: PlaceBatch, from range: KeyRange, _ order: PlaceOrder,
        _ body: (UnsafeBufferPointer<Place>) throws(Failure) -> Bool
    ) throws(Failure) -> Bool {
        var goesOn = true
        try tree.forEachValues(in: range, reversed: order == .descending) {
            (values) throws(Failure) in
            var next = 0
            while next < values.count {
                if batch.isFull {
                    batch.sortIfWanted()
                    goesOn = try body(batch.places)
                    guard goesOn else { return false }
                    batch.removeAll()
                }
                next = batch.append(values, from: next)
            }
            return true
        }
        return goesOn
    }

    /// The places of a range in the order of the log, for this scan and those that follow.
    private func keepLogOrder(of range: KeyRange, _ expected: Int) -> PlaceBatch {
        let batch = PlaceBatch(expected, isOrdered: false)
        _ = fill(batch, from: range, .any) { _ in false }
        batch.sortIfWanted()
        logOrders.keep(batch, of: range)
        return batch
    }
}

/// The places of large ranges in the order of the log, as long as the state that they are of is the
/// newest: to sort them again would take a quarter of each scan.
final class LogOrders: Sendable {
    private struct Order: Sendable {
        let range: KeyRange
        // Nobody changes it any more.
        nonisolated(unsafe) let batch: PlaceBatch
    }

    private let orders = Mutex<[Order]>([])

    /// A store that is scanned in many ways forgets how it was scanned first.
    private static let most = 8
    private static let mostPlaces = PlaceBatch.sortedTogether

    func batch(of range: KeyRange) -> PlaceBatch? {
        orders.withLock { orders in orders.first { $0.range == range } }?.batch
    }

    func keep(_ batch: PlaceBatch, of range: KeyRange) {
        let order = Order(range: range, batch: batch)
        orders.withLock { orders in
            orders.append(order)
            var places = orders.reduce(0) { $0 + $1.batch.places.count }
            while orders.count > Self.most || orders.count > 1 && places > Self.mostPlaces {
                places -= orders.removeFirst().batch.places.count
            }
        }
    }
}
