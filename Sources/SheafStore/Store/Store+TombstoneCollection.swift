import SheafDocument
import SheafEngine
import SheafStatements
import SheafStorage
import SheafSystem
import Synchronization

/// The schedule of tombstone collection: after the first write, then at most every few days.
///
/// Only writes create tombstones, so only writes trigger their collection: a store that is only
/// read needs no thread that waits for days.
package final class TombstoneCollectionClock: Sendable {
    private let next = Atomic<UInt64>(0)
    private static let dayMilliseconds: UInt64 = 86_400_000

    package init() {}

    /// Whether collection is due; if so, postpones the next one by `days`.
    package func isDue(at milliseconds: UInt64, days: Int64) -> Bool {
        let due = next.load(ordering: .relaxed)
        let wait = UInt64(clamping: min(max(days, 1), 36_500)) * Self.dayMilliseconds
        // If the clock was set back, the stored time of the next collection means nothing.
        guard milliseconds >= due || due - milliseconds > wait else { return false }
        return next.compareExchange(
            expected: due, desired: milliseconds + wait, ordering: .relaxed
        ).exchanged
    }
}

extension Store {
    /// Collects attachments and tombstones in the background, if due.
    func collectGarbageIfDue() {
        collectAttachmentsIfDue()
        let parameters = queries.parameters.values
        guard parameters.collectsTombstones,
            tombstoneClock.isDue(
                at: queries.options.clock.wallMilliseconds(),
                days: parameters.collectionIntervalDays),
            // Usually there is no tombstone, and a task could keep a released store alive.
            queries.documents.hasTombstones
        else { return }
        Task { [weak self] in
            do {
                try await self?.runTombstoneCollection()
            } catch {
                self?.queries.log?.write(.warning, "tombstone collection failed: \(error)")
            }
        }
    }

    /// Removes tombstones older than `tombstone_ttl_hours`; returns their number.
    ///
    /// Collection also runs automatically after writes, at most every `days_between_reaping` days.
    /// A peer that has not received the deletion by then brings the document back.
    @discardableResult
    public nonisolated(nonsending) func collectTombstones() async throws -> Int {
        try checkNesting { "tombstone collection" }
        return try await runTombstoneCollection()
    }

    @discardableResult
    private nonisolated(nonsending) func runTombstoneCollection() async throws -> Int {
        var total = 0
        while true {
            let parameters = queries.parameters.values
            let age = parameters.tombstoneLifetimeMilliseconds
            let now = queries.options.clock.wallMilliseconds()
            guard now > age else { return total }
            try await enter("tombstone collection")
            let report = try collectTombstoneBatch(
                before: now - age, limit: parameters.tombstoneBatchSize)
            if let commit = report.commit { try await waitForDurability(of: commit) }
            total += report.count
            guard report.isPartial, report.count > 0 else { break }
        }
        if total > 0 {
            queries.log?.write(
                .info, "removed expired tombstones", ["count": "\(total)"])
        }
        return total
    }

    private func collectTombstoneBatch(before time: UInt64, limit: Int) throws(StoreError)
        -> TombstoneCollectionReport
    {
        defer { leave() }
        let log = try log
        do throws(EngineError) {
            return try queries.documents.collectTombstones(before: time, limit: limit) {
                (batch) throws(StorageError) in try log.append(batch)
            }
        } catch {
            throw StoreError(error)
        }
    }
}
