#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// A TCP connection to a server on 127.0.0.1, which blocks for at most a minute.
package final class LoopbackConnection {
    /// Why a connection has no bytes to read.
    package enum Failure: Error, Equatable {
        /// The server does not accept the connection.
        case refused(port: UInt16, code: Int32)
        /// The server neither sent bytes nor closed the connection for `seconds`.
        case silent(seconds: Int)
    }

    private let descriptor: Int32

    private static let patienceSeconds = 1_200

    /// Connects to a port.
    package init(port: UInt16) throws(Failure) {
        descriptor = Loopback.socket()
        var timeout = timeval()
        timeout.tv_sec = Self.patienceSeconds
        for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
            setsockopt(
                descriptor, SOL_SOCKET, option, &timeout, socklen_t(MemoryLayout<timeval>.size))
        }
        let address = Loopback.address(port: port)
        let result = withUnsafePointer(to: address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard result == 0 else { throw .refused(port: port, code: errno) }
    }

    deinit { close(descriptor) }

    /// Sends bytes; returns false if the server has closed the connection, or does not read.
    package func send(_ bytes: [UInt8]) -> Bool {
        var done = 0
        while done < bytes.count {
            let count = bytes.withUnsafeBytes { sendOnce($0[done...]) }
            guard count > 0 else { return false }
            done += count
        }
        return true
    }

    private func sendOnce(_ slice: Slice<UnsafeRawBufferPointer>) -> Int {
        let bytes = UnsafeRawBufferPointer(rebasing: slice)
        #if canImport(Darwin)
            return Darwin.send(descriptor, bytes.baseAddress, bytes.count, 0)
        #elseif canImport(Musl)
            return Musl.send(descriptor, bytes.baseAddress, bytes.count, MSG_NOSIGNAL)
        #else
            return Glibc.send(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL))
        #endif
    }

    /// Whether nothing was received that has not been read, not even the end of the connection.
    package var isQuiet: Bool {
        var request = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return poll(&request, 1, 0) == 0
    }

    /// Returns the next bytes; none at the end of the connection.
    package func receive() throws(Failure) -> [UInt8] {
        var part = [UInt8](repeating: 0, count: 64 << 10)
        let count = part.withUnsafeMutableBytes { recv(descriptor, $0.baseAddress, $0.count, 0) }
        guard count > 0 else {
            guard count == 0 || errno != EAGAIN else {
                throw .silent(seconds: Self.patienceSeconds)
            }
            return []
        }
        return Array(part[..<count])
    }
}
