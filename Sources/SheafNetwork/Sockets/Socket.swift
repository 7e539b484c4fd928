#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// A socket of TCP on which no call waits; closed when it goes.
final class Socket: Sendable {
    let number: Int32
    private static let backlog: Int32 = 128

    /// Takes over an open descriptor.
    private init(_ number: Int32) {
        self.number = number
    }

    deinit {
        close(number)
    }

    /// Listens at an address.
    static func listening(at address: SocketAddress) throws(NetworkError) -> Socket {
        let socket = try Socket(family: address.family)
        socket.set(SOL_SOCKET, SO_REUSEADDR, 1)
        // An address of one kind does not take what belongs to the other.
        if address.family == AF_INET6 { socket.set(protocolIPv6, IPV6_V6ONLY, 1) }
        guard address.withPointer({ bind(socket.number, $0, $1) }) == 0,
            listen(socket.number, backlog) == 0
        else {
            throw NetworkError(
                .address,
                "the system refuses to listen at \(address) (\(systemMessage())); port 0 takes a free one"
            )
        }
        return socket
    }

    /// Begins to connect; the socket is writable when it is known what became of it.
    static func connecting(to address: SocketAddress) throws(NetworkError) -> Socket {
        let socket = try Socket(family: address.family)
        socket.prepareForTalking()
        let result = address.withPointer { connect(socket.number, $0, $1) }
        guard result == 0 || errno == EINPROGRESS || errno == EINTR else {
            throw NetworkError(.address, "\(address) cannot be reached: \(systemMessage())")
        }
        return socket
    }

    /// What became of an attempt to connect: nil if it went well.
    var connectFailure: String? {
        var code: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        guard getsockopt(number, SOL_SOCKET, SO_ERROR, &code, &length) == 0 else {
            return systemMessage()
        }
        return code == 0 ? nil : systemMessage(code)
    }

    /// What comes of taking somebody in.
    enum Acceptance {
        case accepted(Socket, SocketAddress)
        /// Nobody is there, or he has left already.
        case nobody
        /// The process has no room for one more.
        case noRoom
    }

    /// Takes in one of those who wait.
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
            return isFull ? .noRoom : .nobody
        }
        let socket = Socket(descriptor)
        guard socket.stopWaiting() else { return .nobody }
        socket.prepareForTalking()
        return .accepted(socket, address)
    }

    /// Where it listens.
    var ownAddress: SocketAddress? {
        SocketAddress { getsockname(number, $0, $1) == 0 }
    }

    /// Says that nothing more is sent.
    func endSending() {
        shutdown(number, Int32(SHUT_WR))
    }

    /// Reads and forgets; false when the other end has closed or broken the connection.
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
            throw NetworkError(.system, "the system has no socket: \(systemMessage())")
        }
        self.init(number)
        guard stopWaiting() else {
            throw NetworkError(.system, "the socket cannot be prepared: \(systemMessage())")
        }
    }

    private func stopWaiting() -> Bool {
        fcntl(number, F_SETFD, FD_CLOEXEC) == 0
            && fcntl(number, F_SETFL, fcntl(number, F_GETFL) | O_NONBLOCK) == 0
    }

    private func prepareForTalking() {
        // What is small goes at once: peers wait for answers.
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

/// Where the other end is gone, a write of this thread is to fail, and not to end the process.
package func blockPipeSignal() {
    withUnsafeTemporaryAllocation(of: sigset_t.self, capacity: 1) { buffer in
        guard let signals = buffer.baseAddress else { return }
        sigemptyset(signals)
        sigaddset(signals, SIGPIPE)
        pthread_sigmask(SIG_BLOCK, signals, nil)
    }
}

/// Runs `body` on a thread of somebody else, without the signal that a socket without another end sends.
func withoutPipeSignal<Result>(_ body: () -> Result) -> Result {
    #if canImport(Darwin)
        // The sockets send none.
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
