import SheafSystem

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Prints a line without buffering, so that no output is lost in a crash.
func printLine(_ line: String) {
    write(line + "\n", to: 1)
}

/// Writes to a descriptor without buffering.
func write(_ text: String, to descriptor: Int32) {
    _ = text.utf8.withContiguousStorageIfAvailable { bytes in
        #if canImport(Glibc)
            Glibc.write(descriptor, bytes.baseAddress, bytes.count)
        #elseif canImport(Musl)
            Musl.write(descriptor, bytes.baseAddress, bytes.count)
        #else
            Darwin.write(descriptor, bytes.baseAddress, bytes.count)
        #endif
    }
}

/// Replaces the contents of a file; returns whether it succeeded.
func replaceFile(at path: String, with text: String) -> Bool {
    guard let stream = fopen(path, "w") else { return false }
    fputs(text, stream)
    return fclose(stream) == 0
}

/// Exits the process.
func exitProcess(_ code: Int32) -> Never {
    exit(code)
}

/// The time since the creation of the value.
struct Stopwatch: CustomStringConvertible {
    private let started = Clock.system.monotonicNanoseconds()

    var nanoseconds: UInt64 { Clock.system.monotonicNanoseconds() - started }

    /// The time in seconds, with one decimal.
    var description: String {
        let tenths = nanoseconds / 100_000_000
        return "\(tenths / 10).\(tenths % 10) s"
    }
}
