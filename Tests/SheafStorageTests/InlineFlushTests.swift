import SheafSimulator
import SheafStorage
import SheafSystem
import SheafTestSupport
import Synchronization
import Testing

/// Tests of writers that flush on their own thread, without the thread of group commit.
@Suite struct InlineFlushTests {
    private func options(segmentLength: Int = 4_096) -> LogStoreOptions {
        var options = SmallStore.options(seed: 24)
        options.segmentLength = segmentLength
        options.liveShare = 0.5
        options.freeGarbage = 9_952
        return options
    }

    /// Appends a commit whose record has 88 bytes.
    private func append(_ number: UInt8, to engine: StoreEngine) throws {
        var batch = WriteBatch()
        try batch.put([1, number], [number, number])
        _ = try engine.append(batch)
    }

    /// Returns a policy that has recorded this number of short flushes of one commit.
    ///
    /// By default its time stands still, so that all flushes are short.
    private func policy(
        _ engine: StoreEngine, loneFlushes: Int, clock: Clock = FakeClock().clock
    ) -> GroupCommitPolicy {
        let policy = GroupCommitPolicy(engine: engine, clock: clock)
        for _ in 0..<loneFlushes { policy.recordFlush(commits: 1, nanoseconds: 1_000) }
        return policy
    }

    private func committer(
        _ engine: StoreEngine, _ policy: GroupCommitPolicy, _ calls: RecordedCalls? = nil
    ) -> GroupCommitter {
        GroupCommitter(engine: engine, policy: policy, onNewSegment: { calls?.add("segment") })
    }

    @Test func `a writer flushes by itself once it counts as alone`() throws {
        let engine = try StoreEngine(opening: SimulatedVolume(seed: 24), options: options())
        let policy = policy(engine, loneFlushes: 7)
        let committer = committer(engine, policy)
        try append(1, to: engine)
        var isDone = try committer.flushInline()
        #expect(!isDone && engine.durableCommit == 0)
        policy.recordFlush(commits: 1, nanoseconds: 1_000)
        for number in 2...5 as ClosedRange<UInt8> {
            isDone = try committer.flushInline()
            #expect(isDone && engine.durableCommit == CommitID(number - 1))
            // A flush without commits changes nothing.
            isDone = try committer.flushInline()
            #expect(isDone && policy.mayFlushAlone)
            try append(number, to: engine)
        }
        // A flush of two commits has more than one writer.
        try append(6, to: engine)
        isDone = try committer.flushInline()
        #expect(isDone && engine.durableCommit == 6 && !policy.mayFlushAlone)
        try append(7, to: engine)
        isDone = try committer.flushInline()
        #expect(!isDone && engine.durableCommit == 6)
        try engine.close()
    }

    @Test(arguments: [(7_000_000, true), (9_000_000, false)] as [(UInt64, Bool)])
    func `the time of a flush decides whether its writer flushes by itself again`(
        nanoseconds: UInt64, flushesAgain: Bool
    ) throws {
        let time = SteppedTime()
        // The first change of the disk in a flush takes its complete time.
        let observed = ObservedVolume(SimulatedVolume(seed: 24)) { time.reach() }
        let engine = try StoreEngine(opening: observed, options: options())
        let policy = policy(engine, loneFlushes: 8, clock: time.clock)
        let committer = committer(engine, policy)
        try append(1, to: engine)
        time.setNext(after: nanoseconds)
        var isDone = try committer.flushInline()
        #expect(isDone && engine.durableCommit == 1)
        // The average has an eighth of the time, and at most 875 ns of earlier flushes.
        #expect(policy.mayFlushAlone == flushesAgain && !policy.hasLoneWriter)
        try append(2, to: engine)
        isDone = try committer.flushInline()
        #expect(isDone == flushesAgain)
        try engine.close()
    }

