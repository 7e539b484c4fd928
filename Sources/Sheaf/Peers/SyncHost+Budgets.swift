import SheafDocument
import SheafQuery
import SheafSync

/// What the queries of other peers may cost this one.
///
/// Each peer has a budget for the evaluation of its queries, which fills up as time passes. A peer that uses
/// up more is disconnected: so one peer cannot occupy the thread that serves all of them.
extension SyncHost {
    /// The budget of one peer.
    struct Budget {
        let meter: EvaluationMeter
        /// When it was filled up last.
        var filledAt: UInt64
    }

    /// Units that a peer can use up at once, and those added each second.
    private struct Rate {
        let maximum: Int
        let perSecond: Int

        init(isRestricted: Bool) {
            let factor = isRestricted ? 1 : SyncLimits.unrestrictedFactor
            maximum = factor * SyncLimits.evaluationUnits
            perSecond = factor * SyncLimits.evaluationUnitsPerSecond
        }
    }

    /// More budgets are not kept, but those that are not full.
    private static let mostBudgets = 1_024

    /// Returns the meter of the other side; a new connection does not fill it up.
    func meter(of link: Link) -> EvaluationMeter {
        let rate = Rate(isRestricted: link.rights != nil)
        guard let key = link.session.remote?.peerKey else {
            return EvaluationMeter(rate.maximum, stop: evaluationStop)
        }
        if let budget = budgets[key] { return budget.meter }
        if budgets.count >= Self.mostBudgets {
            budgets = budgets.filter { $0.value.meter.units < rate.maximum / 2 }
        }
        let meter = EvaluationMeter(rate.maximum, stop: evaluationStop)
        budgets[key] = Budget(meter: meter, filledAt: now)
        return meter
    }

    /// Adds what a peer may use up since the last time.
    func fillBudget(of link: Link) {
        guard let key = link.session.remote?.peerKey, let budget = budgets[key] else { return }
        let rate = Rate(isRestricted: link.rights != nil)
        let milliseconds = Int(min(now - min(now, budget.filledAt), 1 << 40) / 1_000_000)
        guard milliseconds > 0 else { return }
        let (units, isTooMuch) = (rate.perSecond / 1_000).multipliedReportingOverflow(
            by: milliseconds)
        budget.meter.add(isTooMuch ? rate.maximum : units, maximum: rate.maximum)
        budgets[key]?.filledAt = now
    }

    /// Ends a conversation because what the other side wants cannot be read, or costs too much.
    func failTelling(_ link: Link) {
        guard link.telling?.matcher.meter?.isExhausted ?? false else {
            return fail(link, .failed, "the store cannot be read")
        }
        fail(
            link, .limit,
            "the queries of the subscription cost more than a peer may use up (evaluation budget)")
    }
}
