import SheafBytes
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
            maximum =
                SyncLimits.evaluationUnits * (isRestricted ? 1 : SyncLimits.unrestrictedFactor)
            perSecond =
                SyncLimits.evaluationUnitsPerSecond
                * (isRestricted ? 1 : SyncLimits.unrestrictedFactorPerSecond)
        }
    }

    /// More budgets are not kept, but those that are not full.
    private static let mostBudgets = 1_024

    /// Returns the meter of the other side; a new connection does not fill it up.
    func meter(of link: Link) -> EvaluationMeter {
        let rate = Rate(isRestricted: link.rights != nil)
        guard let key = link.session.remote?.peerKey else {
            return EvaluationMeter(rate.maximum, slice: slice, stop: evaluationStop)
        }
        if let budget = budgets[key] { return budget.meter }
        if budgets.count >= Self.mostBudgets {
            budgets = budgets.filter { $0.value.meter.units < rate.maximum / 2 }
        }
        let meter = EvaluationMeter(rate.maximum, slice: slice, stop: evaluationStop)
        budgets[key] = Budget(meter: meter, filledAt: now)
        return meter
    }

    /// Returns the units left in the budget of a peer; nil if the budget is full.
    package func evaluationUnits(of key: [UInt8]) -> Int? { budgets[key]?.meter.units }

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

    /// Ends a connection because of a query that the other side subscribes to, and quotes its beginning.
    func fail(_ link: Link, rejecting text: String, because error: QueryError) {
        guard error.reason != .limit else { return fail(link, .limit, error.message) }
        fail(link, .refused, "\(error.message) (in the subscription \(text.shortened))")
    }

    /// Ends a connection because what the other side subscribes to cannot be read, or costs too much.
    func failTelling(_ link: Link, _ error: EngineError) {
        guard link.telling?.matcher.meter?.isExhausted != true else {
            return fail(
                link, .limit,
                "the queries of the subscription cost more than a peer may use up "
                    + "(evaluation budget)")
        }
        switch error {
        case .evaluation(let error) where error.reason == .cancelled:
            fail(link, .done, "the peer stops")
        case .evaluation(let error) where error.reason == .limit:
            fail(link, .limit, "the subscription cannot be evaluated: \(error.message)")
        case .evaluation(let error) where error.reason != .damaged:
            fail(link, .refused, "the subscription cannot be evaluated: \(error.message)")
        default: failReading(link, error)
        }
    }

    /// Ends a connection because documents cannot be read; the text names no document and no file, of which the other
    /// side may not know.
    func failReading(_ link: Link, _ error: EngineError) {
        queries.log?.write(.error, "documents cannot be read for a peer: \(error)")
        let text =
            switch error {
            case .damaged: "the store cannot be read: a document is damaged"
            case .evaluation(let error) where error.reason == .damaged:
                "the store cannot be read: a document is damaged"
            case .evaluation: "a subscription of this side cannot be evaluated"
            default: "the store cannot be read: a file failed"
            }
        fail(link, .failed, text)
    }
}
