#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The address space limit of this process.
enum AddressSpace {
    /// Limits the address space to `room` bytes more than are in use.
    static func limit(toMore room: Int) throws {
        #if os(Linux)
            let used = try used()
            var limit = rlimit(rlim_cur: rlim_t(used + room), rlim_max: rlim_t(used + room))
            #if canImport(Glibc)
                let space = __rlimit_resource_t(RLIMIT_AS.rawValue)
                let core = __rlimit_resource_t(RLIMIT_CORE.rawValue)
            #else
                let (space, core) = (RLIMIT_AS, RLIMIT_CORE)
            #endif
            guard setrlimit(space, &limit) == 0 else { throw CrashFailure("setrlimit failed") }
            var nothing = rlimit(rlim_cur: 0, rlim_max: 0)
            setrlimit(core, &nothing)
            // The crash report of the runtime on standard error is not a test failure.
            let silence = open("/dev/null", O_WRONLY)
            dup2(silence, 2)
        #endif
    }

    /// Returns the size of the address space in bytes, resident or not.
    static func used() throws -> Int {
        guard let file = fopen("/proc/self/statm", "r") else { throw CrashFailure("statm missing") }
        defer { fclose(file) }
        var text = [CChar](repeating: 0, count: 256)
        fgets(&text, Int32(text.count), file)
        let bytes = text.map { UInt8(bitPattern: $0) }.prefix { $0 != 0x20 && $0 != 0 }
        guard let count = Int(String(decoding: bytes, as: UTF8.self)) else {
            throw CrashFailure("/proc/self/statm does not start with a number")
        }
        return count * Int(sysconf(Int32(_SC_PAGESIZE)))
    }
}
