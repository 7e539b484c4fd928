/// A named group of cases.
package struct Workload {
    package let name: String
    package let summary: String
    package let cases: [Case]

    /// Creates a group of cases; `--list` prints the summary.
    package init(_ name: String, _ summary: String, cases: [Case]) {
        self.name = name
        self.summary = summary
        self.cases = cases
    }
}

/// A measurement and the systems it compares.
package struct Case {
    /// The source of a case's main figure.
    package enum Headline {
        /// The median, over all rounds, of the values reported by a trial.
        case value(unit: String, Better)
        /// A percentile of all latencies of all rounds, in microseconds.
        case percentile(Percentile)
    }

    package let name: String
    package let summary: String
    package let headline: Headline
    /// Whether rounds report the latency of each operation.
    package let hasLatencies: Bool
    /// Names of operations whose figures are reported beside those of the case.
    package let parts: [String]
    /// Names of queries that the value summarizes; their figures are reported only on request.
    package let queries: [String]
    package let systems: [System]

    /// Creates a case that reports a value each round, optionally with latencies.
    package init(
        _ name: String, _ summary: String, unit: String, _ better: Better,
        hasLatencies: Bool = false, parts: [String] = [], queries: [String] = [],
        systems: [System]
    ) {
        self.parts = parts
        self.queries = queries
        self.name = name
        self.summary = summary
        self.headline = .value(unit: unit, better)
        self.hasLatencies = hasLatencies
        self.systems = systems
    }

    /// Creates a case whose main figure is a percentile; its name is `STEM-p99` for `.p99`.
    package init(stem: String, _ percentile: Percentile, _ summary: String, systems: [System]) {
        self.name = "\(stem)-\(percentile.rawValue)"
        self.summary = summary
        self.headline = .percentile(percentile)
        self.hasLatencies = true
        parts = []
        queries = []
        self.systems = systems
    }

    /// Returns the name of the figure for `percentile`, of the case or of one of its parts.
    package func name(of percentile: Percentile, part: String? = nil) -> String {
        guard case .percentile(let own) = headline else {
            return "\(part ?? name)-\(percentile.rawValue)"
        }
        return name.dropLast(own.rawValue.count) + percentile.rawValue
    }

    /// The names of all figures of this case.
    package var figureNames: [String] {
        ([nil] + parts.map { $0 }).flatMap { (part: String?) in
            var names = [part ?? name]
            guard hasLatencies else { return names }
            for percentile in Percentile.allCases where name(of: percentile, part: part) != name {
                names.append(name(of: percentile, part: part))
            }
            return names
        } + queries.map(name(ofQuery:))
    }

    /// Returns the name of the figure of a query.
    func name(ofQuery query: String) -> String { "\(name)/\(query)" }
}

/// The direction in which a value improves.
package enum Better: String, Sendable {
    case higher, lower

    /// Returns the factor by which `value` is better than `other`.
    ///
    /// Returns nil if one of them is not positive, or not finite.
    package func advantage(of value: Double, over other: Double) -> Double? {
        guard value > 0, other > 0, value.isFinite, other.isFinite else { return nil }
        return self == .higher ? value / other : other / value
    }
}

/// A system measured by a case: a database, or a loop that shows the limit of the machine.
package struct System {
    package let name: String
    package let prepare: (Stage) async throws -> any Trial

    /// Creates a system; `prepare` is not measured.
    package init(_ name: String, prepare: @escaping (Stage) async throws -> any Trial) {
        self.name = name
        self.prepare = prepare
    }
}

/// An error for a system that is not installed; its case runs without it.
package struct SystemUnavailable: Error, CustomStringConvertible {
    package let description: String

    /// Creates an error from its reason.
    package init(_ description: String) {
        self.description = description
    }
}

/// A system prepared for the rounds of one case.
package protocol Trial: AnyObject {
    /// Runs one round; the sample of round 0, the warm-up, is discarded.
    func run(round: Int) async throws -> Sample

    /// Releases the resources of `prepare`; the harness removes the directory.
    func finish() async throws
}

/// The result of one round.
package struct Sample {
    /// The value in the unit of the case; ignored if the main figure is a percentile.
    package let value: Double
    /// The latency of each operation, in nanoseconds.
    package let latencies: [UInt64]
    /// The average number of rows that an operation returned; nil if they are not counted.
    package let rows: Double?
    /// The samples of the parts and queries of the case.
    package let parts: [String: Sample]

    /// Creates a sample; a case without latencies leaves them empty.
    package init(
        _ value: Double, latencies: [UInt64] = [], rows: Double? = nil,
        parts: [String: Sample] = [:]
    ) {
        self.value = value
        self.latencies = latencies
        self.rows = rows
        self.parts = parts
    }
}
