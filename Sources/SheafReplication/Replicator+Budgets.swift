import SheafBytes
import SheafDocument
import SheafEngine
import SheafQuery
import SheafStatements
import SheafSync

/// Evaluation budgets, which limit the cost of peers' queries.
///
/// The budget of a peer is refilled as time passes. A peer that exceeds it is disconnected, so no
/// peer can occupy the thread that serves all of them.
extension Replicator {
    /// The evaluation budget of one peer.
    struct Budget {
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
    private static let maximumBudgets = 1_024

    /// Returns the evaluation meter of the peer; a new connection does not refill it.
    func meter(of connection: Connection) -> EvaluationMeter {
        let rate = Rate(isRestricted: connection.rights != nil)
        guard let key = connection.session.remote?.peerKey else {
            return EvaluationMeter(rate.maximum, slice: slice, stop: evaluationStop)
        }
        if let budget = budgets[key] { return budget.meter }
        if budgets.count >= Self.maximumBudgets {
            budgets = budgets.filter { $0.value.meter.units < rate.maximum / 2 }
        }
        let meter = EvaluationMeter(rate.maximum, slice: slice, stop: evaluationStop)
        budgets[key] = Budget(meter: meter, filledAt: now)
        return meter
    }

    /// Returns the units left in the budget of a peer; nil if the budget is full.
    package func evaluationUnits(of key: [UInt8]) -> Int? { budgets[key]?.meter.units }

    /// Refills the budget of the peer for the time since the last refill.
    func fillBudget(of connection: Connection) {
        guard let key = connection.session.remote?.peerKey, let budget = budgets[key] else {
            return
        }
        let rate = Rate(isRestricted: connection.rights != nil)
        let milliseconds = Int(min(now - min(now, budget.filledAt), 1 << 40) / 1_000_000)
        guard milliseconds > 0 else { return }
        let (units, isTooMuch) = (rate.perSecond / 1_000).multipliedReportingOverflow(
            by: milliseconds)
        budget.meter.add(isTooMuch ? rate.maximum : units, maximum: rate.maximum)
        budgets[key]?.filledAt = now
    }

    /// Ends a connection because of an invalid query, and quotes the start of the query.
    func fail(_ connection: Connection, rejecting text: String, because error: QueryError) {
        guard error.reason != .limit else { return fail(connection, .limit, error.message) }
        fail(connection, .refused, "\(error.message) (in the subscription \(text.shortened))")
    }

    /// Ends a connection because its subscription cannot be evaluated or costs too much.
    func failSending(_ connection: Connection, _ error: EngineError) {
        guard connection.sender?.matcher.meter?.isExhausted != true else {
            return fail(
                connection, .limit,
                "the queries of the subscription exceed the evaluation budget "
                    + "of a peer")
        }
        switch error {
        case .evaluation(let error) where error.reason == .cancelled:
            fail(connection, .done, "the peer stops")
        case .evaluation(let error) where error.reason == .limit:
            fail(connection, .limit, "the subscription cannot be evaluated: \(error.message)")
        case .evaluation(let error) where error.reason != .damaged:
            fail(connection, .refused, "the subscription cannot be evaluated: \(error.message)")
        default: failReading(connection, error)
        }
    }

    /// Ends a connection because documents cannot be read.
    ///
    /// The text names no document and no file, since the peer may not know of them.
    func failReading(_ connection: Connection, _ error: EngineError) {
        queries.log?.write(.error, "cannot read documents for a peer: \(error)")
        let text =
            switch error {
            case .damaged: "the store cannot be read: a document is damaged"
            case .evaluation(let error) where error.reason == .damaged:
                "the store cannot be read: a document is damaged"
            case .evaluation: "a subscription of this peer cannot be evaluated"
            default: "the store cannot be read: an I/O error occurred"
            }
        fail(connection, .failed, text)
    }
}
