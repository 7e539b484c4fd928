import SheafNetwork
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The sockets of discovery, on the loopback interface, which reaches no other host.
struct MulticastSocketTests {
    @Test func `several programs of a host share the port of a group`() throws {
        let names: [String] = ["lo", "lo0"]
        let interface = names.map { name in if_nametoindex(name) }.max() ?? 0
        try #require(interface > 0)
        let group = IPAddress(unchecked: [239, 255, 77, 1])
        func socket(_ port: UInt16) throws -> MulticastSocket {
            try MulticastSocket(group, port: port, interface: interface)
        }
        var port: UInt16 = 47_100
        var sockets: [MulticastSocket] = []
        // Another program may hold a port for itself alone.
        while sockets.isEmpty, port < 47_200 {
            port += 1
            if let first = try? socket(port) { sockets.append(first) }
        }
        for _ in 0..<2 { sockets.append(try socket(port)) }
        #expect(sockets.count == 3)
    }
}
