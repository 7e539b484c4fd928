#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// A nonblocking TCP socket, closed on deallocation.
final class Socket: Sendable {
    let number: Int32
    private static let backlog: Int32 = 128

    /// Takes ownership of an open descriptor.
    private init(_ number: Int32) {
        self.number = number
    }

    deinit {
        close(number)
    }

    /// Creates a socket that listens on an address.
    static func listening(at address: SocketAddress) throws(NetworkError) -> Socket {
        let socket = try Socket(family: address.family)
        socket.set(SOL_SOCKET, SO_REUSEADDR, 1)
        // Without this option an IPv6 socket also accepts connections to the IPv4 port.
        if address.family == AF_INET6 { socket.set(protocolIPv6, IPV6_V6ONLY, 1) }
        guard address.withPointer({ bind(socket.number, $0, $1) }) == 0,
            listen(socket.number, backlog) == 0
        else {
            throw NetworkError(
                .address,
                "cannot listen on \(address): \(systemMessage()); port 0 selects a free port"
            )
        }
        return socket
    }

    /// Starts connecting; the socket becomes writable when the attempt has ended.
    static func connecting(to address: SocketAddress) throws(NetworkError) -> Socket {
        let socket = try Socket(family: address.family)
        socket.prepareForTalking()
        let result = address.withPointer { connect(socket.number, $0, $1) }
        guard result == 0 || errno == EINPROGRESS || errno == EINTR else {
            throw NetworkError(.address, "cannot connect to \(address): \(systemMessage())")
        }
        return socket
    }

    /// The reason why connecting failed, or nil if it succeeded.
    var connectFailure: String? {
        var code: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        guard getsockopt(number, SOL_SOCKET, SO_ERROR, &code, &length) == 0 else {
            return systemMessage()
        }
        return code == 0 ? nil : systemMessage(code)
    }

    /// The result of accepting a connection.
    enum Acceptance {
        case accepted(Socket, SocketAddress)
        /// No connection is pending, or it was closed already.
        case noConnection
        /// The process has no descriptors or buffers left.
        case noRoom
    }

    /// Accepts one pending connection.
    func accept() -> Acceptance {
        var descriptor: Int32 = -1
        let address = SocketAddress { pointer, length in
            #if canImport(Glibc)
                descriptor = Glibc.accept(number, pointer, length)
            #elseif canImport(Musl)
                descriptor = Musl.accept(number, pointer, length)
            #else
                descriptor = Darwin.accept(number, pointer, length)
            #endif
            return descriptor >= 0
        }
        guard let address else {
            let isFull = [EMFILE, ENFILE, ENOBUFS, ENOMEM].contains(errno)
            return isFull ? .noRoom : .noConnection
        }
        let socket = Socket(descriptor)
        guard socket.stopWaiting() else { return .noConnection }
        socket.prepareForTalking()
        return .accepted(socket, address)
    }

    /// The local address of the socket.
    var ownAddress: SocketAddress? {
        SocketAddress { getsockname(number, $0, $1) == 0 }
    }

    /// Shuts down the sending direction.
    func endSending() {
        shutdown(number, Int32(SHUT_WR))
    }

    /// Reads and discards bytes; returns false once the connection is closed by the peer or lost.
    func discard(into buffer: UnsafeMutableRawBufferPointer) -> Bool {
        let count = recv(number, buffer.baseAddress, buffer.count, 0)
        if count < 0 { return [EAGAIN, EWOULDBLOCK, EINTR].contains(errno) }
        return count > 0
    }

    private convenience init(family: Int32) throws(NetworkError) {
        #if canImport(Glibc)
            let number = socket(family, Int32(SOCK_STREAM.rawValue), 0)
        #else
            let number = socket(family, SOCK_STREAM, 0)
        #endif
        guard number >= 0 else {
            throw NetworkError(.system, "cannot create a socket: \(systemMessage())")
        }
        self.init(number)
        guard stopWaiting() else {
            throw NetworkError(.system, "cannot configure the socket: \(systemMessage())")
        }
    }

    private func stopWaiting() -> Bool {
        fcntl(number, F_SETFD, FD_CLOEXEC) == 0
            && fcntl(number, F_SETFL, fcntl(number, F_GETFL) | O_NONBLOCK) == 0
    }

    private func prepareForTalking() {
        // Small messages are sent without delay, since peers wait for responses.
        set(protocolTCP, TCP_NODELAY, 1)
        set(SOL_SOCKET, SO_KEEPALIVE, 1)
        #if canImport(Darwin)
            set(SOL_SOCKET, SO_NOSIGPIPE, 1)
        #endif
    }

    private func set(_ level: Int32, _ option: Int32, _ value: Int32) {
        var value = value
        setsockopt(number, level, option, &value, socklen_t(MemoryLayout<Int32>.size))
    }

    private var protocolTCP: Int32 { Int32(IPPROTO_TCP) }
}

private var protocolIPv6: Int32 { Int32(IPPROTO_IPV6) }

/// Blocks SIGPIPE on this thread, so that a write to a closed connection only fails.
package func blockPipeSignal() {
    withUnsafeTemporaryAllocation(of: sigset_t.self, capacity: 1) { buffer in
        guard let signals = buffer.baseAddress else { return }
        sigemptyset(signals)
        sigaddset(signals, SIGPIPE)
        pthread_sigmask(SIG_BLOCK, signals, nil)
    }
}

/// Runs `body` on a caller's thread, with SIGPIPE from writes to a closed connection suppressed.
func withoutPipeSignal<Result>(_ body: () -> Result) -> Result {
    #if canImport(Darwin)
        // Sockets do not raise SIGPIPE: they have SO_NOSIGPIPE.
        return body()
    #else
        return withUnsafeTemporaryAllocation(of: sigset_t.self, capacity: 3) { sets in
            guard let pipe = sets.baseAddress else { return body() }
            let (before, pending) = (pipe + 1, pipe + 2)
            sigemptyset(pipe)
            sigaddset(pipe, SIGPIPE)
            pthread_sigmask(SIG_BLOCK, pipe, before)
            defer { pthread_sigmask(SIG_SETMASK, before, nil) }
            sigpending(pending)
            let waitedBefore = sigismember(pending, SIGPIPE) == 1
            let result = body()
            sigpending(pending)
            if !waitedBefore, sigismember(pending, SIGPIPE) == 1 {
                var now = timespec()
                sigtimedwait(pipe, nil, &now)
            }
            return result
        }
    #endif
}
