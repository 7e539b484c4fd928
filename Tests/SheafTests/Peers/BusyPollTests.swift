import Sheaf
import SheafSystem
import SheafTestSupport
import Synchronization
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Threads that look for work for a bounded time before they sleep.
struct BusyPollTests {
    /// A transport without connections that records what its host asks for.
    private final class RecordingTransport: PeerTransport {
        let busyPollMicroseconds = Mutex<[Int]>([])

        func start(_ host: any PeerTransportHost) {
            busyPollMicroseconds.withLock { $0.append(host.busyPollMicroseconds) }
        }

        func stop() {}
    }

    private static func deadline(milliseconds: UInt64) -> UInt64 {
        Clock.system.monotonicNanoseconds() + milliseconds * 1_000_000
    }

    /// Waits for a change that is not signaled; returns whether the thread noticed it.
    private static func notices(_ polling: BusyPoll) -> Bool {
        var checks = 0
        // A thread that sleeps until the deadline checks three times at most.
        return Monitor(false).wait(
            until: deadline(milliseconds: 20), polling: polling,
            while: { _ in
                checks += 1
                return checks < 6
            }, then: { _ in checks >= 6 })
    }

    @Test func `a thread that polls notices changes without a signal`() {
        let polling = BusyPoll(microseconds: BusyPoll.maximumMicroseconds)
        // Under load the thread may not run often enough in one of the waits.
        #expect((0..<500).contains { _ in Self.notices(polling) })
        #expect(!(0..<5).contains { _ in Self.notices(.off) })
        #expect(!(0..<5).contains { _ in Self.notices(BusyPoll(microseconds: -1)) })
    }

    @Test(arguments: [BusyPoll.maximumMicroseconds, .max])
    func `a thread polls for at most a millisecond before it sleeps`(microseconds: Int) {
        func processorNanoseconds() -> UInt64 {
            var time = timespec()
            clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
            return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
        }
        let start = processorNanoseconds()
        let isOver = Monitor(false).wait(
            until: Self.deadline(milliseconds: 400),
            polling: BusyPoll(microseconds: microseconds), while: { !$0 }, then: { $0 })
        #expect(!isOver)
        #expect(processorNanoseconds() - start < 100_000_000)
    }

    @Test func `polling ends at the deadline`() {
        let deadline = Self.deadline(milliseconds: 0)
        var checks = 0
        BusyPoll(microseconds: BusyPoll.maximumMicroseconds).poll(until: deadline) {
            checks += 1
            return false
        }
        #expect(checks == 1)
    }

    @Test func `a peer passes its time to the transports`() async throws {
        let transport = RecordingTransport()
        for microseconds in [0, 1, 1_000] {
            var configuration = PeerConfiguration(
                databaseID: "sixteen letters!", transports: [transport])
            configuration.busyPollMicroseconds = microseconds
            let peer = try await Peer.inMemory(configuration: configuration)
            try peer.sync.start()
            try await peer.store.execute("INSERT INTO t DOCUMENTS ({'_id': 1})")
            try await peer.close()
        }
        #expect(transport.busyPollMicroseconds.withLock { $0 } == [0, 1, 1_000])
    }

    @Test(arguments: [-1, 1_001, .min, .max])
    func `a time that is out of range is refused`(microseconds: Int) async throws {
        var configuration = PeerConfiguration(databaseID: "sixteen letters!")
        configuration.busyPollMicroseconds = microseconds
        let error = await #expect(throws: StoreError.self) {
            _ = try await Peer.inMemory(configuration: configuration)
        }
        #expect(error?.reason == .argument)
        #expect(
            error?.message
                == "the configuration of a peer has \(microseconds) as busyPollMicroseconds; it "
                + "must be from 0 to 1000")
    }
}
