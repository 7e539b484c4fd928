import BenchHarness

/// What the writers of one round did until its deadline.
struct CommitTally: Sendable {
    private let seconds: Double
    private let deadline: UInt64
    private var count = 0
    private var latencies: [UInt64]

    /// A round that starts now.
    init(seconds: Double) {
        self.seconds = seconds
        // Fresh memory is slow to touch: that must not be part of a latency.
        latencies = [UInt64](repeating: 0, count: Self.expected)
        latencies.removeAll(keepingCapacity: true)
        deadline = now() + UInt64(seconds * 1e9)
    }

    private static let expected = 1 << 16

    /// Commits one after the other until the deadline, `commit` is given the number of each.
    mutating func repeatCommits(_ commit: (UInt64) throws -> Void) rethrows {
        var number: UInt64 = 0
        var begin = now()
        while begin < deadline {
            try commit(number)
            begin = note(from: begin)
            number += 1
        }
    }

    /// Commits one after the other until the deadline, `commit` is given the number of each.
    mutating func repeatCommits(_ commit: (UInt64) async throws -> Void) async rethrows {
        var number: UInt64 = 0
        var begin = now()
        while begin < deadline {
            try await commit(number)
            begin = note(from: begin)
            number += 1
        }
    }

    /// Adds what another writer of the same round did.
    mutating func add(_ other: CommitTally) {
        count += other.count
        latencies += other.latencies
    }

    /// Commits a second, and how long each took.
    ///
    /// Who is still waiting at the deadline counts with its latency, and not in the rate.
    var sample: Sample {
        Sample(Double(count) / seconds, latencies: latencies)
    }

    /// The time now, which is when the next commit begins.
    @inline(__always)
    private mutating func note(from begin: UInt64) -> UInt64 {
        let end = now()
        if end <= deadline { count += 1 }
        latencies.append(end - begin)
        return end
    }
}
