#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Sockets of those who talk without a transport.
enum Loopback {
    /// A socket of TCP, which programs that other tests start do not get.
    static func socket() -> Int32 {
        #if canImport(Glibc)
            let descriptor = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        #elseif canImport(Musl)
            let descriptor = Musl.socket(AF_INET, SOCK_STREAM, 0)
        #else
            let descriptor = Darwin.socket(AF_INET, SOCK_STREAM, 0)
        #endif
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        return descriptor
    }

    /// An address of this machine, 127.0.0.1 to 127.0.0.255, with a port.
    static func place(port: UInt16, host: UInt8 = 1) -> sockaddr_in {
        var place = sockaddr_in()
        place.sin_family = sa_family_t(AF_INET)
        place.sin_port = port.bigEndian
        place.sin_addr.s_addr = (UInt32(0x7F00_0000) | UInt32(host)).bigEndian
        return place
    }
}
