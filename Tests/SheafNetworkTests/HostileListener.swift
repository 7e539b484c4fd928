import SheafNetwork
import SheafStorage
import SheafTestSupport

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// A bare TCP listener for tests of the dialing side.
final class HostileListener {
    let address: String
    private let descriptor: Int32

    init() throws {
        descriptor = Loopback.socket()
        var socketAddress = Loopback.address(port: 0)
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let descriptor = descriptor
        let isListening = withUnsafeMutablePointer(to: &socketAddress) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, length) == 0 && listen(descriptor, 8) == 0
                    && getsockname(descriptor, $0, &length) == 0
            }
        }
        guard isListening else { throw NetworkError(.system, "cannot listen: errno \(errno)") }
        address = "127.0.0.1:\(UInt16(bigEndian: socketAddress.sin_port))"
    }

    deinit {
        close(descriptor)
    }

    /// Waits up to a minute for a connection.
    func accept() throws -> RawClient {
        var request = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        _ = poll(&request, 1, 60_000)
        #if canImport(Glibc)
            let accepted = Glibc.accept(descriptor, nil, nil)
        #elseif canImport(Musl)
            let accepted = Musl.accept(descriptor, nil, nil)
        #else
            let accepted = Darwin.accept(descriptor, nil, nil)
        #endif
        guard accepted >= 0 else { throw NetworkError(.system, "no connection within a minute") }
        return RawClient(descriptor: accepted)
    }
}
