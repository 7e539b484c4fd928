import SheafBytes

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The running operating system.
enum RunningSystem {
    /// The hash of an identifier that each start of the system draws anew; zero if there is none.
    static let identity: UInt64 = {
        guard let text = startIdentifier(), !text.isEmpty else { return 0 }
        return text.withUnsafeBytes { max(XXH3.hash64($0), 1) }
    }()

    #if canImport(Darwin)
        private static func startIdentifier() -> [UInt8]? {
            var length = 0
            let name = "kern.bootsessionuuid"
            guard sysctlbyname(name, nil, &length, nil, 0) == 0, length > 0 else { return nil }
            var text = [UInt8](repeating: 0, count: length)
            guard sysctlbyname(name, &text, &length, nil, 0) == 0 else { return nil }
            return Array(text.prefix(length))
        }
    #else
        private static func startIdentifier() -> [UInt8]? {
            let file = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC)
            guard file >= 0 else { return nil }
            defer { _ = close(file) }
            var text = [UInt8](repeating: 0, count: 64)
            let count = read(file, &text, text.count)
            return count > 0 ? Array(text.prefix(count)) : nil
        }
    #endif
}
