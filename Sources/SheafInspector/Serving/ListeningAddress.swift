#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// A numeric address that a server listens on.
package struct ListeningAddress: Sendable {
    /// The address as URLs have it: in its canonical form, in brackets if it is of IPv6.
    package let host: String
    /// Whether only programs on this machine can connect.
    package let isLoopback: Bool
    /// Whether it means all addresses of the machine.
    package let isWildcard: Bool
    package let isIPv6: Bool
    /// The port; 0 is any free port.
    package let port: UInt16
    private let bytes: [UInt8]

    /// Reads an address such as `127.0.0.1`, `::1` or `localhost`; nil if it is not one.
    package init?(_ text: String, port: UInt16) {
        self.port = port
        let numeric = HTTPRequest.lowercased(text) == "localhost" ? "127.0.0.1" : text
        var address = in_addr()
        var address6 = in6_addr()
        if inet_pton(AF_INET, numeric, &address) == 1 {
            var full = sockaddr_in()
            full.sin_family = sa_family_t(AF_INET)
            full.sin_port = port.bigEndian
            full.sin_addr = address
            let number = UInt32(bigEndian: address.s_addr)
            (isIPv6, isLoopback, isWildcard) = (false, number >> 24 == 127, number == 0)
            bytes = withUnsafeBytes(of: full) { Array($0) }
            host = numeric
        } else if inet_pton(AF_INET6, numeric, &address6) == 1 {
            var full = sockaddr_in6()
            full.sin6_family = sa_family_t(AF_INET6)
            full.sin6_port = port.bigEndian
            full.sin6_addr = address6
            let octets = withUnsafeBytes(of: address6) { Array($0) }
            let isZero = octets.dropLast().allSatisfy { $0 == 0 }
            (isIPv6, isLoopback, isWildcard) = (
                true, isZero && octets.last == 1, isZero && octets.last == 0
            )
            bytes = withUnsafeBytes(of: full) { Array($0) }
            host = "[\(Self.canonical(address6))]"
        } else {
            return nil
        }
    }

    /// Returns the shortest text of an address of IPv6, which browsers send as `Host`.
    private static func canonical(_ address: in6_addr) -> String {
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        withUnsafePointer(to: address) {
            _ = inet_ntop(AF_INET6, $0, &text, socklen_t(INET6_ADDRSTRLEN))
        }
        return String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    /// Whether a text is a numeric address as URLs have it.
    static func isNumeric(_ host: String) -> Bool {
        var (address, address6) = (in_addr(), in6_addr())
        guard host.hasPrefix("["), host.hasSuffix("]") else {
            return inet_pton(AF_INET, host, &address) == 1
        }
        return inet_pton(AF_INET6, String(host.dropFirst().dropLast()), &address6) == 1
    }

    /// Calls `body` with the address in the form of the operating system.
    func withSocketAddress<Result>(_ body: (UnsafePointer<sockaddr>?) -> Result) -> Result {
        bytes.withUnsafeBytes { body($0.assumingMemoryBound(to: sockaddr.self).baseAddress) }
    }
}
