#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// An address in the system's representation.
package struct SocketAddress: Sendable, CustomStringConvertible {
    private var storage: sockaddr_storage
    private let length: socklen_t

    /// Resolves a host to its addresses; blocks on the network if the host is a name.
    static func all(
        of address: NetworkAddress, numeric: Bool
    ) throws(NetworkError) -> [SocketAddress] {
        var hints = addrinfo()
        hints.ai_family = AF_UNSPEC
        #if canImport(Glibc)
            hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        #else
            hints.ai_socktype = SOCK_STREAM
        #endif
        hints.ai_flags = AI_NUMERICSERV | (numeric ? AI_NUMERICHOST : 0)
        var found: UnsafeMutablePointer<addrinfo>?
        let code = getaddrinfo(address.host, String(address.port), &hints, &found)
        guard code == 0 else {
            throw NetworkError(
                .address, "cannot resolve \(address.quoted): \(String(cString: gai_strerror(code)))"
            )
        }
        defer { freeaddrinfo(found) }
        var addresses: [SocketAddress] = []
        var next = found
        while let entry = next?.pointee, addresses.count < maximumCount {
            if let pointer = entry.ai_addr {
                addresses.append(SocketAddress(pointer, entry.ai_addrlen))
            }
            next = entry.ai_next
        }
        return addresses
    }

    /// Maximum number of addresses tried for one name.
    private static let maximumCount = 8

    private init(_ pointer: UnsafePointer<sockaddr>, _ length: socklen_t) {
        storage = sockaddr_storage()
        let count = min(Int(length), MemoryLayout<sockaddr_storage>.size)
        withUnsafeMutableBytes(of: &storage) {
            $0.copyMemory(from: UnsafeRawBufferPointer(start: pointer, count: count))
        }
        self.length = socklen_t(count)
    }

    /// Creates the address of a port; `interface` is the one of a link-local IPv6 address.
    package init(_ address: IPAddress, port: UInt16, interface: UInt32 = 0) {
        storage = sockaddr_storage()
        let (bytes, isIPv4) = (address.bytes, address.isIPv4)
        let family = isIPv4 ? AF_INET : AF_INET6
        withUnsafeMutableBytes(of: &storage) { raw in
            if isIPv4 {
                var ipv4 = sockaddr_in()
                ipv4.sin_family = sa_family_t(family)
                ipv4.sin_port = port.bigEndian
                withUnsafeMutableBytes(of: &ipv4.sin_addr) { $0.copyBytes(from: bytes) }
                withUnsafeBytes(of: ipv4) { raw.copyMemory(from: $0) }
            } else {
                var ipv6 = sockaddr_in6()
                ipv6.sin6_family = sa_family_t(family)
                ipv6.sin6_port = port.bigEndian
                if address.isLinkLocalIPv6 { ipv6.sin6_scope_id = interface }
                withUnsafeMutableBytes(of: &ipv6.sin6_addr) { $0.copyBytes(from: bytes) }
                withUnsafeBytes(of: ipv6) { raw.copyMemory(from: $0) }
            }
        }
        length = socklen_t(
            isIPv4 ? MemoryLayout<sockaddr_in>.size : MemoryLayout<sockaddr_in6>.size)
        #if canImport(Darwin)
            storage.ss_len = UInt8(length)
        #endif
    }

    /// Creates the address at a pointer of the system; nil if there is none.
    init?(_ pointer: UnsafePointer<sockaddr>?) {
        guard let pointer else { return nil }
        let length =
            switch Int32(pointer.pointee.sa_family) {
            case AF_INET: MemoryLayout<sockaddr_in>.size
            case AF_INET6: MemoryLayout<sockaddr_in6>.size
            default: 0
            }
        guard length > 0 else { return nil }
        self.init(pointer, socklen_t(length))
    }

    /// Creates the address that a system call fills in; nil if the call fails.
    init?(_ ask: (UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> Bool) {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let isKnown = withUnsafeMutablePointer(to: &storage) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { ask($0, &length) }
        }
        guard isKnown else { return nil }
        self.storage = storage
        self.length = length
    }

    /// Calls `body` with the address, which is valid only during the call.
    func withPointer<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
        withUnsafePointer(to: storage) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, length) }
        }
    }

    /// The address family.
    var family: Int32 { Int32(storage.ss_family) }

    /// Whether the address is a loopback address: IPv4, IPv6, or mapped IPv4.
    package var isLoopback: Bool {
        let bytes = hostBytes
        guard bytes.count == 16 else { return bytes.first == 127 }
        if isMapped(bytes) { return bytes[12] == 127 }
        return bytes[..<15].allSatisfy { $0 == 0 } && bytes[15] == 1
    }

    /// Whether a listener on this address accepts connections to all addresses of this host.
    package var isWildcard: Bool { hostBytes.allSatisfy { $0 == 0 } }

    /// The network of the address: an IPv4 address, or the first 64 bits of an IPv6 address.
    ///
    /// One host may own all IPv6 addresses with the same first 64 bits.
    package var network: [UInt8] {
        let bytes = hostBytes
        guard bytes.count == 16 else { return bytes }
        return Array(isMapped(bytes) ? bytes[12...] : bytes[..<8])
    }

    /// The address without its port; nil for other families.
    package var ip: IPAddress? { IPAddress(hostBytes) }

    /// The interface of a link-local IPv6 address; 0 for other addresses.
    package var interface: UInt32 {
        guard family == AF_INET6 else { return 0 }
        return withUnsafeBytes(of: storage) { bytes in
            bytes.load(
                fromByteOffset: MemoryLayout<sockaddr_in6>.offset(of: \.sin6_scope_id) ?? 24,
                as: UInt32.self)
        }
    }

    /// The port.
    package var port: UInt16 {
        withUnsafeBytes(of: storage) { bytes in
            // The port has the same offset in both families.
            UInt16(bytes[2]) << 8 | UInt16(bytes[3])
        }
    }

    /// Whether an IPv6 address is a mapped IPv4 address.
    private func isMapped(_ bytes: [UInt8]) -> Bool {
        bytes[..<10].allSatisfy { $0 == 0 } && bytes[10] == 255 && bytes[11] == 255
    }

    /// The bytes of the host, in network byte order.
    private var hostBytes: [UInt8] {
        withUnsafeBytes(of: storage) { bytes in
            switch family {
            case AF_INET:
                let offset = MemoryLayout<sockaddr_in>.offset(of: \.sin_addr) ?? 4
                return Array(bytes[offset..<offset + 4])
            case AF_INET6:
                let offset = MemoryLayout<sockaddr_in6>.offset(of: \.sin6_addr) ?? 8
                return Array(bytes[offset..<offset + 16])
            default:
                return []
            }
        }
    }

    package var description: String {
        var host = [CChar](repeating: 0, count: 64)
        var port = [CChar](repeating: 0, count: 16)
        let code = withPointer { pointer, length in
            getnameinfo(
                pointer, length, &host, socklen_t(host.count), &port, socklen_t(port.count),
                NI_NUMERICHOST | NI_NUMERICSERV)
        }
        guard code == 0 else { return "an unknown address" }
        let (name, number) = (Self.text(host), Self.text(port))
        return name.contains(":") ? "[\(name)]:\(number)" : "\(name):\(number)"
    }

    private static func text(_ letters: [CChar]) -> String {
        String(decoding: letters.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
