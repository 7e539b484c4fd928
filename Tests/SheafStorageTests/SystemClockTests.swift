import SheafStorage
import SheafSystem
import Testing

/// Conversion of times of the operating system.
struct SystemClockTests {
    @Test func `times of the operating system convert to milliseconds, clamped to 64 bits`() {
        func milliseconds(_ seconds: Int64, _ nanoseconds: Int64 = 0) -> UInt64 {
            Clock.units(seconds: seconds, nanoseconds: nanoseconds, perSecond: 1_000)
        }
        #expect(milliseconds(.min) == 0)
        #expect(milliseconds(-1, 999_999_999) == 0)
        #expect(milliseconds(0) == 0)
        #expect(milliseconds(1_700_000_000, 123_999_999) == 1_700_000_000_123)
        // From the year 2554 on, nanoseconds since 1970 exceed 64 bits.
        #expect(milliseconds(18_446_744_074) == 18_446_744_074_000)
        #expect(milliseconds(253_402_300_799, 999_999_999) == 253_402_300_799_999)
        #expect(milliseconds(9_214_364_837_600_034) == 9_214_364_837_600_034_000)
        #expect(milliseconds(.max, 999_999_999) == .max)
    }

    @Test func `times of the operating system convert to nanoseconds, clamped to 64 bits`() {
        func nanoseconds(_ seconds: Int64, _ nanoseconds: Int64) -> UInt64 {
            Clock.units(
                seconds: seconds, nanoseconds: nanoseconds, perSecond: 1_000_000_000)
        }
        #expect(nanoseconds(3, 7) == 3_000_000_007)
        #expect(nanoseconds(18_446_744_073, 709_551_615) == .max)
        #expect(nanoseconds(18_446_744_073, 709_551_616) == .max)
        #expect(nanoseconds(18_446_744_074, 0) == .max)
        #expect(nanoseconds(-1, 0) == 0)
    }

    @Test func `the wall time of a clock is at most 2^48-1 milliseconds`() {
        func reading(_ wall: UInt64) -> UInt64 {
            Clock(wallMilliseconds: { wall }, monotonicNanoseconds: { 0 }).wallMilliseconds()
        }
        for wall in [0, 281_474_976_710_654, 281_474_976_710_655] as [UInt64] {
            #expect(reading(wall) == wall)
        }
        for wall in [281_474_976_710_656, .max] as [UInt64] {
            #expect(reading(wall) == 281_474_976_710_655)
        }
    }
}
