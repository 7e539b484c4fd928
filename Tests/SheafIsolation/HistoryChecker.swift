/// A checker of histories for strict serializability.
package struct HistoryChecker {
    private let history: [Attempt]
    private let source: VersionOrder.Source
    private let versions: VersionOrder
    private var graph: DependencyGraph

    /// Throws the first anomaly of a history whose reads return complete lists.
    package static func check(lists history: [Attempt]) throws(Anomaly) {
        var checker = try HistoryChecker(history, .lists)
        try checker.run()
    }

    /// Throws the first anomaly of a history whose reads return registers.
    package static func check(registers history: [Attempt]) throws(Anomaly) {
        var checker = try HistoryChecker(history, .registers)
        try checker.run()
    }

    private init(_ history: [Attempt], _ source: VersionOrder.Source) throws(Anomaly) {
        self.history = history
        self.source = source
        versions = try VersionOrder(history, source)
        graph = DependencyGraph(nodeCount: history.count)
    }

    private mutating func run() throws(Anomaly) {
        for (number, attempt) in history.enumerated() where attempt.outcome == .committed {
            try addReads(of: number, attempt)
        }
        for values in versions.values.values {
            for (earlier, later) in zip(values, values.dropFirst()) {
                guard let first = versions.writer(of: earlier),
                    let second = versions.writer(of: later)
                else { continue }
                graph.addEdge(first, second, .writeToWrite)
            }
        }
        addTime()
        if let cycle = graph.cycle() { throw anomaly(cycle) }
        try CommitOrder.check(history, source)
    }

    private mutating func addReads(of number: Int, _ attempt: Attempt) throws(Anomaly) {
        var own: [Int: [Int]] = [:]
        for operation in attempt.operations {
            switch operation {
            case .write(let key, let value): own[key, default: []].append(value)
            case .read(let key, let seen):
                guard let count = try countOfOthers(key, seen, own[key] ?? [], number) else {
                    continue
                }
                if let writer = versions.writer(at: count - 1, of: key) {
                    graph.addEdge(writer, number, .writeToRead)
                }
                if let writer = versions.writer(at: count, of: key) {
                    graph.addEdge(number, writer, .readToWrite)
                }
            }
        }
    }

    /// Returns how many values of other transactions precede the transaction's own in a read.
    ///
    /// Returns nil if a read of a register returned the transaction's own write. Checks the read
    /// against the transaction's own writes and the known versions.
    private func countOfOthers(
        _ key: Int, _ seen: [Int], _ own: [Int], _ number: Int
    ) throws(Anomaly) -> Int? {
        let attempt = history[number]
        switch source {
        case .lists:
            guard seen.count >= own.count, Array(seen.suffix(own.count)) == own else {
                throw Anomaly("\(key) does not end with its own writes \(own): \(attempt)")
            }
            guard versions.values[key, default: []].starts(with: seen) else {
                throw Anomaly("\(key) never had the value \(seen): \(attempt)")
            }
        case .registers:
            if let last = own.last {
                guard seen == [last] else {
                    throw Anomaly("\(key) is not its own write \(last): \(attempt)")
                }
                return nil
            }
        }
        let others = seen.dropLast(source == .lists ? own.count : 0)
        guard let last = others.last else { return 0 }
        guard let writer = versions.writer(of: last) else {
            throw Anomaly("\(last) in \(key) was never written: \(attempt)")
        }
        guard history[writer].outcome == .committed else {
            throw Anomaly("\(attempt) read a write of the aborted \(history[writer])")
        }
        var lastOfWriter: Int?
        for case .write(key, let value) in history[writer].operations { lastOfWriter = value }
        guard lastOfWriter == last else {
            throw Anomaly("\(attempt) read an intermediate write of \(history[writer])")
        }
        guard let count = versions.count(through: last, of: key) else {
            throw Anomaly("\(last) is not a version of \(key): \(attempt)")
        }
        return count
    }

    /// Adds real-time edges from each transaction to those that began after its end.
    private mutating func addTime() {
        var events: [(time: Int, number: Int, isEnd: Bool)] = []
        for (number, attempt) in history.enumerated() where attempt.outcome == .committed {
            events.append((attempt.invoked, number, false))
            events.append((attempt.completed, number, true))
        }
        events.sort { $0.time < $1.time }
        var moment: Int?
        for event in events {
            guard event.isEnd else {
                if let moment { graph.addEdge(moment, event.number, .time) }
                continue
            }
            let next = graph.addNode()
            graph.addEdge(event.number, next, .time)
            if let moment { graph.addEdge(moment, next, .time) }
            moment = next
        }
    }

    private func anomaly(_ cycle: [(node: Int, kind: DependencyGraph.Dependency)]) -> Anomaly {
        let kinds = cycle.map(\.kind)
        let reads = kinds.count { $0 == .readToWrite }
        let name =
            kinds.contains(.time)
            ? "a cycle with real-time order"
            : reads > 1
                ? "write skew" : reads == 1 ? "read skew" : "a cycle of writes and reads"
        var text = "\(name):"
        for (node, kind) in cycle where node < history.count {
            text += "\n  \(history[node]) before, by \(kind),"
        }
        return Anomaly(text)
    }
}
