import BenchHarness
import Synchronization

/// Writer threads that each commit one new entry after the other.
final class ThreadedCommitTrial: Trial {
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
        let tallies = Mutex<[CommitTally]>([])
        let failure = Mutex<(any Error)?>(nil)
        let line = StartLine(writers)
        let (store, seconds) = (store, seconds)
        Threads.run(writers) { writer in
            do {
                let session = Result { try Self.blockingSession(of: store) }
                // A thread that failed to open its session still reaches the barrier, or the others
                // would block.
                line.wait()
                let first = UInt64(round) << 40 | UInt64(writer) << 32
                let tally = try Self.write(session.get(), from: first, seconds: seconds)
                tallies.withLock { $0.append(tally) }
            } catch {
                failure.withLock { $0 = error }
            }
        }
        if let failure = failure.withLock({ $0 }) { throw failure }
        var total = CommitTally(seconds: seconds)
        for tally in tallies.withLock({ $0 }) { total.add(tally) }
        return total.sample
    }

    func finish() throws {
        try store.close()
    }

    private static func blockingSession(of store: any BenchmarkStore) throws -> any BlockingSession
    {
        guard let session = try store.session() as? any BlockingSession else {
            throw StoreFailure(description: "threads require a store with blocking commits")
        }
        return session
    }

    private static func write(
        _ session: any BlockingSession, from first: UInt64, seconds: Double
    ) throws -> CommitTally {
        defer { session.close() }
        let entries = Entries(.random)
        var tally = CommitTally(seconds: seconds)
        try tally.repeatCommits { number in
            let index = first + number
            try session.commitBlocking(entries, index..<index + 1)
        }
        return tally
    }
}
