/// The figures of an earlier run.
package struct Baseline {
    private struct Key: Hashable {
        let workload: String
        let name: String
        let system: String
    }

    private struct Value {
        let median: Double
        /// The ends of the range; a line that has none has its median for both.
        let lowest: Double
        let highest: Double

        func best(_ better: Better) -> Double { better == .higher ? highest : lowest }
    }

    private var values: [Key: Value] = [:]

    /// Which line of a baseline is not one.
    package struct Malformed: Error, Equatable, CustomStringConvertible {
        package let line: Int

        package var description: String { "line \(line) of the baseline is no line of figures" }
    }

    /// Reads JSON lines; empty lines are skipped.
    package init(parsing text: String) throws(Malformed) {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        for (index, line) in lines.enumerated() {
            guard line.contains(where: { !$0.isWhitespace }) else { continue }
            guard let object = try? JSONLine(parsing: String(line)),
                let workload = object.string("workload"), let name = object.string("case"),
                let system = object.string("system")
            else { throw Malformed(line: index + 1) }
            // A value that was no number then cannot be compared now.
            guard let value = object.number("value") else { continue }
            values[Key(workload: workload, name: name, system: system)] = Value(
                median: value, lowest: object.number("lowest") ?? value,
                highest: object.number("highest") ?? value)
        }
    }

    /// How one figure of the engine moved.
    ///
    /// A factor is how many times worse it is than it was; below one, it got better.
    package struct Change {
        package let figure: Figure
        /// How the median moved.
        package let factor: Double
        /// How the best round moved.
        package let bestFactor: Double
        /// The peers by which the machine's own change was taken out; none, and factors are raw.
        package let peers: [String]

        /// Whether the figure got worse by more than `share` of what it was.
        ///
        /// Other work on the machine spoils some rounds and so the median; it seldom spoils all.
        /// What the engine lost, the best round lost too.
        package func isRegression(beyond share: Double) -> Bool {
            figure.isRepeatable && 1 - 1 / min(factor, bestFactor) > share
        }
    }

    /// Compares the engine's figures with those of the baseline.
    ///
    /// Machines are noisy. A peer that was measured beside the engine both times tells how much of
    /// the change is the machine's: what counts is the median, over such peers, of the ratio.
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
