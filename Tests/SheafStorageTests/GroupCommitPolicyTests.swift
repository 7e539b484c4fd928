import SheafStorage
import SheafTestSupport
import Testing

/// The decision whether a writer waits for its flush without sleeping, or flushes itself.
@Suite struct GroupCommitPolicyTests {
    private func policy() throws -> GroupCommitPolicy {
        GroupCommitPolicy(engine: try StoreEngine(opening: SimulatedVolume(seed: 1)))
    }

    /// Records fast flushes of one commit; returns after which of them a writer counts as alone.
    private func loneFlushes(_ policy: GroupCommitPolicy) -> [Int] {
        (1...10).filter { _ in
            policy.recordFlush(commits: 1, nanoseconds: 1_000)
            return policy.hasLoneWriter && policy.mayFlushAlone
        }
    }

    @Test func `a writer counts as alone after eight consecutive flushes of one commit`() throws {
        let policy = try policy()
        #expect(!policy.hasLoneWriter && !policy.mayFlushAlone)
        #expect(loneFlushes(policy) == [8, 9, 10])
        for commits in [0, 2, 100] as [CommitID] {
            policy.recordFlush(commits: commits, nanoseconds: 1_000)
            #expect(!policy.hasLoneWriter && !policy.mayFlushAlone)
            #expect(loneFlushes(policy) == [8, 9, 10], "\(commits)")
        }
        policy.recordConcurrentWriters()
        #expect(!policy.hasLoneWriter && !policy.mayFlushAlone)
        #expect(loneFlushes(policy) == [8, 9, 10])
    }

    @Test(
        arguments: [
            (250_007, true, true), (250_008, false, true), (1_000_007, false, true),
            (1_000_008, false, false),
        ] as [(UInt64, Bool, Bool)])
    func `a lone writer stays awake for flushes of up to 250 µs, and flushes itself up to 1 ms`(
        nanoseconds: UInt64, staysAwake: Bool, flushesAlone: Bool
    ) throws {
        let policy = try policy()
        // The average of the durations approaches that of each flush, up to seven nanoseconds.
        for _ in 0..<200 { policy.recordFlush(commits: 1, nanoseconds: nanoseconds) }
        #expect(policy.hasLoneWriter == staysAwake)
        #expect(policy.mayFlushAlone == flushesAlone)
    }

    @Test func `a writer stays awake until its commit is durable, or two flushes take longer`()
        throws
    {
        let policy = try policy()
        #expect(policy.stayAwake(for: 0))
        #expect(!policy.stayAwake(for: 1))
    }
}
