#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// What time it is: everything that asks gets its clock from outside, so that tests can move it.
package struct Clock: Sendable {
    /// The greatest time that a wall clock shows: 48 bits, in the year 10889.
    ///
    /// A clock can be set to any time. Below this limit, adding a period to a time cannot overflow.
    package static let maximumWallMilliseconds: UInt64 = 1 << 48 - 1

    private let wall: @Sendable () -> UInt64
    /// Nanoseconds since an unknown moment; never goes back.
    package let monotonicNanoseconds: @Sendable () -> UInt64

    /// Makes a clock of two functions.
    package init(
        wallMilliseconds: @escaping @Sendable () -> UInt64,
        monotonicNanoseconds: @escaping @Sendable () -> UInt64
    ) {
        wall = wallMilliseconds
        self.monotonicNanoseconds = monotonicNanoseconds
    }

    /// Returns the milliseconds since 1970; people and networks may set this clock, also backwards.
    package func wallMilliseconds() -> UInt64 { min(wall(), Self.maximumWallMilliseconds) }

    /// The clock of the machine.
    package static let system = Clock(
        wallMilliseconds: { time(of: CLOCK_REALTIME, perSecond: 1_000) },
        monotonicNanoseconds: { time(of: CLOCK_MONOTONIC, perSecond: 1_000_000_000) })

    private static func time(of clock: clockid_t, perSecond: UInt64) -> UInt64 {
        var time = timespec()
        clock_gettime(clock, &time)
        return units(
            seconds: Int64(time.tv_sec), nanoseconds: Int64(time.tv_nsec), perSecond: perSecond)
    }

    /// Returns a time as a number of units, 0 before 1970, and `UInt64.max` beyond what fits.
    package static func units(seconds: Int64, nanoseconds: Int64, perSecond: UInt64) -> UInt64 {
        // A machine without a battery may start before 1970.
        guard seconds >= 0, nanoseconds >= 0, perSecond > 0 else { return 0 }
        let (units, isTooLarge) = UInt64(seconds).multipliedReportingOverflow(by: perSecond)
        let rest = UInt64(nanoseconds) / (1_000_000_000 / min(perSecond, 1_000_000_000))
        let (sum, isSumTooLarge) = units.addingReportingOverflow(rest)
        return isTooLarge || isSumTooLarge ? .max : sum
    }
}

/// What else the operating system knows that the storage asks for.
package enum OperatingSystem {
    /// The number of this process.
    package static var processIdentifier: Int32 { getpid() }

    /// Writes a text for people to read, in one piece.
    package static func writeToStandardError(_ text: String) {
        var text = text
        text.withUTF8 { bytes in
            // Where nobody reads it, nobody is told.
            _ = write(STDERR_FILENO, bytes.baseAddress, bytes.count)
        }
    }

    /// A number that nobody can guess, and that will not be drawn twice.
    package static func randomInteger() -> UInt64 {
        var generator = SystemRandomNumberGenerator()
        return generator.next()
    }
}
