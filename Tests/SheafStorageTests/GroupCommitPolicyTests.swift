import SheafStorage
import SheafSystem
import SheafTestSupport
import Synchronization
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

    /// Appends commits; `waiting` of them have writers that wait for them.
    private func append(_ count: Int, waiting: Int = 0, to engine: StoreEngine) throws {
        for number in 0..<count {
            var batch = WriteBatch()
            try batch.put([1, UInt8(number)], [])
            let commit = try engine.append(batch)
            if number < waiting { engine.whenDurable(commit) { _ in } }
        }
    }

    @Test func `a writer stays awake for the time of two flushes`() throws {
        let time = CountingTime()
        let policy = GroupCommitPolicy(
            engine: try StoreEngine(opening: SimulatedVolume(seed: 1)), clock: time.clock)
        // The average is an eighth of the first flush.
        policy.recordFlush(commits: 1, nanoseconds: 8_000)
        var isDurable = policy.stayAwake(for: 1)
        #expect(!isDurable && time.takeReadings() == 2_001)
        isDurable = policy.stayAwake(for: 0)
        #expect(isDurable && time.takeReadings() == 1)
        // Each flush counts an eighth: (1,000 · 7 + 9,000) / 8.
        policy.recordFlush(commits: 5, nanoseconds: 9_000)
        isDurable = policy.stayAwake(for: 1)
        #expect(!isDurable && time.takeReadings() == 4_001)
    }

    @Test func `a flush waits until as many commits are pending as writers waited for the last`()
        throws
    {
        let time = CountingTime()
        let engine = try StoreEngine(opening: SimulatedVolume(seed: 1))
        let policy = GroupCommitPolicy(engine: engine, clock: time.clock)
        policy.recordFlush(commits: 3, nanoseconds: 8_000)
        // No writer and a single writer are not awaited.
        for waiting in 0...1 {
            try append(3, waiting: waiting, to: engine)
            try engine.flush()
            policy.gather()
            #expect(time.takeReadings() == 0)
        }
        try append(4, waiting: 3, to: engine)
        try engine.flush()
        try append(2, to: engine)
        for _ in 0..<3 {
            policy.gather()
            #expect(time.takeReadings() == 1_001)
        }
        // A complete wait makes the next ones as frequent as at first.
        try append(1, to: engine)
        policy.gather()
        #expect(time.takeReadings() == 1)
        try append(4, waiting: 4, to: engine)
        try engine.flush()
        var readings: [UInt64] = []
        for _ in 0..<6 {
            policy.gather()
            readings.append(time.takeReadings())
        }
        #expect(readings == [1_001, 1_001, 1_001, 1_001, 0, 0])
        try engine.close()
    }
}

/// A clock whose time advances by a nanosecond with each reading.
private final class CountingTime: Sendable {
    private struct State {
        var now: UInt64 = 5_000
        var readings: UInt64 = 0
    }

    private let state = Mutex(State())

    var clock: Clock {
        Clock(
            wallMilliseconds: { 5_000 },
            monotonicNanoseconds: {
                self.state.withLock { state in
                    state.now += 1
                    state.readings += 1
                    return state.now
                }
            })
    }

    /// Returns the number of readings since the last call.
    func takeReadings() -> UInt64 {
        state.withLock { state in
            defer { state.readings = 0 }
            return state.readings
        }
    }
}
