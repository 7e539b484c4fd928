/// A group of cases that one name on the command line selects.
package struct Workload {
    package let name: String
    package let summary: String
    package let cases: [Case]

    /// Names a group of cases.
    package init(_ name: String, _ summary: String, cases: [Case]) {
        self.name = name
        self.summary = summary
        self.cases = cases
    }
}

/// One question, and the systems that answer it.
package struct Case {
    /// Where the headline of a case comes from.
    package enum Headline {
        /// The median over the rounds of the value that each round reports.
        case value(unit: String, Better)
        /// A percentile of all latencies of all rounds, in microseconds.
        case percentile(Percentile)
    }

    package let name: String
    package let summary: String
    package let headline: Headline
    /// Whether rounds report the latency of each operation.
    package let hasLatencies: Bool
    package let systems: [System]

    /// A case that reports a value each round, and on demand the latencies behind it.
    package init(
        _ name: String, _ summary: String, unit: String, _ better: Better,
        hasLatencies: Bool = false, systems: [System]
    ) {
        self.name = name
        self.summary = summary
        self.headline = .value(unit: unit, better)
        self.hasLatencies = hasLatencies
        self.systems = systems
    }

    /// A case whose point is a latency; it is called `STEM-p99` and the like.
    package init(stem: String, _ percentile: Percentile, _ summary: String, systems: [System]) {
        self.name = "\(stem)-\(percentile.rawValue)"
        self.summary = summary
        self.headline = .percentile(percentile)
        self.hasLatencies = true
        self.systems = systems
    }

    /// What the figure for `percentile` is called.
    package func name(of percentile: Percentile) -> String {
        guard case .percentile(let own) = headline else { return "\(name)-\(percentile.rawValue)" }
        return name.dropLast(own.rawValue.count) + percentile.rawValue
    }

    /// Every name that the figures of this case can carry.
    package var figureNames: [String] {
        var names = [name]
        guard hasLatencies else { return names }
        for percentile in Percentile.allCases where name(of: percentile) != name {
            names.append(name(of: percentile))
        }
        return names
    }
}

/// Which way a value improves.
package enum Better: String, Sendable {
    case higher, lower

    /// How many times better `value` is than `other`; none where either is no positive number.
    package func advantage(of value: Double, over other: Double) -> Double? {
        guard value > 0, other > 0, value.isFinite, other.isFinite else { return nil }
        return self == .higher ? value / other : other / value
    }
}

/// A database, or a bare loop over the machine, that a case measures.
package struct System {
    package let name: String
    package let prepare: (Stage) async throws -> any Trial

    /// Names a system and says how it gets ready; the time of that is not measured.
    package init(_ name: String, prepare: @escaping (Stage) async throws -> any Trial) {
        self.name = name
        self.prepare = prepare
    }
}

/// One system, ready for the rounds of one case.
package protocol Trial: AnyObject {
    /// Does the work of one round; round zero is the warm-up, and its sample is dropped.
    func run(round: Int) async throws -> Sample

    /// Closes what `prepare` opened; the directory is removed by the harness.
    func finish() async throws
}

/// What one round found.
package struct Sample {
    /// In the unit of the case; of no use to a case whose headline is a percentile.
    package let value: Double
    /// Of each operation, in nanoseconds.
    package let latencies: [UInt64]

    /// Reports a round.
    package init(_ value: Double, latencies: [UInt64] = []) {
        self.value = value
        self.latencies = latencies
    }
}
