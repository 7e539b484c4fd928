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
}

/// Returns the median; of an even count, the mean of the two middle values.
package func median(_ values: [Double]) -> Double {
    guard !values.isEmpty else { return .nan }
    let sorted = values.sorted()
    let middle = sorted.count / 2
    return sorted.count % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
}
