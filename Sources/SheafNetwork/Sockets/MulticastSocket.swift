#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// A socket that exchanges packets with all hosts on the network of one interface.
///
/// Its port is shared with other programs of this host.
package final class MulticastSocket: Sendable {
    let number: Int32
    private let group: SocketAddress

    /// Joins a group on an interface.
    package init(
        _ group: IPAddress, port: UInt16, interface: UInt32
    ) throws(NetworkError) {
        self.group = SocketAddress(group, port: port, interface: interface)
        let family = group.isIPv4 ? AF_INET : AF_INET6
        #if canImport(Glibc)
            number = socket(family, Int32(SOCK_DGRAM.rawValue), 0)
        #else
            number = socket(family, SOCK_DGRAM, 0)
        #endif
        guard number >= 0 else { throw Self.failure("cannot create a socket") }
        // If this throws, `deinit` closes the socket.
        try configure(group, port, interface)
    }

    deinit {
        close(number)
    }

    private func configure(
        _ group: IPAddress, _ port: UInt16, _ interface: UInt32
    ) throws(NetworkError) {
        guard fcntl(number, F_SETFD, FD_CLOEXEC) == 0,
            fcntl(number, F_SETFL, O_NONBLOCK) == 0
        else { throw Self.failure("cannot configure a socket") }
        try set(SOL_SOCKET, SO_REUSEADDR, Int32(1))
        #if canImport(Darwin)
            try set(SOL_SOCKET, SO_REUSEPORT, Int32(1))
        #endif
        #if os(Linux)
            // An IPv6 socket would receive packets of all interfaces that have joined the group.
            // Linux before 5.7 permits it only to some users.
            try? set(SOL_SOCKET, SO_BINDTOIFINDEX, Int32(bitPattern: interface))
        #endif
        if group.isIPv4 { try configureIPv4(interface) } else { try configureIPv6(interface) }
        try join(group, interface)
        let any = IPAddress(unchecked: [UInt8](repeating: 0, count: group.bytes.count))
        guard SocketAddress(any, port: port).withPointer({ bind(number, $0, $1) }) == 0 else {
            throw Self.failure(
                "cannot bind UDP port \(port), which another program may hold for itself alone")
        }
    }

    private func configureIPv4(_ interface: UInt32) throws(NetworkError) {
        let level = Int32(IPPROTO_IP)
        var request = ip_mreqn()
        request.imr_ifindex = Int32(bitPattern: interface)
        try set(level, IP_MULTICAST_IF, request)
        // RFC 6762, section 11, requires this time to live.
        try set(level, IP_MULTICAST_TTL, Int32(255))
        try set(level, IP_TTL, Int32(255))
        // Peers in other processes of this host receive the packets, too.
        try set(level, IP_MULTICAST_LOOP, Int32(1))
        #if os(Linux)
            // Otherwise the socket also receives packets from other interfaces.
            try set(level, IP_MULTICAST_ALL, Int32(0))
        #endif
    }

    private func configureIPv6(_ interface: UInt32) throws(NetworkError) {
        let level = Int32(IPPROTO_IPV6)
        try set(level, IPV6_V6ONLY, Int32(1))
        try set(level, IPV6_MULTICAST_IF, Int32(bitPattern: interface))
        try set(level, IPV6_MULTICAST_HOPS, Int32(255))
        try set(level, IPV6_UNICAST_HOPS, Int32(255))
        try set(level, IPV6_MULTICAST_LOOP, Int32(1))
    }

    /// Joins the group on the interface, in the same way for both families.
    private func join(_ group: IPAddress, _ interface: UInt32) throws(NetworkError) {
        var request = group_req()
        request.gr_interface = interface
        SocketAddress(group, port: 0, interface: interface).withPointer { address, length in
            withUnsafeMutableBytes(of: &request.gr_group) {
                $0.copyMemory(
                    from: UnsafeRawBufferPointer(start: address, count: Int(length)))
            }
        }
        try set(
            Int32(group.isIPv4 ? IPPROTO_IP : IPPROTO_IPV6), MCAST_JOIN_GROUP, request,
            "cannot join the group of multicast DNS")
    }

    /// Sends a packet, to the group unless a receiver is named.
    ///
    /// Errors are ignored: the protocol tolerates lost packets.
    func send(_ bytes: [UInt8], to receiver: SocketAddress?) {
        _ = (receiver ?? group).withPointer { address, length in
            sendto(number, bytes, bytes.count, 0, address, length)
        }
    }

    /// Receives a packet; returns nil if none has arrived.
    func receive(
        into buffer: UnsafeMutableRawBufferPointer
    ) -> (count: Int, from: SocketAddress)? {
        while true {
            var count = 0
            let source = SocketAddress { address, length in
                count = recvfrom(number, buffer.baseAddress, buffer.count, 0, address, length)
                return count >= 0
            }
            if let source { return (count, source) }
            // Errors of packets sent before are reported here, and concern no packet received.
            guard [EINTR, ECONNREFUSED, EHOSTUNREACH, ENETUNREACH].contains(errno) else {
                return nil
            }
        }
    }

    private func set<Value>(
        _ level: Int32, _ option: Int32, _ value: Value,
        _ problem: String = "cannot configure a socket"
    ) throws(NetworkError) {
        let result = withUnsafePointer(to: value) {
            setsockopt(number, level, option, $0, socklen_t(MemoryLayout<Value>.size))
        }
        guard result == 0 else { throw Self.failure(problem) }
    }

    private static func failure(_ problem: String) -> NetworkError {
        NetworkError(.system, "\(problem): \(systemMessage())")
    }
}
