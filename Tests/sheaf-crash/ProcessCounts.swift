#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// What the system holds for this process.
struct ProcessCounts: CustomStringConvertible {
    let descriptors: Int
    let threads: Int
    /// Zero where the system does not tell.
    let residentBytes: Int

    /// Whether there is more of something than there was.
    func hasGrown(from before: ProcessCounts, allowing bytes: Int) -> Bool {
        descriptors > before.descriptors || threads > before.threads
            || residentBytes > before.residentBytes + bytes
    }

    static func now() -> ProcessCounts {
        #if os(Linux)
            return ProcessCounts(
                descriptors: entries("/proc/self/fd"), threads: entries("/proc/self/task"),
                residentBytes: residentPages() * sysconf(Int32(_SC_PAGESIZE)))
        #else
            return ProcessCounts(descriptors: entries("/dev/fd"), threads: 0, residentBytes: 0)
        #endif
    }

    var description: String {
        "\(descriptors) descriptors, \(threads) threads, \(residentBytes >> 10) KiB"
    }

    /// The second number in `statm`.
    private static func residentPages() -> Int {
        guard let file = fopen("/proc/self/statm", "r") else { return 0 }
        defer { fclose(file) }
        var text = [CChar](repeating: 0, count: 256)
        guard fgets(&text, Int32(text.count), file) != nil else { return 0 }
        let line = String(
            decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return line.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
    }

    /// How many names a directory has.
    static func entries(_ path: String) -> Int {
        guard let stream = opendir(path) else { return 0 }
        defer { closedir(stream) }
        var count = 0
        while readdir(stream) != nil { count += 1 }
        return count
    }
}
