/// The writer of each value, and the order of the values of each key.
struct VersionOrder {
    /// The way in which the order of values is determined.
    package enum Source: Sendable {
        /// A read returns all values of a key so far.
        case lists
        /// A read returns the last value; commit IDs determine the order.
        case registers
    }

    /// The values of each key in their order.
    private(set) var values: [Int: [Int]] = [:]
    private var positions: [Int: Int] = [:]
    private var writers: [Int: Int] = [:]
    private let source: Source

    init(_ history: [Attempt], _ source: Source) throws(Anomaly) {
        self.source = source
        for (number, attempt) in history.enumerated() {
            for case .write(_, let value) in attempt.operations { writers[value] = number }
        }
        switch source {
        case .lists: orderByReads(history)
        case .registers: orderByCommits(history)
        }
        for values in values.values {
            for (position, value) in values.enumerated() {
                guard positions.updateValue(position, forKey: value) == nil else {
                    throw Anomaly("\(value) was written once, but occurs twice in \(values)")
                }
            }
        }
        try checkLosses(history)
    }

    private mutating func orderByReads(_ history: [Attempt]) {
        for attempt in history where attempt.outcome == .committed {
            for case .read(let key, let seen) in attempt.operations
            where seen.count > values[key, default: []].count {
                values[key] = seen
            }
        }
    }

    private mutating func orderByCommits(_ history: [Attempt]) {
        let writers = history.filter(\.hasWritten).sorted { ($0.commit ?? 0) < ($1.commit ?? 0) }
        for attempt in writers {
            var last: [Int: Int] = [:]
            for case .write(let key, let value) in attempt.operations { last[key] = value }
            for (key, value) in last { values[key, default: []].append(value) }
        }
    }

    /// Checks that every committed value of a list appears in a read.
    private func checkLosses(_ history: [Attempt]) throws(Anomaly) {
        for attempt in history where attempt.outcome == .committed {
            for case .write(let key, let value) in attempt.operations
            where source == .lists && positions[value] == nil {
                throw Anomaly("\(value) was committed but is not a version of \(key): \(attempt)")
            }
        }
    }

    func writer(of value: Int) -> Int? { writers[value] }

    func writer(at position: Int, of key: Int) -> Int? {
        guard let values = values[key], values.indices.contains(position) else { return nil }
        return writers[values[position]]
    }

    /// Returns the number of values of a key up to and including `value`, or nil if it is none.
    func count(through value: Int, of key: Int) -> Int? {
        guard let position = positions[value], values[key]?[position] == value else { return nil }
        return position + 1
    }
}
