import BenchHarness

/// Writer tasks that each commit one new entry after the other.
package final class TaskCommitTrial: Trial {
    private let store: any BenchmarkStore
    private let writers: Int
    private let seconds: Double

    /// Opens an empty store.
    init(_ peer: BenchmarkPeer, _ stage: Stage, writers: Int) throws {
        store = try peer.open(stage.disk.path, BenchmarkStoreOptions())
        self.writers = writers
        seconds = stage.scale.roundSeconds
    }

    func run(round: Int) async throws -> Sample {
        let (store, writers, seconds) = (store, writers, seconds)
        return try await withThrowingTaskGroup(of: CommitTally.self) { group in
            for writer in 0..<writers {
                let first = UInt64(round) << 40 | UInt64(writer) << 32
                group.addTask { try await Self.write(to: store, from: first, seconds: seconds) }
            }
            var total = CommitTally(seconds: seconds)
            for try await tally in group { total.add(tally) }
            return total.sample
        }
    }

    func finish() throws {
        try store.close()
    }

    private static func write(
        to store: any BenchmarkStore, from first: UInt64, seconds: Double
    ) async throws -> CommitTally {
        let session = try store.session()
        defer { session.close() }
        let entries = Entries(.random)
        var tally = CommitTally(seconds: seconds)
        try await tally.repeatCommits { number in
            let index = first + number
            try await session.commit(entries, index..<index + 1)
        }
        return tally
    }
}
