package import BenchHarness

/// The commits of a round until its deadline.
package struct CommitTally: Sendable {
    private let seconds: Double
    private let deadline: UInt64
    private var count = 0
    private var latencies: [UInt64]

    /// Starts a round.
    package init(seconds: Double) {
        self.seconds = seconds
        // The array is touched in advance, because page faults must not count as latency.
        latencies = [UInt64](repeating: 0, count: Self.expected)
        latencies.removeAll(keepingCapacity: true)
        deadline = now() + UInt64(seconds * 1e9)
    }

    private static let expected = 1 << 16

    /// Repeats `commit` with increasing numbers until the deadline.
    package mutating func repeatCommits(_ commit: (UInt64) throws -> Void) rethrows {
        var number: UInt64 = 0
        var begin = now()
        while begin < deadline {
            try commit(number)
            begin = record(from: begin)
            number += 1
        }
    }

    /// Repeats `commit` with increasing numbers until the deadline.
    package mutating func repeatCommits(_ commit: (UInt64) async throws -> Void) async rethrows {
        var number: UInt64 = 0
        var begin = now()
        while begin < deadline {
            try await commit(number)
            begin = record(from: begin)
            number += 1
        }
    }

    /// Adds the commits of another writer in the same round.
    package mutating func add(_ other: CommitTally) {
        count += other.count
        latencies += other.latencies
    }

    /// Commits per second, and the latency of each commit.
    ///
    /// A commit that ends after the deadline counts with its latency, but not in the rate.
    package var sample: Sample {
        Sample(Double(count) / seconds, latencies: latencies)
    }

    /// Records a commit and returns the current time, when the next one begins.
    @inline(__always)
    private mutating func record(from begin: UInt64) -> UInt64 {
        let end = now()
        if end <= deadline { count += 1 }
        latencies.append(end - begin)
        return end
    }
}
