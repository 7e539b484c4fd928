/// The figures of an earlier run.
package struct Baseline {
    private struct Key: Hashable {
        let workload: String
        let name: String
        let system: String
    }

    private struct Value {
        /// The conditions of the run, apart from the machine.
        let conditions: [String: String]
        let machine: String?
        let median: Double
        /// The range of the rounds; both ends are the median if the line has no range.
        let lowest: Double
        let highest: Double

        func best(_ better: Better) -> Double { better == .higher ? highest : lowest }
    }

    private var values: [Key: Value] = [:]

    /// An error for a line that is not a figure.
    package struct Malformed: Error, Equatable, CustomStringConvertible {
        package let line: Int

        package var description: String { "line \(line) of the baseline is not a figure" }
    }

    /// Reads JSON lines; blank lines and figures without a value are skipped.
    package init(parsing text: String) throws(Malformed) {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        for (index, line) in lines.enumerated() {
            guard line.contains(where: { !$0.isWhitespace }) else { continue }
            guard let object = try? BenchmarkJSONLine(parsing: String(line)),
                let workload = object.string("workload"), let name = object.string("case"),
                let system = object.string("system")
            else { throw Malformed(line: index + 1) }
            // A null value cannot be compared.
            guard let value = object.number("value") else { continue }
            var conditions: [String: String] = [:]
            for key in RunConditions.keys { conditions[key] = object.string(key) }
            values[Key(workload: workload, name: name, system: system)] = Value(
                conditions: conditions, machine: object.string("machine"), median: value,
                lowest: object.number("lowest") ?? value,
                highest: object.number("highest") ?? value)
        }
    }

    /// An error for a run that cannot be compared with the baseline.
    package struct Unlike: Error, Equatable, CustomStringConvertible {
        package let description: String

        fileprivate init(_ reason: String) {
            description = "cannot compare with the baseline: \(reason)"
        }
    }

    /// Refuses a comparison with a run of another kind; `names` are the figures of this run, as
    /// WORKLOAD/FIGURE.
    package func check(
        _ run: RunConditions, names: Set<String>
    ) throws(Unlike) {
        let common = values.filter { names.contains("\($0.key.workload)/\($0.key.name)") }
        guard !common.isEmpty else { throw Unlike("it has no figure of this run") }
        let ordered = common.sorted {
            ($0.key.workload, $0.key.name) < ($1.key.workload, $1.key.name)
        }
        for (key, value) in ordered {
            if let reason = run.difference(from: value.conditions, machine: value.machine) {
                throw Unlike("\(key.workload)/\(key.name) \(reason)")
            }
        }
    }

    /// The change of one figure of the engine.
    ///
    /// A factor above one means that the figure got worse by that factor.
    package struct Change {
        package let figure: Figure
        /// The change of the median.
        package let factor: Double
        /// The change of the best round.
        package let bestFactor: Double
        /// The peers that measured the change of the machine; if empty, the factors are raw.
        package let peers: [String]

        /// Whether the figure got worse by more than the fraction `share`.
        ///
        /// Other work on the machine spoils the median more often than the best round, so both must
        /// be worse.
        package func isRegression(beyond share: Double) -> Bool {
            figure.isRepeatable && 1 - 1 / min(factor, bestFactor) > share
        }
    }

    /// Compares the engine's figures with those of the baseline.
    ///
    /// Peers measured in both runs show how much the machine changed: each factor is the median,
    /// over these peers, of the engine's change divided by the peer's.
    package func changes(to figures: [Figure]) -> [Change] {
        figures.filter { $0.system == Figure.engine }.compactMap { figure in
            guard let raw = factors(of: figure) else { return nil }
            let peers = figures.filter {
                $0.workload == figure.workload && $0.name == figure.name
                    && $0.system != Figure.engine
            }
            let moved = peers.compactMap { peer in
                factors(of: peer).map { (name: peer.system, factors: $0) }
            }
            guard !moved.isEmpty else {
                return Change(figure: figure, factor: raw.median, bestFactor: raw.best, peers: [])
            }
            return Change(
                figure: figure,
                factor: median(moved.map { raw.median / $0.factors.median }),
                bestFactor: median(moved.map { raw.best / $0.factors.best }),
                peers: moved.map(\.name))
        }
    }

    private func factors(of figure: Figure) -> (median: Double, best: Double)? {
        let key = Key(workload: figure.workload, name: figure.name, system: figure.system)
        let better = figure.better
        guard let before = values[key],
            let median = better.advantage(of: before.median, over: figure.value),
            let best = better.advantage(of: before.best(better), over: figure.best)
        else { return nil }
        return (median, best)
    }
}

extension Baseline.Change: CustomStringConvertible {
    package var description: String {
        let change = factor >= 1 ? (1 - 1 / factor) * 100 : (factor - 1) * -100
        let against = peers.isEmpty ? "raw" : "against \(peers.joined(separator: ", "))"
        return "\(figure.workload)/\(figure.name): \(Format.fixed(change, decimals: 1)) % "
            + "\(factor >= 1 ? "worse" : "better") (\(against))"
    }
}
