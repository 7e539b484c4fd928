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

/// Somebody who listens, and does to whoever comes what he likes.
final class FalseListener {
    let address: String
    private let descriptor: Int32

    init() throws {
        descriptor = Loopback.socket()
        var place = Loopback.place(port: 0)
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let descriptor = descriptor
        let isListening = withUnsafeMutablePointer(to: &place) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, length) == 0 && listen(descriptor, 8) == 0
                    && getsockname(descriptor, $0, &length) == 0
            }
        }
        guard isListening else { throw NetworkError(.system, "cannot listen: errno \(errno)") }
        address = "127.0.0.1:\(UInt16(bigEndian: place.sin_port))"
    }

    deinit {
        close(descriptor)
    }

    /// Waits for somebody to come.
    func accept() throws -> Stranger {
        var request = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        _ = poll(&request, 1, 60_000)
        #if canImport(Glibc)
            let came = Glibc.accept(descriptor, nil, nil)
        #elseif canImport(Musl)
            let came = Musl.accept(descriptor, nil, nil)
        #else
            let came = Darwin.accept(descriptor, nil, nil)
        #endif
        guard came >= 0 else { throw NetworkError(.system, "nobody comes") }
        return Stranger(descriptor: came)
    }
}
