#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Resources of this process that belong to the database.
///
/// Threads of the concurrency runtime are excluded because they follow the load, and resident
/// memory because it includes the caches that the allocator keeps per thread.
struct ProcessCounts: CustomStringConvertible {
    let descriptors: Int
    /// The number of threads whose names show that the database started them.
    let threads: Int
    /// The number of mapped regions of files, including those of programs and libraries.
    let mappings: Int
    /// Bytes allocated and not freed; zero if the allocator does not report them.
    let allocatedBytes: Int

    /// Whether any count exceeds its value in `before`, allocated bytes by more than `bytes`.
    func hasGrown(from before: ProcessCounts, allowing bytes: Int) -> Bool {
        descriptors > before.descriptors || threads > before.threads
            || mappings > before.mappings || allocatedBytes > before.allocatedBytes + bytes
    }

    static func now() -> ProcessCounts {
        #if os(Linux)
            return ProcessCounts(
                descriptors: names("/proc/self/fd").count, threads: ownThreads(),
                mappings: mappedFiles(), allocatedBytes: allocated())
        #else
            return ProcessCounts(
                descriptors: names("/dev/fd").count, threads: 0, mappings: 0, allocatedBytes: 0)
        #endif
    }

    var description: String {
        "\(descriptors) descriptors, \(threads) threads, \(mappings) mapped files, "
            + "\(allocatedBytes >> 10) KiB"
    }

    /// Returns the number of entries of a directory.
    static func entries(_ path: String) -> Int {
        names(path).count
    }

    /// Counts the threads with names of the database; the main thread has the program's name.
    private static func ownThreads() -> Int {
        names("/proc/self/task").count { name in
            guard Int32(name).map({ $0 != getpid() }) == true else { return false }
            return lines("/proc/self/task/\(name)/comm").first?.hasPrefix("sheaf-") == true
        }
    }

    private static func mappedFiles() -> Int {
        lines("/proc/self/maps").count { $0.contains("/") }
    }

    /// Returns the bytes the allocator has obtained from the system and not freed.
    private static func allocated() -> Int {
        let sizes = allocatorSizes()
        return (sizes["system current"] ?? 0) + (sizes["total mmap"] ?? 0)
            - (sizes["total fast"] ?? 0) - (sizes["total rest"] ?? 0)
    }

    /// Returns the totals of all arenas from `malloc_info` of glibc.
    ///
    /// The totals are lines such as `<total type="rest" count="3" size="1200"/>`.
    private static func allocatorSizes() -> [String: Int] {
        typealias Report = @convention(c) (CInt, OpaquePointer) -> CInt
        var text: UnsafeMutablePointer<CChar>?
        var length = 0
        guard let symbol = dlsym(dlopen(nil, RTLD_NOW), "malloc_info"),
            let stream = open_memstream(&text, &length)
        else { return [:] }
        _ = unsafeBitCast(symbol, to: Report.self)(0, OpaquePointer(stream))
        fclose(stream)
        defer { free(text) }
        guard let text else { return [:] }
        var sizes: [String: Int] = [:]
        for line in String(cString: text).split(separator: "\n") {
            let parts = line.split(separator: "\"")
            guard parts.count >= 4, line.hasPrefix("<total") || line.hasPrefix("<system") else {
                continue
            }
            let element = line.dropFirst().prefix { $0 != " " }
            sizes["\(element) \(parts[1])"] = Int(parts[parts.count - 2])
        }
        return sizes
    }

    private static func names(_ path: String) -> [String] {
        guard let stream = opendir(path) else { return [] }
        defer { closedir(stream) }
        var names: [String] = []
        while let entry = readdir(stream) {
            names.append(
                withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                    String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
                })
        }
        return names
    }

    private static func lines(_ path: String) -> [String] {
        guard let file = fopen(path, "r") else { return [] }
        defer { fclose(file) }
        var lines: [String] = []
        var text = [CChar](repeating: 0, count: 4096)
        while fgets(&text, Int32(text.count), file) != nil {
            lines.append(
                String(
                    decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self))
        }
        return lines
    }
}
