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

    @Test func `a time is accepted up to the tolerance ahead of the wall clock`() throws {
        #expect(HybridClock.defaultLeniencyMilliseconds == 300_000)
        var clock = HybridClock(site: site, leniencyMilliseconds: 50)
        for (milliseconds, wall, ahead) in [
            (1_050, 1_000, 50), (1_051, 1_000, 51), (999, 1_000, 0), (50, 0, 50), (51, 0, 51),
        ] as [(UInt64, UInt64, UInt64)] {
            let time = HybridTime(milliseconds: milliseconds, counter: 65_535)
            #expect(clock.isAcceptable(time, at: wall) == (ahead <= 50))
            let latest = clock.latest
            if ahead <= 50 {
                try clock.observe(time, at: wall)
                #expect(clock.latest == max(latest, time))
            } else {
                let error = DocumentError.time(.ahead(milliseconds: ahead, limit: 50))
                #expect(throws: error) { try clock.observe(time, at: wall) }
                #expect(clock.latest == latest)
            }
        }
        #expect(
            DocumentError.time(.ahead(milliseconds: 51, limit: 50)).description
                == "the time is 51 ms ahead of the local clock; the limit is 50 ms; "
                + "correct the clock of the writing device or of this one")
    }

    @Test func `a clock advances to a later millisecond, and never back`() throws {
        let start = HybridTime(milliseconds: 100, counter: 5)
        var clock = HybridClock(site: site, latest: start)
        clock.advance(toMilliseconds: 99)
        clock.advance(toMilliseconds: 100)
        #expect(clock.latest == start)
        clock.advance(toMilliseconds: 101)
        #expect(clock.latest == HybridTime(milliseconds: 101, counter: 0))
        #expect(try clock.next(at: 101).time == HybridTime(milliseconds: 101, counter: 1))
        #expect(try clock.next(at: 102).time == HybridTime(milliseconds: 102, counter: 0))
        clock.advance(toMilliseconds: .max)
        #expect(clock.latest == HybridTime(milliseconds: HybridTime.maximumMilliseconds))
    }

    @Test func `the counter of a clock goes up to 65,535 in one millisecond`() throws {
        let end = HybridTime(milliseconds: 100, counter: 65_534)
        var clock = HybridClock(site: site, latest: end)
        #expect(try clock.next(at: 100).time == HybridTime(milliseconds: 100, counter: 65_535))
        #expect(try clock.next(at: 100).time == HybridTime(milliseconds: 101, counter: 0))
        let last = HybridTime.maximumMilliseconds
        clock = HybridClock(site: site, latest: HybridTime(milliseconds: last, counter: 65_534))
        #expect(try clock.next(at: 0).time == HybridTime(rawValue: .max))
        #expect(throws: DocumentError.time(.exhausted)) { try clock.next(at: 0) }
    }

    @Test func `a time has milliseconds and a counter, and a site has 16 digits`() {
        let time = HybridTime(milliseconds: 0x0102_0304, counter: 0x0506)
        #expect(time.rawValue == 0x0102_0304_0506)
        #expect(time.milliseconds == 0x0102_0304 && time.counter == 0x0506)
        #expect(time.next.rawValue == 0x0102_0304_0507)
        #expect(HybridTime(rawValue: .max - 1).next.rawValue == .max)
        #expect(HybridTime(rawValue: .max).next.rawValue == .max)
        #expect(HybridTime.maximumMilliseconds == 0xFFFF_FFFF_FFFF)
        #expect(Site(rawValue: 0xABC).text == "0000000000000abc")
        #expect(Site(rawValue: .max).text == "ffffffffffffffff")
        #expect(Site.initial.text == "initial" && Site(rawValue: 1).text == "0000000000000001")
    }
}
