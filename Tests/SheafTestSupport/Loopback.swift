#if canImport(Glibc)
    package import Glibc
#elseif canImport(Musl)
    package import Musl
#else
    package import Darwin
#endif

/// Plain loopback sockets for tests without a transport.
package enum Loopback {
    /// Creates a TCP socket that child processes do not inherit.
    package static func socket() -> Int32 {
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

    /// Returns a loopback address, 127.0.0.1 to 127.0.0.255, with a port.
    package static func address(port: UInt16, host: UInt8 = 1) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = (UInt32(0x7F00_0000) | UInt32(host)).bigEndian
        return address
    }

    /// Returns ports that systems do not give to outgoing connections: while a server is dead, such
    /// a connection could take its port.
    package static func freePorts(_ count: Int) -> [UInt16] {
        var sockets: [Int32] = []
        var ports: [UInt16] = []
        defer { for socket in sockets { close(socket) } }
        while ports.count < count {
            let port = UInt16.random(in: 10_000..<32_000)
            let socket = Self.socket()
            sockets.append(socket)
            var address = Self.address(port: port)
            let isFree = withUnsafePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                    bind(socket, pointer, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
                }
            }
            if isFree { ports.append(port) }
        }
        return ports
    }
}
