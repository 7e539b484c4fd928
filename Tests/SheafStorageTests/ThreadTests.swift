import SheafStorage
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

@Suite struct ThreadTests {
    @Test func `a thread runs once, and joining waits for its end`() throws {
        for _ in 0..<200 {
            let runs = Counter()
            let threads = try (0..<4).map { number in
                try Thread(name: "a name longer than fifteen bytes \(number)") { runs.add(1) }
            }
            for thread in threads {
                thread.join()
                thread.join()
            }
            #expect(runs.sum == 4)
        }
    }

    @Test func `the monotonic clock never goes back, and the wall clock shows a recent year`() {
        var last = Clock.system.monotonicNanoseconds()
        for _ in 0..<10_000 {
            let now = Clock.system.monotonicNanoseconds()
            #expect(now >= last)
            last = now
        }
        #expect(Clock.system.wallMilliseconds() > 1_577_836_800_000)
        #expect(OperatingSystem.processIdentifier == getpid())
        #expect(OperatingSystem.randomInteger() != OperatingSystem.randomInteger())
    }

    @Test func `a fake clock advances only on request`() {
        let fake = FakeClock(wallMilliseconds: 1_000, monotonicNanoseconds: 5)
        let clock = fake.clock
        fake.advance(milliseconds: 2)
        #expect(clock.wallMilliseconds() == 1_002)
        #expect(clock.monotonicNanoseconds() == 2_000_005)
        fake.setWall(milliseconds: 1)
        #expect(clock.wallMilliseconds() == 1)
        #expect(clock.monotonicNanoseconds() == 2_000_005)
    }
}

/// A sum shared by threads.
final class Counter: Sendable {
    private let value = Atomic<Int>(0)

    /// The current sum.
    var sum: Int { value.load(ordering: .relaxed) }

    /// Adds a number to the sum.
    func add(_ number: Int) {
        value.add(number, ordering: .relaxed)
    }
}
