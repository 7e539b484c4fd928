#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// A network interface that is up, with its addresses.
struct NetworkInterface: Hashable, Sendable {
    let index: UInt32
    let name: String
    /// Whether it is operational (`IFF_RUNNING`).
    let isRunning: Bool
    /// Whether it carries packets to all hosts of a network.
    let carriesMulticast: Bool
    var addresses: [InterfaceAddress]

    /// Returns the interfaces of this host that reach other hosts.
    ///
    /// Returns nil if the system cannot list them, for example because it has no descriptor left.
    static func all() -> [NetworkInterface]? {
        var first: UnsafeMutablePointer<ifaddrs>?
        guard getifaddrs(&first) == 0 else { return nil }
        defer { freeifaddrs(first) }
        var found: [UInt32: NetworkInterface] = [:]
        var next = first
        while let entry = next?.pointee {
            next = entry.ifa_next
            let flags = Int32(bitPattern: UInt32(truncatingIfNeeded: entry.ifa_flags))
            guard flags & Int32(IFF_UP) != 0, flags & Int32(IFF_LOOPBACK) == 0,
                let address = SocketAddress(UnsafePointer(entry.ifa_addr))?.ip
            else { continue }
            let index = if_nametoindex(entry.ifa_name)
            guard index > 0 else {
                guard errno == ENXIO || errno == ENODEV else { return nil }
                continue
            }
            let mask = SocketAddress(UnsafePointer(entry.ifa_netmask))?.ip?.bytes ?? []
            // Without a mask, the interface reaches only itself.
            let length =
                mask.isEmpty ? .max : mask.reduce(0) { $0 + $1.nonzeroBitCount }
            found[
                index,
                default: NetworkInterface(
                    index: index, name: String(cString: entry.ifa_name),
                    isRunning: flags & Int32(IFF_RUNNING) != 0,
                    carriesMulticast: flags & multicastFlags == Int32(IFF_MULTICAST),
                    addresses: [])
            ].addresses.append(InterfaceAddress(address, prefixLength: length))
        }
        return found.values.sorted { $0.index < $1.index }
    }

    private static let multicastFlags = Int32(IFF_MULTICAST | IFF_POINTOPOINT)
}

/// A descriptor that becomes readable when the interfaces of this host change.
final class InterfaceChanges: Sendable {
    let number: Int32

    /// Returns nil if the system does not report changes.
    init?() {
        #if canImport(Darwin)
            number = socket(PF_ROUTE, SOCK_RAW, 0)
            guard number >= 0 else { return nil }
        #else
            let (family, raw, route): (Int32, Int32, Int32) = (16, 3, 0)
            number = socket(family, raw, route)
            guard number >= 0 else { return nil }
            // The address of netlink: family, padding, process, and the groups of links and of
            // the addresses of both families.
            var address: (UInt16, UInt16, UInt32, UInt32) = (16, 0, 0, 0x111)
            let length = socklen_t(MemoryLayout.size(ofValue: address))
            let result = withUnsafePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    bind(number, $0, length)
                }
            }
            // `deinit` closes the socket.
            guard result == 0 else { return nil }
        #endif
        _ = fcntl(number, F_SETFD, FD_CLOEXEC)
        _ = fcntl(number, F_SETFL, O_NONBLOCK)
    }

    deinit {
        close(number)
    }

    /// Discards the messages that have arrived.
    func drain(into buffer: UnsafeMutableRawBufferPointer) {
        // ENOBUFS reports dropped messages; others may follow.
        while recv(number, buffer.baseAddress, buffer.count, 0) > 0 || errno == ENOBUFS {}
    }
}