    @Test func `a writer that meets another flush leaves its own to the thread`() throws {
        let outcome = Mutex<Bool?>(nil)
        let meeting = Mutex<(@Sendable () -> Void)?>(nil)
        let observed = ObservedVolume(SimulatedVolume(seed: 24)) {
            let next = meeting.withLock { meeting in
                defer { meeting = nil }
                return meeting
            }
            next?()
        }
        let engine = try StoreEngine(opening: observed, options: options())
        let policy = policy(engine, loneFlushes: 8)
        let committer = committer(engine, policy)
        try append(1, to: engine)
        meeting.withLock { meeting in
            meeting = {
                let thread = try? Thread(name: "writer") {
                    let isDone = try? committer.flushInline()
                    outcome.withLock { $0 = isDone }
                }
                thread?.join()
            }
        }
        try engine.flush()
        #expect(outcome.withLock { $0 } == false)
        #expect(engine.durableCommit == 1 && !policy.mayFlushAlone)
        try engine.close()
    }

    @Test func `writers that must wait for compaction do not flush by themselves`() throws {
        // One segment counts twice its length, and 10,000 bytes are allowed.
        for (length, isDelayed) in [(5_200, false), (8_000, true)] {
            for volume in [MemoryVolume(), SimulatedVolume(seed: 24)] as [any Volume] {
                let engine = try StoreEngine(
                    opening: volume, options: options(segmentLength: length))
                let committer = committer(engine, policy(engine, loneFlushes: 8))
                try append(1, to: engine)
                var isDone = try committer.flushInline()
                #expect(isDone && engine.durableCommit == 1)
                engine.updatePressure()
                try append(1, to: engine)
                isDone = try committer.flushInline()
                let expected: CommitID = isDelayed ? 1 : 2
                #expect(isDone != isDelayed && engine.durableCommit == expected)
                try engine.close()
            }
        }
    }

    @Test func `a store in memory needs no lone writer, and maintenance wakes for each segment`()
        throws
    {
        // Each segment has three records.
        for (volume, loneFlushes) in [
            (MemoryVolume(), 0), (SimulatedVolume(seed: 24), 8),
        ] as [(any Volume, Int)] {
            let engine = try StoreEngine(opening: volume, options: options(segmentLength: 480))
            let calls = RecordedCalls()
            let committer = committer(engine, policy(engine, loneFlushes: loneFlushes), calls)
            var isDone = try committer.flushInline()
            #expect(isDone && calls.take() == [])
            for number in 1...7 as ClosedRange<UInt8> {
                try append(number % 2, to: engine)
                isDone = try committer.flushInline()
                #expect(isDone && engine.durableCommit == CommitID(number))
                let expected = number % 3 == 1 ? ["segment"] : []
                #expect(calls.take() == expected, "\(number)")
            }
            try engine.close()
        }
    }

    @Test func `a failed flush of a writer is thrown to it`() throws {
        let volume = SimulatedVolume(seed: 24)
        let engine = try StoreEngine(opening: volume, options: options())
        let calls = RecordedCalls()
        let committer = committer(engine, policy(engine, loneFlushes: 8), calls)
        try append(1, to: engine)
        volume.inject(SimulatedFault(.error(.inputOutput), of: .synchronize, forEver: true))
        #expect(throws: StorageError.self) { try committer.flushInline() }
        #expect(engine.durableCommit == 0 && calls.take() == [])
    }
}

/// A clock whose time stands still, and moves on to the next one in a single step.
private final class SteppedTime: Sendable {
    private struct State {
        var now: UInt64 = 1_000
        var next: UInt64 = 0
    }

    private let state = Mutex(State())

    var clock: Clock {
        Clock(
            wallMilliseconds: { 5_000 },
            monotonicNanoseconds: { self.state.withLock { $0.now } })
    }

    /// Sets the time that `reach` advances to.
    func setNext(after nanoseconds: UInt64) {
        state.withLock { $0.next = $0.now + nanoseconds }
    }

    func reach() {
        state.withLock { $0.now = max($0.now, $0.next) }
    }
}
