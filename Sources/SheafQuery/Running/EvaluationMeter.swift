package import SheafDocument
import Synchronization

/// The cost that the expressions of a remote peer may have, counted down while they are evaluated.
///
/// A unit is about ten nanoseconds: a byte that a function reads or makes, or a part of a comparison. The
/// count depends on the expressions and the values alone, never on a clock.
package final class EvaluationMeter: Sendable {
    private let rest: Atomic<Int>
    private let stop: EvaluationStop?

    package init(_ units: Int, stop: EvaluationStop? = nil) {
        rest = Atomic(units)
        self.stop = stop
    }

    /// Whether more was evaluated than there were units for.
    package var isExhausted: Bool { rest.load(ordering: .relaxed) < 0 }

    /// The units that are left.
    package var units: Int { rest.load(ordering: .relaxed) }

    /// Adds units, up to a maximum.
    package func add(_ units: Int, maximum: Int) {
        let (sum, isTooMuch) = self.units.addingReportingOverflow(units)
        rest.store(isTooMuch ? maximum : min(sum, maximum), ordering: .relaxed)
    }

    /// Uses up units; throws where there are none left, or the evaluation has to stop.
    package func charge(_ units: Int) throws(QueryError) {
        // One thread at a time evaluates, so the two steps need not be one.
        let left = rest.load(ordering: .relaxed).subtractingReportingOverflow(units).partialValue
        rest.store(left, ordering: .relaxed)
        guard left >= 0 else {
            throw QueryError(.limit, "the queries cost more than their evaluation may")
        }
        if let stop, stop.isSet { throw QueryError(.cancelled, "the evaluation was stopped") }
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

/// A flag that ends the evaluation of remote expressions from another thread.
package final class EvaluationStop: Sendable {
    private let flag = Atomic<Bool>(false)

    package init() {}

    /// Whether evaluation has to end.
    package var isSet: Bool { flag.load(ordering: .relaxed) }

    /// Ends evaluation.
    package func set() {
        flag.store(true, ordering: .relaxed)
    }
}
