#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// What this process may use.
enum AddressSpace {
    /// Lets the process have so many more bytes than it has.
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
            guard setrlimit(space, &limit) == 0 else { throw CrashFailure("there is no limit") }
            var nothing = rlimit(rlim_cur: 0, rlim_max: 0)
            setrlimit(core, &nothing)
            // What the runtime says at its end is no failure of a test.
            let silence = open("/dev/null", O_WRONLY)
            dup2(silence, 2)
        #endif
    }

    /// How many bytes the process has, whether they are in memory or not.
    static func used() throws -> Int {
        guard let file = fopen("/proc/self/statm", "r") else { throw CrashFailure("no statm") }
        defer { fclose(file) }
        var text = [CChar](repeating: 0, count: 256)
        fgets(&text, Int32(text.count), file)
        let bytes = text.map { UInt8(bitPattern: $0) }.prefix { $0 != 0x20 && $0 != 0 }
        guard let count = Int(String(decoding: bytes, as: UTF8.self)) else {
            throw CrashFailure("statm has no number")
        }
        return count * Int(sysconf(Int32(_SC_PAGESIZE)))
    }
}
