#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// What time it is: everything that asks gets its clock from outside, so that tests can move it.
package struct Clock: Sendable {
    /// Milliseconds since 1970; people and networks may set this clock, also backwards.
    package let wallMilliseconds: @Sendable () -> UInt64
    /// Nanoseconds since an unknown moment; never goes back.
    package let monotonicNanoseconds: @Sendable () -> UInt64

    /// Makes a clock of two functions.
    package init(
        wallMilliseconds: @escaping @Sendable () -> UInt64,
        monotonicNanoseconds: @escaping @Sendable () -> UInt64
    ) {
        self.wallMilliseconds = wallMilliseconds
        self.monotonicNanoseconds = monotonicNanoseconds
    }

    /// The clock of the machine.
    package static let system = Clock(
        wallMilliseconds: { nanoseconds(of: CLOCK_REALTIME) / 1_000_000 },
        monotonicNanoseconds: { nanoseconds(of: CLOCK_MONOTONIC) })

    private static func nanoseconds(of clock: clockid_t) -> UInt64 {
        var time = timespec()
        clock_gettime(clock, &time)
        // A machine without a battery may believe that it is before 1970.
        guard time.tv_sec >= 0 else { return 0 }
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
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
