package import SheafDocument

/// What is computed over many rows; the raw values are the names in lower case.
package enum AggregateKind: String, CaseIterable, Sendable {
    case count, sum, avg, min, max, median, mid
}

/// One aggregate on its way through the rows of a group.
///
/// DISTINCT keeps all values that it has met, MEDIAN and MID all numbers; the others keep one value.
package struct Aggregate: Sendable {
    private enum State {
        case count(Int64)
        case sum(NumberSum)
        case mean(NumberSum)
        case least(Value?)
        case greatest(Value?)
        /// All numbers, and what is asked of them.
        case middle(NumberList, isMean: Bool)
    }

    private let kind: AggregateKind
    private var state: State
    /// What has come already, where only distinct values count.
    private var seen: Set<Value>?

    package init(_ kind: AggregateKind, isDistinct: Bool = false) {
        self.kind = kind
        state =
            switch kind {
            case .count: .count(0)
            case .sum: .sum(NumberSum())
            case .avg: .mean(NumberSum())
            case .min: .least(nil)
            case .max: .greatest(nil)
            case .median: .middle(NumberList(), isMean: true)
            case .mid: .middle(NumberList(), isMean: false)
            }
        // The least and the greatest value are the same with and without duplicates.
        seen = isDistinct && kind != .min && kind != .max ? [] : nil
    }

    /// Counts a row, whatever is in it: `COUNT(*)`.
    package mutating func addRow() { addRows(1) }

    /// Counts rows that nobody has looked at.
    package mutating func addRows(_ added: Int) {
        if case .count(let count) = state { state = .count(count + Int64(added)) }
    }

    /// The value of the next row.
    ///
    /// What is null or missing is passed over by all aggregates, false by COUNT, and what is no
    /// number by those that compute.
    package mutating func add(_ value: Value?) {
        guard let value, value.kind != .null, isTaken(value) else { return }
        if seen != nil { return note(value) }
        switch state {
        case .count(let count):
            state = .count(count + 1)
        case .sum(var sum):
            sum.add(value)
            state = .sum(sum)
        case .mean(var sum):
            sum.add(value)
            state = .mean(sum)
        case .least(let least):
            if least.map({ value < $0 || Self.stands(value, for: $0) }) ?? true {
                state = .least(value)
            }
        case .greatest(let greatest):
            if greatest.map({ value > $0 || Self.stands(value, for: $0) }) ?? true {
                state = .greatest(value)
            }
        case .middle(var numbers, let isMean):
            // Nobody else may hold the list while it grows, or it is copied.
            state = .count(0)
            numbers.add(value)
            state = .middle(numbers, isMean: isMean)
        }
    }

    /// Takes a value in that counts once.
    private mutating func note(_ value: Value) {
        guard let index = seen?.firstIndex(of: value), let known = seen?[index] else {
            seen?.insert(value)
            return
        }
        if ValueForm.precedes(value, known) { seen?.update(with: value) }
    }

    /// Of equal values the same one stays in whatever order they come.
    private static func stands(_ value: Value, for other: Value) -> Bool {
        ValueForm.precedes(value, other) && value == other
    }

    private func isTaken(_ value: Value) -> Bool {
        switch state {
        case .count: value != .bool(false)
        case .least, .greatest: true
        case .sum, .mean, .middle: value.kind == .number
        }
    }

    /// What the rows so far come to; MISSING where none counted, but for COUNT, which is zero.
    package func result() -> Value? {
        if let seen {
            // In order, or sums of floats would be others in each process.
            var plain = Aggregate(kind)
            for value in kind == .count ? Array(seen) : seen.sorted() { plain.add(value) }
            return plain.result()
        }
        return switch state {
        case .count(let count): .integer(count)
        case .sum(let sum): sum.total
        case .mean(let sum): sum.mean
        case .least(let value), .greatest(let value): value
        case .middle(let numbers, isMean: true): numbers.median
        case .middle(let numbers, isMean: false): numbers.lowerMiddle
        }
    }
}
