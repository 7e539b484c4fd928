#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The memory of the process.
package enum ProcessMemory {
    /// The number of bytes in use; nil if the system does not report it.
    package static var residentBytes: Int? {
        #if os(Linux)
            guard let file = fopen("/proc/self/statm", "re") else { return nil }
            defer { fclose(file) }
            var line = [CChar](repeating: 0, count: 128)
            guard fgets(&line, Int32(line.count), file) != nil else { return nil }
            // The second number counts resident pages.
            let numbers = String(
                decoding: line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self
            )
            .split(separator: " ")
            guard let pages = numbers.dropFirst().first.flatMap({ Int($0) }) else { return nil }
            return pages * sysconf(Int32(_SC_PAGESIZE))
        #else
            var usage = rusage()
            guard getrusage(RUSAGE_SELF, &usage) == 0 else { return nil }
            return usage.ru_maxrss
        #endif
    }
}
