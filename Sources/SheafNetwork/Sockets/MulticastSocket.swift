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
final class MulticastSocket: Sendable {
    let number: Int32
    private let group: SocketAddress

    /// Joins a group on an interface.
    init(
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
        do throws(NetworkError) {
            try configure(group, port, interface)
        } catch {
            close(number)
            throw error
        }
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
        if group.isIPv4 {
            try joinIPv4(group, interface)
        } else {
            try joinIPv6(group, interface)
        }
        let any = IPAddress(unchecked: [UInt8](repeating: 0, count: group.bytes.count))
        guard SocketAddress(any, port: port).withPointer({ bind(number, $0, $1) }) == 0 else {
            throw Self.failure(
                "cannot bind UDP port \(port), which another program may hold for itself alone")
        }
    }

    private func joinIPv4(_ group: IPAddress, _ interface: UInt32) throws(NetworkError) {
        let level = Int32(IPPROTO_IP)
        var request = ip_mreqn()
        withUnsafeMutableBytes(of: &request.imr_multiaddr) { $0.copyBytes(from: group.bytes) }
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
        try set(level, IP_ADD_MEMBERSHIP, request)
    }

    private func joinIPv6(_ group: IPAddress, _ interface: UInt32) throws(NetworkError) {
        let level = Int32(IPPROTO_IPV6)
        try set(level, IPV6_V6ONLY, Int32(1))
        var request = ipv6_mreq()
        withUnsafeMutableBytes(of: &request.ipv6mr_multiaddr) { $0.copyBytes(from: group.bytes) }
        request.ipv6mr_interface = interface
        try set(level, IPV6_MULTICAST_IF, Int32(bitPattern: interface))
        try set(level, IPV6_MULTICAST_HOPS, Int32(255))
        try set(level, IPV6_UNICAST_HOPS, Int32(255))
        try set(level, IPV6_MULTICAST_LOOP, Int32(1))
        #if os(Linux)
            // The option IPV6_MULTICAST_ALL, of Linux 4.20 and later.
            try? set(level, 29, Int32(0))
        #endif
        try set(level, IPV6_JOIN_GROUP, request)
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
        _ level: Int32, _ option: Int32, _ value: Value
    ) throws(NetworkError) {
        let result = withUnsafePointer(to: value) {
            setsockopt(number, level, option, $0, socklen_t(MemoryLayout<Value>.size))
        }
        guard result == 0 else { throw Self.failure("cannot configure a socket") }
    }

    private static func failure(_ problem: String) -> NetworkError {
        NetworkError(.system, "\(problem): \(systemMessage())")
    }
}
