package import SheafDocument
import Synchronization

/// The cost that the expressions of a remote peer may have, counted down while they are evaluated.
///
/// A unit is about ten nanoseconds: a byte that a function reads or makes, or a part of a comparison. The
/// count depends on the expressions and the values alone, never on a clock.
package final class EvaluationMeter: Sendable {
    private let rest: Atomic<Int>
    /// The units left for the evaluation that was begun last.
    private let allowance = Atomic<Int>(.max)
    private let slice: EvaluationSlice?
    private let stop: EvaluationStop?
    /// Whether the meter only counts units.
    private let isUnlimited: Bool

    package init(_ units: Int, slice: EvaluationSlice? = nil, stop: EvaluationStop? = nil) {
        rest = Atomic(units)
        isUnlimited = false
        (self.slice, self.stop) = (slice, stop)
    }

    private init(stop: EvaluationStop?) {
        rest = Atomic(.max)
        isUnlimited = true
        (slice, self.stop) = (nil, stop)
    }

    /// Creates a meter that only counts units; nothing but `stop` ends an evaluation.
    package static func unlimited(stop: EvaluationStop?) -> EvaluationMeter {
        EvaluationMeter(stop: stop)
    }

    /// Number of units counted by an unlimited meter.
    package var counted: Int { .max - units }

    /// Whether more was evaluated than there were units for.
    package var isExhausted: Bool { rest.load(ordering: .relaxed) < 0 }

    /// The units that are left.
    package var units: Int { rest.load(ordering: .relaxed) }

    /// Whether the turn of the loop is over, so that evaluation continues in the next one.
    package var isTurnOver: Bool { slice?.isOver ?? false }

    /// Adds units, up to a maximum.
    package func add(_ units: Int, maximum: Int) {
        let (sum, isTooMuch) = self.units.addingReportingOverflow(units)
        rest.store(isTooMuch ? maximum : min(sum, maximum), ordering: .relaxed)
    }

    /// Subtracts units that another meter has counted.
    package func use(_ units: Int) { _ = Self.lower(rest, by: units) }

    /// Begins an evaluation that cannot be interrupted, and may use up to `limit` units.
    package func begin(limit: Int) {
        guard !isUnlimited else { return }
        allowance.store(limit, ordering: .relaxed)
    }

    /// Counts work for a remote peer besides evaluation: it uses up the slice, and not the budget.
    package func countVisit() { slice?.charge(EvaluationSlice.visitUnits) }

    /// Uses up units; throws where there are none left, or the evaluation has to stop.
    package func charge(_ units: Int) throws(QueryError) {
        let left = Self.lower(rest, by: units)
        guard !isUnlimited else { return try checkStop() }
        let allowed = Self.lower(allowance, by: units)
        slice?.charge(units)
        guard left >= 0 else {
            throw QueryError(.limit, "the queries cost more than their evaluation may")
        }
        guard allowed >= 0 else {
            throw QueryError(.limit, "a query costs more on one document than its evaluation may")
        }
        try checkStop()
    }

    /// Throws where the evaluation has to end, whatever is left of the budget.
    @inline(__always)
    package func checkStop() throws(QueryError) { try stop?.check() }

    // One thread at a time evaluates, so loading and storing need not be one operation.
    @inline(__always)
    private static func lower(_ count: borrowing Atomic<Int>, by units: Int) -> Int {
        let (left, isTooLow) = count.load(ordering: .relaxed).subtractingReportingOverflow(units)
        let new = isTooLow ? .min : left
        count.store(new, ordering: .relaxed)
        return new
    }

    /// Uses up what it costs to read or make values.
    package func charge(_ values: some Sequence<Value?>) throws(QueryError) {
        try charge(values.reduce(8) { $0 + Self.cost(of: $1) })
    }

    /// Uses up what it costs to match a text with a pattern of so many bytes.
    package func charge(pattern length: Int, on text: String) throws(QueryError) {
        try charge(8 + text.utf8.count * (1 + length / 8))
    }

    private static func cost(of value: Value?) -> Int {
        switch value {
        case .string(let text)?: text.utf8.count
        case .array(let values)?: 16 * values.count
        case .object(let object)?: 16 * object.count
        default: 1
        }
    }
}

/// The evaluation that one turn of a peer's loop does for all other peers together.
///
/// Where it is over, what was begun stops at the next document or query and continues in a later turn, so that
/// events of other connections are handled in between.
package final class EvaluationSlice: Sendable {
    /// Units for reaching a document and its version: about half a microsecond.
    package static let visitUnits = 50

    private let units: Int
    private let rest: Atomic<Int>
    private let most = Atomic<Int>(0)
    private let usedBefore = Atomic<Int>(0)

    package init(_ units: Int) {
        precondition(units > Self.visitUnits, "Each turn visits a document and evaluates a query.")
        self.units = units
        rest = Atomic(units)
    }

    /// Whether nothing more is begun in this turn.
    package var isOver: Bool { rest.load(ordering: .relaxed) <= 0 }

    /// The units that the longest turn so far has used.
    package var longestTurn: Int {
        max(most.load(ordering: .relaxed), units - rest.load(ordering: .relaxed))
    }

    /// Number of units used by all turns so far.
    package var used: Int {
        usedBefore.load(ordering: .relaxed) + units - rest.load(ordering: .relaxed)
    }

    /// Begins a turn.
    package func refill() {
        most.store(longestTurn, ordering: .relaxed)
        usedBefore.store(used, ordering: .relaxed)
        rest.store(units, ordering: .relaxed)
    }

    /// Subtracts units from those left for the turn.
    package func charge(_ units: Int) {
        let left = rest.load(ordering: .relaxed)
        rest.store(left - min(units, 1 << 40), ordering: .relaxed)
    }
}

/// A flag that ends the evaluation of remote expressions from another thread.
package final class EvaluationStop: Sendable {
    private let flag = Atomic<Bool>(false)

    package init() {}

    /// Whether evaluation has to end.
    package var isSet: Bool { flag.load(ordering: .relaxed) }

    /// Throws where evaluation has to end.
    @inline(__always)
    package func check() throws(QueryError) {
        guard isSet else { return }
        throw QueryError(.cancelled, "the evaluation was stopped")
    }

    /// Ends evaluation.
    package func set() {
        flag.store(true, ordering: .relaxed)
    }
}
