package import SheafDocument

/// The state of an aggregate for one group.
///
/// DISTINCT retains all distinct values, except in MIN and MAX, and MEDIAN and MID retain all
/// numbers. Other aggregates have a state of constant size.
package struct Aggregate: Sendable {
    private enum State {
        case count(Int64)
        case sum(NumberSum)
        case mean(NumberSum)
        case minimum(Value?)
        case greatest(Value?)
        /// All numbers; the result is their median if `isMean`, and otherwise the lower middle
        /// number.
        case middle(NumberList, isMean: Bool)
    }

    private let kind: AggregateKind
    private var state: State
    /// Distinct values added so far; nil if duplicates need not be found.
    private var seen: Set<Value>?

    package init(_ kind: AggregateKind, isDistinct: Bool = false) {
        self.kind = kind
        state =
            switch kind {
            case .count: .count(0)
            case .sum: .sum(NumberSum())
            case .avg: .mean(NumberSum())
            case .min: .minimum(nil)
            case .max: .greatest(nil)
            case .median: .middle(NumberList(), isMean: true)
            case .mid: .middle(NumberList(), isMean: false)
            }
        // MIN and MAX ignore duplicates anyway.
        seen = isDistinct && kind != .min && kind != .max ? [] : nil
    }

    /// Counts a row for `COUNT(*)`.
    package mutating func addRow() { addRows(1) }

    /// Counts rows for `COUNT(*)` without their values.
    package mutating func addRows(_ added: Int) {
        if case .count(let count) = state { state = .count(count + Int64(added)) }
    }

    /// Adds the value of the next row.
    ///
    /// All aggregates ignore null and missing values, COUNT ignores false, and numeric aggregates
    /// ignore values other than numbers.
    package mutating func add(_ value: Value?) {
        guard let value, value.kind != .null, includes(value) else { return }
        if seen != nil { return recordDistinct(value) }
        switch state {
        case .count(let count):
            state = .count(count + 1)
        case .sum(var sum):
            sum.add(value)
            state = .sum(sum)
        case .mean(var sum):
            sum.add(value)
            state = .mean(sum)
        case .minimum(let least):
            if least.map({ value < $0 || Self.stands(value, for: $0) }) ?? true {
                state = .minimum(value)
            }
        case .greatest(let greatest):
            if greatest.map({ value > $0 || Self.stands(value, for: $0) }) ?? true {
                state = .greatest(value)
            }
        case .middle(var numbers, let isMean):
            // The temporary state releases the list, so that `add` does not copy it.
            state = .count(0)
            numbers.add(value)
            state = .middle(numbers, isMean: isMean)
        }
    }

    /// Records a distinct value in its canonical form.
    private mutating func recordDistinct(_ value: Value) {
        guard let index = seen?.firstIndex(of: value), let known = seen?[index] else {
            seen?.insert(value)
            return
        }
        if ValueForm.precedes(value, known) { seen?.update(with: value) }
    }

    /// Whether `value` is the canonical form of two equal values, independent of the row order.
    private static func stands(_ value: Value, for other: Value) -> Bool {
        ValueForm.precedes(value, other) && value == other
    }

    /// Whether the aggregate does not ignore a value that is not null.
    private func includes(_ value: Value) -> Bool {
        switch state {
        case .count: value != .bool(false)
        case .minimum, .greatest: true
        case .sum, .mean, .middle: value.kind == .number
        }
    }

    /// Returns the aggregate; without values, zero for COUNT and MISSING for the others.
    package func result() -> Value? {
        if let seen {
            // Values are sorted, because the sum of floats depends on their order.
            var plain = Aggregate(kind)
            for value in kind == .count ? Array(seen) : seen.sorted() { plain.add(value) }
            return plain.result()
        }
        return switch state {
        case .count(let count): .integer(count)
        case .sum(let sum): sum.total
        case .mean(let sum): sum.mean
        case .minimum(let value), .greatest(let value): value
        case .middle(let numbers, isMean: true): numbers.median
        case .middle(let numbers, isMean: false): numbers.lowerMiddle
        }
    }
}
