import Glibc

/// A latency percentile; its raw value is the suffix of figure names.
package enum Percentile: String, CaseIterable, Sendable {
    case p50, p95, p99, p999, max

    /// The fraction of latencies that are not larger.
    package var share: Double {
        switch self {
        case .p50: 0.5
        case .p95: 0.95
        case .p99: 0.99
        case .p999: 0.999
        case .max: 1
        }
    }

    /// Whether repeated runs agree well enough for the percentile to fail a comparison.
    ///
    /// The highest percentiles depend on single events of the machine, such as an interrupt.
    package var isRepeatable: Bool { self != .p999 && self != .max }
}

/// Returns the geometric mean of positive values, or NaN if there are none.
package func geometricMean(_ values: [Double]) -> Double {
    guard !values.isEmpty else { return .nan }
    return exp(values.map { log($0) }.reduce(0, +) / Double(values.count))
}

/// Sorted latencies.
package struct Latencies {
    private let sorted: [UInt64]

    /// Sorts latencies in nanoseconds.
    package init(_ nanoseconds: [UInt64]) {
        sorted = nanoseconds.sorted()
    }

    package var isEmpty: Bool { sorted.isEmpty }

    /// Returns the nearest-rank percentile in microseconds.
    package func microseconds(_ percentile: Percentile) -> Double {
        guard let last = sorted.indices.last else { return .nan }
        let rank = (Double(sorted.count) * percentile.share).rounded(.up)
        return Double(sorted[min(last, Swift.max(0, Int(rank) - 1))]) / 1_000
    }

    /// Returns the latencies in microseconds by the share of operations that took no longer.
    ///
    /// Shares are closer to each other the nearer they are to 1, in equal steps of the logarithm of
    /// the share of slower operations.
    package func curve(stepsPerDecade: Int = 24) -> [(share: Double, microseconds: Double)] {
        guard let last = sorted.last else { return [] }
        var points: [(share: Double, microseconds: Double)] = []
        var step = 0
        while true {
            let slower = pow(10, -Double(step) / Double(stepsPerDecade))
            let rank = Int((Double(sorted.count) * (1 - slower)).rounded(.down))
            guard slower * Double(sorted.count) > 1, rank < sorted.count - 1 else { break }
            points.append((1 - slower, Double(sorted[rank]) / 1_000))
            step += 1
        }
        points.append((1 - 1 / Double(2 * sorted.count), Double(last) / 1_000))
        return points
    }
}

/// The distribution of the latencies of one system in a case, or in a part of it.
package struct LatencyCurve {
    package let name: String
    package let system: String
    /// Rising shares of operations, and the latency that none of them exceeds.
    package let points: [(share: Double, microseconds: Double)]

    /// Returns the curves of a case and of its parts.
    package static func all(of samples: [Sample], system: String, in test: Case) -> [LatencyCurve] {
        guard test.hasLatencies else { return [] }
        return ([nil] + test.parts.map { $0 }).compactMap { (part: String?) in
            let latencies = samples.compactMap { sample in
                part.map { sample.parts[$0]?.latencies } ?? sample.latencies
            }
            let points = Latencies(latencies.flatMap { $0 }).curve()
            guard !points.isEmpty else { return nil }
            return LatencyCurve(name: part ?? test.name, system: system, points: points)
        }
    }
}

/// Returns the median; of an even count, the mean of the two middle values.
package func median(_ values: [Double]) -> Double {
    guard !values.isEmpty else { return .nan }
    let sorted = values.sorted()
    let middle = sorted.count / 2
    return sorted.count % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
}
