package import SheafDocument
package import SheafSystem
import Synchronization

/// The remaining evaluation budget for queries of a remote peer.
///
/// A unit is about ten nanoseconds, such as one byte that a function reads or writes. The cost
/// depends only on the expressions and values, never on a clock.
package final class EvaluationMeter: Sendable {
    private let remaining: Atomic<Int>
    /// Units left for the current evaluation.
    private let allowance = Atomic<Int>(.max)
    private let slice: EvaluationSlice?
    private let stop: EvaluationStop?
    /// Whether the meter only counts units and never runs out.
    private let isUnlimited: Bool

    package init(_ units: Int, slice: EvaluationSlice? = nil, stop: EvaluationStop? = nil) {
        remaining = Atomic(units)
        isUnlimited = false
        (self.slice, self.stop) = (slice, stop)
    }

    private init(stop: EvaluationStop?) {
        remaining = Atomic(.max)
        isUnlimited = true
        (slice, self.stop) = (nil, stop)
    }

    /// Creates a meter that only counts units; only `stop` ends an evaluation.
    package static func unlimited(stop: EvaluationStop?) -> EvaluationMeter {
        EvaluationMeter(stop: stop)
    }

    /// Number of units counted by an unlimited meter.
    package var counted: Int { .max - units }

    /// Whether the budget is exceeded, and not only used up.
    package var isExhausted: Bool { remaining.load(ordering: .relaxed) < 0 }

    /// Units left in the budget; negative if it is exceeded.
    package var units: Int { remaining.load(ordering: .relaxed) }

    /// Whether the current slice is used up, so that evaluation must continue in a later turn.
    package var isTurnOver: Bool { slice?.isOver ?? false }

    /// Adds units to the budget, up to a maximum.
    package func add(_ units: Int, maximum: Int) {
        let (sum, isTooMuch) = self.units.addingReportingOverflow(units)
        remaining.store(isTooMuch ? maximum : min(sum, maximum), ordering: .relaxed)
    }

    /// Subtracts units that another meter has counted.
    package func use(_ units: Int) { _ = Self.lower(remaining, by: units) }

    /// Begins an evaluation that may use at most `limit` units and does not yield.
    package func begin(limit: Int) {
        guard !isUnlimited else { return }
        allowance.store(limit, ordering: .relaxed)
    }

    /// Charges the slice, but not the budget, for reading a document.
    package func countVisit() { slice?.charge(EvaluationSlice.visitUnits) }

    /// Consumes units; throws if a limit is exceeded or the evaluation was stopped.
    package func charge(_ units: Int) throws(StoreError) {
        let left = Self.lower(remaining, by: units)
        guard !isUnlimited else { return try checkStop() }
        let allowed = Self.lower(allowance, by: units)
        slice?.charge(units)
        guard left >= 0 else {
            throw StoreError(.limit, "the evaluation budget of the queries is exhausted")
        }
        guard allowed >= 0 else {
            throw StoreError(.limit, "a query exceeds the evaluation budget for one document")
        }
        try checkStop()
    }

    /// Throws if the evaluation was stopped, regardless of the budget.
    @inline(__always)
    package func checkStop() throws(StoreError) { try stop?.check() }

    // Only one thread evaluates at a time, so the load and store need not be atomic together.
    @inline(__always)
    private static func lower(_ count: borrowing Atomic<Int>, by units: Int) -> Int {
        let (left, isTooLow) = count.load(ordering: .relaxed).subtractingReportingOverflow(units)
        let new = isTooLow ? .min : left
        count.store(new, ordering: .relaxed)
        return new
    }

    /// Charges the cost of reading or computing values.
    package func charge(_ values: some Sequence<Value?>) throws(StoreError) {
        try charge(values.reduce(8) { $0 + Self.cost(of: $1) })
    }

    /// Charges the cost of matching a string with a pattern of `length` bytes.
    package func charge(pattern length: Int, on text: String) throws(StoreError) {
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

/// The evaluation budget for all peers during one turn of the replication thread.
///
/// When it is used up, evaluation pauses at the next document or query and continues in a later
/// turn, so that other connections are served in between.
package final class EvaluationSlice: Sendable {
    /// Units for reading a document and its version, about half a microsecond.
    package static let visitUnits = 50

    private let units: Int
    private let remaining: Atomic<Int>
    private let most = Atomic<Int>(0)
    private let usedBefore = Atomic<Int>(0)

    package init(_ units: Int) {
        precondition(units > Self.visitUnits, "Each turn visits a document and evaluates a query.")
        self.units = units
        remaining = Atomic(units)
    }

    /// Whether the turn must not begin more evaluations.
    package var isOver: Bool { remaining.load(ordering: .relaxed) <= 0 }

    /// Number of units used by the longest turn.
    package var longestTurn: Int {
        max(most.load(ordering: .relaxed), units - remaining.load(ordering: .relaxed))
    }

    /// Number of units used by all turns.
    package var used: Int {
        usedBefore.load(ordering: .relaxed) + units - remaining.load(ordering: .relaxed)
    }

    /// Begins a turn with a full budget.
    package func refill() {
        most.store(longestTurn, ordering: .relaxed)
        usedBefore.store(used, ordering: .relaxed)
        remaining.store(units, ordering: .relaxed)
    }

    /// Charges units to the current turn.
    package func charge(_ units: Int) {
        let left = remaining.load(ordering: .relaxed)
        remaining.store(left - min(units, 1 << 40), ordering: .relaxed)
    }
}

extension EvaluationStop {
    /// Throws if the evaluation was stopped.
    @inline(__always)
    package func check() throws(StoreError) {
        guard isSet else { return }
        throw StoreError(.cancelled, "the evaluation was stopped")
    }
}
