import SheafStorage
import Synchronization

/// When tombstones are looked through: with the first write, and every few days from then on.
///
/// Only what writes makes tombstones, and so writing is when somebody looks after them: a store that is
/// only read has no thread that waits for days.
final class ReapingClock: Sendable {
    private let next = Atomic<UInt64>(0)
    private static let dayMilliseconds: UInt64 = 86_400_000

    /// Whether it is time; if so, it will be again after some days.
    func isDue(at milliseconds: UInt64, days: Int64) -> Bool {
        let due = next.load(ordering: .relaxed)
        let wait = UInt64(clamping: min(max(days, 1), 36_500)) * Self.dayMilliseconds
        // A clock that was set back says nothing about when tombstones were looked through last.
        guard milliseconds >= due || due - milliseconds > wait else { return false }
        return next.compareExchange(
            expected: due, desired: milliseconds + wait, ordering: .relaxed
        ).exchanged
    }
}

extension Store {
    /// Looks after tombstones, where that is due, beside the caller.
    func reapIfDue() {
        collectIfDue()
        let parameters = queries.parameters.values
        guard parameters.reapsTombstones,
            reaping.isDue(
                at: queries.options.clock.wallMilliseconds(), days: parameters.reapingDays),
            // Mostly there are none, and a task would keep a store that is dropped just then.
            queries.documents.hasTombstones
        else { return }
        Task { [weak self] in
            do {
                try await self?.reap()
            } catch {
                self?.queries.log?.write(.warning, "tombstones were not looked through: \(error)")
            }
        }
    }

    /// Takes away what is left of documents that were deleted longer ago than `tombstone_ttl_hours`
    /// says; returns how many there were.
    ///
    /// It is done by itself with the first write, and every `days_between_reaping`. A peer that has not
    /// heard of a deletion by then brings the document back.
    @discardableResult
    public nonisolated(nonsending) func reapTombstones() async throws -> Int {
        try checkNesting { "the reaping of tombstones" }
        return try await reap()
    }

    @discardableResult
    private nonisolated(nonsending) func reap() async throws -> Int {
        var total = 0
        while true {
            let parameters = queries.parameters.values
            let age = parameters.tombstoneMilliseconds
            let now = queries.options.clock.wallMilliseconds()
            guard now > age else { return total }
            try await enter("removing tombstones")
            let report = try reapSome(before: now - age, limit: parameters.reapingBatch)
            if let commit = report.commit { try await reachDurability(of: commit) }
            total += report.count
            guard report.isPartial, report.count > 0 else { break }
        }
        if total > 0 {
            queries.log?.write(
                .info, "tombstones were taken away", ["count": "\(total)"])
        }
        return total
    }

    private func reapSome(before time: UInt64, limit: Int) throws(StoreError) -> ReapingReport {
        defer { leave() }
        let log = try log
        do throws(EngineError) {
            return try queries.documents.reap(before: time, limit: limit) {
                (batch) throws(StorageError) in try log.append(batch)
            }
        } catch {
            throw StoreError(error)
        }
    }
}
