/// Who wrote each value, and in which order the values of a key came.
struct Versions {
    /// What tells the order.
    package enum Source: Sendable {
        /// A read shows all values of a key so far.
        case lists
        /// A read shows the last value: the numbers of commits tell the order.
        case registers
    }

    /// The values of a key in their order.
    private(set) var values: [Int: [Int]] = [:]
    private var places: [Int: Int] = [:]
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
            for (place, value) in values.enumerated() {
                guard places.updateValue(place, forKey: value) == nil else {
                    throw Anomaly("\(value) was written once, and is there twice in \(values)")
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

    /// Whatever was committed must have its place.
    private func checkLosses(_ history: [Attempt]) throws(Anomaly) {
        for attempt in history where attempt.outcome == .committed {
            for case .write(let key, let value) in attempt.operations
            where source == .lists && places[value] == nil {
                throw Anomaly("\(value) was committed and is not among those of \(key): \(attempt)")
            }
        }
    }

    func writer(of value: Int) -> Int? { writers[value] }

    func writer(at place: Int, of key: Int) -> Int? {
        guard let values = values[key], values.indices.contains(place) else { return nil }
        return writers[values[place]]
    }

    /// How many values of a key stand before and at one that was read.
    func count(through value: Int, of key: Int) -> Int? {
        guard let place = places[value], values[key]?[place] == value else { return nil }
        return place + 1
    }
}
