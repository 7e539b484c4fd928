import SheafDocument
import SheafTestSupport
import Testing

@Suite struct HybridClockTests {
    private let site = Site(rawValue: 7)

    @Test func `stamps increase, and are at most 2 ms later than the latest seen time`() throws {
        var random = SeededRandom(seed: 5, "clock")
        var clock = HybridClock(site: site)
        var latest = Stamp.initial
        var wall: UInt64 = 1_700_000_000_000
        var highest = wall
        for _ in 0..<100_000 {
            switch random.below(20) {
            case 0: wall += UInt64(random.below(1_000_000))
            case 1: wall -= UInt64(random.below(1_000_000))
            case 2: wall += 1
            default: break
            }
            highest = max(highest, wall)
            if random.chance(1, in: 10) {
                let seen = HybridTime(milliseconds: wall + UInt64(random.below(300_001)))
                try clock.observe(seen, at: wall)
                highest = max(highest, seen.milliseconds)
            }
            let stamp = try clock.next(at: wall)
            #expect(stamp > latest && stamp.site == site)
            // Only an exhausted counter advances the time beyond the highest wall clock.
            #expect(stamp.time.milliseconds <= highest + 2)
            latest = stamp
            // A reopened clock continues from the latest stamp.
            if random.chance(1, in: 1_000) {
                clock = HybridClock(site: site, latest: latest.time)
            }
        }
    }

    @Test func `an exhausted counter advances the time`() throws {
        var clock = HybridClock(site: site)
        var latest = try clock.next(at: 1_000)
        for _ in 0..<200_000 {
            let stamp = try clock.next(at: 1_000)
            #expect(stamp > latest)
            latest = stamp
        }
        #expect(latest.time.milliseconds == 1_003)
    }

    @Test func `a time far in the future is refused and does not advance the clock`() throws {
        var clock = HybridClock(site: site)
        let before = try clock.next(at: 1_000_000)
        for milliseconds in [1_300_001, 1 << 40, HybridTime.maximumMilliseconds] as [UInt64] {
            #expect(throws: DocumentError.self) {
                try clock.observe(HybridTime(milliseconds: milliseconds), at: 1_000_000)
            }
        }
        #expect(clock.latest == before.time)
        // Many small steps advance the clock no further than one.
        for step in 1...100 as ClosedRange<UInt64> {
            try? clock.observe(HybridTime(milliseconds: 1_000_000 + step * 100_000), at: 1_000_000)
        }
        #expect(clock.latest.milliseconds == 1_300_000)
        #expect(try clock.next(at: 1_000_000).time.milliseconds == 1_300_000)
    }

    @Test func `a clock at the maximum time draws no further stamp`() throws {
        let end = HybridTime(rawValue: .max)
        var clock = HybridClock(site: site, latest: end)
        #expect(throws: DocumentError.time(.exhausted)) { try clock.next(at: 5) }
        #expect(throws: DocumentError.time(.exhausted)) { try clock.next(at: .max) }
    }

    @Test func `stamps are ordered by time, then by site, and INITIAL is the first`() {
        let time = HybridTime(milliseconds: 1, counter: 0)
        let stamps = [
            Stamp.initial, Stamp(.initial, site), Stamp(time, Site(rawValue: 1)),
            Stamp(time, Site(rawValue: .max)),
            Stamp(HybridTime(rawValue: time.rawValue + 1), .initial),
        ]
        #expect(stamps.shuffled().sorted() == stamps)
    }
}
