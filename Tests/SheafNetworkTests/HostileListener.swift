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
    private let port: UInt16
    private let descriptor: Int32
    /// The connections that `fill` has begun.
    private var waiting: [Int32] = []

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
        port = UInt16(bigEndian: socketAddress.sin_port)
        address = "127.0.0.1:\(port)"
    }

    deinit {
        for socket in waiting + [descriptor] { close(socket) }
    }

    /// Begins more connections than the system holds; on Linux, it answers no further ones.
    func fill() {
        let address = Loopback.address(port: port)
        for _ in 0..<16 {
            let socket = Loopback.socket()
            waiting.append(socket)
            _ = fcntl(socket, F_SETFL, O_NONBLOCK)
            withUnsafePointer(to: address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                    _ = connect(socket, pointer, socklen_t(MemoryLayout<sockaddr_in>.size))
                }
            }
        }
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
