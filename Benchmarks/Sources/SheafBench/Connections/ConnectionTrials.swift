import BenchHarness
import Sheaf

/// Frames of one peer.
final class FrameTrial: Trial {
    private let crowd: ConnectionCrowd
    private let frames: Int

    init(_ crowd: ConnectionCrowd, frames: Int) {
        (self.crowd, self.frames) = (crowd, frames)
    }

    /// Returns the microseconds per frame.
    func run(round: Int) async throws -> Sample {
        var nanoseconds: UInt64 = 0
        for _ in 0..<frames { nanoseconds += crowd.sendFrame() }
        return Sample(Double(nanoseconds) / Double(frames) / 1_000)
    }

    func finish() async throws { try await crowd.store.close() }
}

/// Commits that concern no peer.
final class CommitTrial: Trial {
    private let crowd: ConnectionCrowd
    private let commits: Int
    private var count = 0

    init(_ crowd: ConnectionCrowd, commits: Int) {
        (self.crowd, self.commits) = (crowd, commits)
    }

    /// Returns the microseconds of the replicator per commit.
    func run(round: Int) async throws -> Sample {
        var nanoseconds: UInt64 = 0
        for _ in 0..<commits {
            count += 1
            try await crowd.store.execute("INSERT INTO other DOCUMENTS ({'_id': \(count)})")
            nanoseconds += crowd.processCommits()
        }
        return Sample(Double(nanoseconds) / Double(commits) / 1_000)
    }

    func finish() async throws { try await crowd.store.close() }
}

/// The memory of idle connections, with that of the sessions of their peers.
final class IdleBytesTrial: Trial {
    private static let connections = 2_000

    /// Returns the bytes per connection.
    func run(round: Int) async throws -> Sample {
        let before = allocatedBytes()
        let crowd = try await ConnectionCrowd(Self.connections, subscribe: true)
        let bytes = allocatedBytes() - before
        try await crowd.store.close()
        return Sample(Double(bytes) / Double(Self.connections))
    }

    func finish() {}
}
