/// The figures of an earlier run.
package struct Baseline {
    private struct Key: Hashable {
        let workload: String
        let name: String
        let system: String
    }

    private var values: [Key: Double] = [:]

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
            values[Key(workload: workload, name: name, system: system)] = value
        }
    }

    /// How one figure of the engine moved.
    package struct Change {
        package let figure: Figure
        /// How many times worse the figure is than it was; below one, it got better.
        package let factor: Double
        /// The peers by which the machine's own change was taken out; none, and the factor is raw.
        package let peers: [String]

        /// Whether the figure got worse by more than `share` of what it was.
        package func isRegression(beyond share: Double) -> Bool {
            figure.isRepeatable && 1 - 1 / factor > share
        }
    }

    /// Compares the engine's figures with those of the baseline.
    ///
    /// Machines are noisy. A peer that was measured beside the engine both times tells how much of
    /// the change is the machine's: what counts is the median, over such peers, of the ratio.
    package func changes(to figures: [Figure]) -> [Change] {
        figures.filter { $0.system == Figure.engine }.compactMap { figure in
            guard let raw = factor(of: figure) else { return nil }
            let peers = figures.filter {
                $0.workload == figure.workload && $0.name == figure.name
                    && $0.system != Figure.engine
            }
            let relative = peers.compactMap { peer in
                factor(of: peer).map { (name: peer.system, factor: raw / $0) }
            }
            guard !relative.isEmpty else { return Change(figure: figure, factor: raw, peers: []) }
            return Change(
                figure: figure, factor: median(relative.map(\.factor)),
                peers: relative.map(\.name))
        }
    }

    private func factor(of figure: Figure) -> Double? {
        let key = Key(workload: figure.workload, name: figure.name, system: figure.system)
        return values[key].flatMap { figure.better.advantage(of: $0, over: figure.value) }
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
