package import SheafQuery
import SheafSync
package import SheafSystem

/// Evaluation budgets by peer key, which limit the cost of peers' queries.
///
/// The budget of a peer is refilled as time passes. A peer that exceeds it is disconnected, so no
/// peer can occupy the thread that serves all of them.
package struct EvaluationBudgets {
    /// The evaluation budget of one peer.
    private struct Budget {
        let meter: EvaluationMeter
        /// The time at which the budget was last refilled.
        var filledAt: UInt64
    }

    /// Maximum number of units in a budget, and number added per second.
    private struct Rate {
        let maximum: Int
        let perSecond: Int

        init(isRestricted: Bool) {
            maximum =
                SyncLimits.evaluationUnits * (isRestricted ? 1 : SyncLimits.unrestrictedFactor)
            perSecond =
                SyncLimits.evaluationUnitsPerSecond
                * (isRestricted ? 1 : SyncLimits.unrestrictedFactorPerSecond)
        }
    }

    /// Maximum number of budgets; beyond it those that are at least half full are discarded.
    package static let maximumCount = 1_024

    private let slice: EvaluationSlice
    private let stop: EvaluationStop
    private var budgets: [[UInt8]: Budget] = [:]

    package init(_ slice: EvaluationSlice, until stop: EvaluationStop) {
        (self.slice, self.stop) = (slice, stop)
    }

    /// Returns the units left in the budget of a peer; nil if no budget is kept for it.
    package func units(of key: [UInt8]) -> Int? { budgets[key]?.meter.units }

    /// Returns the meter of a peer; a peer without a key gets one that is not kept.
    package mutating func meter(
        of key: [UInt8]?, isRestricted: Bool, at now: UInt64
    ) -> EvaluationMeter {
        let rate = Rate(isRestricted: isRestricted)
        guard let key else { return EvaluationMeter(rate.maximum, slice: slice, stop: stop) }
        if let budget = budgets[key] { return budget.meter }
        if budgets.count >= Self.maximumCount {
            budgets = budgets.filter { $0.value.meter.units < rate.maximum / 2 }
        }
        let meter = EvaluationMeter(rate.maximum, slice: slice, stop: stop)
        budgets[key] = Budget(meter: meter, filledAt: now)
        return meter
    }

    /// Refills the budget of a peer for the time since the last refill.
    package mutating func fill(_ key: [UInt8]?, isRestricted: Bool, at now: UInt64) {
        guard let key, let budget = budgets[key] else { return }
        let rate = Rate(isRestricted: isRestricted)
        let elapsed = now - min(now, budget.filledAt)
        let milliseconds = Int(min(elapsed, 1 << 40) / 1_000_000)
        guard milliseconds > 0 else { return }
        let (units, isTooMuch) = (rate.perSecond / 1_000).multipliedReportingOverflow(
            by: milliseconds)
        budget.meter.add(isTooMuch ? rate.maximum : units, maximum: rate.maximum)
        // The rest of a millisecond counts in the next refill.
        budgets[key]?.filledAt = now - elapsed % 1_000_000
    }
}
