/// A place in the order of latencies, which is also the end of a figure's name.
package enum Percentile: String, CaseIterable, Sendable {
    case p50, p95, p99, p999, max

    /// The share of latencies that are no larger.
    package var share: Double {
        switch self {
        case .p50: 0.5
        case .p95: 0.95
        case .p99: 0.99
        case .p999: 0.999
        case .max: 1
        }
    }

    /// Whether two runs on one machine agree on it well enough to fail a comparison.
    ///
    /// The rarest latencies are single events of the machine.
    package var isRepeatable: Bool { self != .p999 && self != .max }
}

/// Latencies in order.
package struct Latencies {
    private let sorted: [UInt64]

    /// Sorts nanoseconds.
    package init(_ nanoseconds: [UInt64]) {
        sorted = nanoseconds.sorted()
    }

    package var isEmpty: Bool { sorted.isEmpty }

    /// The smallest latency that the percentile's share of all does not exceed, in microseconds.
    package func microseconds(_ percentile: Percentile) -> Double {
        guard let last = sorted.indices.last else { return .nan }
        let rank = (Double(sorted.count) * percentile.share).rounded(.up)
        return Double(sorted[min(last, Swift.max(0, Int(rank) - 1))]) / 1_000
    }
}

/// The middle of some values; the mean of the two in the middle where their count is even.
package func median(_ values: [Double]) -> Double {
    guard !values.isEmpty else { return .nan }
    let sorted = values.sorted()
    let middle = sorted.count / 2
    return sorted.count % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
}
