#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// A source of time; passed to all code that needs it, so that tests control it.
package struct Clock: Sendable {
    /// The maximum wall time in milliseconds: 48 bits, in the year 10889.
    ///
    /// A clock can be set to any time. Below this limit, adding a period to a time cannot overflow.
    package static let maximumWallMilliseconds: UInt64 = 1 << 48 - 1

    private let wall: @Sendable () -> UInt64
    /// The nanoseconds since an unspecified time; never decreasing.
    package let monotonicNanoseconds: @Sendable () -> UInt64

    /// Creates a clock; wall times above `maximumWallMilliseconds` are reduced to it.
    package init(
        wallMilliseconds: @escaping @Sendable () -> UInt64,
        monotonicNanoseconds: @escaping @Sendable () -> UInt64
    ) {
        wall = wallMilliseconds
        self.monotonicNanoseconds = monotonicNanoseconds
    }

    /// Returns the milliseconds since 1970; users and time servers may set this clock back.
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

    /// Converts a time to units: zero before 1970, and `UInt64.max` on overflow.
    package static func units(seconds: Int64, nanoseconds: Int64, perSecond: UInt64) -> UInt64 {
        // A machine without a battery may start before 1970.
        guard seconds >= 0, nanoseconds >= 0, perSecond > 0 else { return 0 }
        let (units, isTooLarge) = UInt64(seconds).multipliedReportingOverflow(by: perSecond)
        let rest = UInt64(nanoseconds) / (1_000_000_000 / min(perSecond, 1_000_000_000))
        let (sum, isSumTooLarge) = units.addingReportingOverflow(rest)
        return isTooLarge || isSumTooLarge ? .max : sum
    }
}

/// Services of the operating system other than clocks and threads.
package enum OperatingSystem {
    /// The identifier of this process.
    package static var processIdentifier: Int32 { getpid() }

    /// Writes a text to standard error with one system call.
    package static func writeToStandardError(_ text: String) {
        var text = text
        text.withUTF8 { bytes in
            // A failure is ignored, because there is no other output to report it on.
            _ = write(STDERR_FILENO, bytes.baseAddress, bytes.count)
        }
    }

    /// Returns an unpredictable random number.
    package static func randomInteger() -> UInt64 {
        var generator = SystemRandomNumberGenerator()
        return generator.next()
    }
}
