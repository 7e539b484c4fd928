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

/// A bare TCP client for tests, which waits up to a minute for each event.
final class RawClient {
    let descriptor: Int32

    /// Connects to "127.0.0.1:port", optionally from another loopback address.
    init(_ address: String, receiveBuffer: Int32? = nil, from host: UInt8 = 1) throws {
        descriptor = Loopback.socket()
        if host != 1 {
            let own = Loopback.address(port: 0, host: host)
            let result = withUnsafePointer(to: own) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
                }
            }
            guard result == 0 else { throw NetworkError(.address, "127.0.0.\(host): \(errno)") }
        }
        if var size = receiveBuffer {
            setsockopt(
                descriptor, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<Int32>.size))
        }
        let port = UInt16(address.split(separator: ":").last ?? "") ?? 0
        let address = Loopback.address(port: port)
        let result = withUnsafePointer(to: address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard result == 0 else { throw NetworkError(.address, "\(address): \(errno)") }
        stopWaiting()
    }

    /// Wraps an accepted connection.
    init(descriptor: Int32) {
        self.descriptor = descriptor
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        stopWaiting()
    }

    private func stopWaiting() {
        _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
    }

    deinit {
        close(descriptor)
    }

    /// Sends as many bytes as the socket accepts.
    func send(_ bytes: [UInt8]) {
        #if canImport(Darwin)
            _ = Darwin.send(descriptor, bytes, bytes.count, 0)
        #elseif canImport(Musl)
            _ = Musl.send(descriptor, bytes, bytes.count, MSG_NOSIGNAL)
        #else
            _ = Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL))
        #endif
    }

    /// Closes the sending direction.
    func endSending() {
        shutdown(descriptor, Int32(SHUT_WR))
    }

    /// Whether the peer closes the connection within a minute; received bytes are discarded.
    func isThrownOut() -> Bool {
        var bytes = [UInt8](repeating: 0, count: 4_096)
        while waitFor(POLLIN) {
            let count = read(descriptor, &bytes, bytes.count)
            if count == 0 || count < 0 && errno != EAGAIN && errno != EINTR { return true }
        }
        return false
    }

    /// Whether nothing was received, not even the end of the connection.
    var isQuiet: Bool {
        var request = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return poll(&request, 1, 0) == 0
    }

    /// Waits up to a minute for an event; returns whether it occurred.
    func waitFor(_ event: Int32) -> Bool {
        var request = pollfd(fd: descriptor, events: Int16(event), revents: 0)
        return poll(&request, 1, 60_000) > 0
    }
}

/// A TLS client or server with a peer's key that can send any bytes after the handshake.
final class HostilePeer {
    enum Ending: Equatable {
        case closeMessage
        case failure(NetworkRule)
        case silence
    }

    let client: RawClient
    let session: TLSSession
    let keyPair: PeerKeyPair
    private let role: Proof.Role
    private let context: TLSContext

    /// Connects and performs the TLS handshake.
    convenience init(
        _ address: String, keyPair: PeerKeyPair? = nil, receiveBuffer: Int32? = nil
    ) throws {
        try self.init(
            RawClient(address, receiveBuffer: receiveBuffer), .dialer,
            keyPair: keyPair ?? .generate())
    }

    /// Performs the TLS handshake over a connected socket.
    init(_ client: RawClient, _ role: Proof.Role, keyPair: PeerKeyPair) throws {
        self.keyPair = keyPair
        self.client = client
        self.role = role
        context = try TLSContext(keyPair)
        session = try TLSSession(context, socket: client.descriptor, role: role)
        blockPipeSignal()
        while true {
            switch session.performHandshake() {
            case .done: return
            case .needsRead: _ = client.waitFor(POLLIN)
            case .needsWrite: _ = client.waitFor(POLLOUT)
            case .ended: throw NetworkError(.cut, "the peer closed the connection")
            case .failed(let error): throw error
            }
        }
    }

    /// Returns the greeting, grant and metadata that an honest peer would send.
    func words(_ configuration: NetworkConfiguration) throws -> [UInt8] {
        var configuration = configuration
        configuration.keyPair = keyPair
        return Handshake(
            try Credentials(configuration), role: role, remoteKey: try session.remoteKey(),
            exporter: try session.exporter()
        ).words
    }

    func send(_ bytes: [UInt8]) {
        blockPipeSignal()
        var rest = bytes[...]
        while !rest.isEmpty {
            switch rest.withUnsafeBytes({ session.write($0) }) {
            case .done(let count): rest = rest.dropFirst(count)
            case .needsWrite: guard client.waitFor(POLLOUT) else { return }
            default: return
            }
        }
    }

    /// Reads `count` bytes, or fewer at the end of the stream.
    func read(_ count: Int) -> [UInt8] {
        var bytes: [UInt8] = []
        while bytes.count < count, case .some(let piece) = readPiece(count - bytes.count).bytes {
            bytes += piece
        }
        return bytes
    }

    /// Returns how the connection ends, and discards all bytes received before its end.
    func ending() -> Ending {
        while true {
            let (bytes, ending) = readPiece(4_096)
            if bytes == nil { return ending }
        }
    }

    private func readPiece(_ count: Int) -> (bytes: [UInt8]?, Ending) {
        var bytes = [UInt8](repeating: 0, count: count)
        while true {
            switch bytes.withUnsafeMutableBytes({ session.read(into: $0) }) {
            case .done(let count): return (Array(bytes.prefix(count)), .silence)
            case .needsRead: guard client.waitFor(POLLIN) else { return (nil, .silence) }
            case .needsWrite: guard client.waitFor(POLLOUT) else { return (nil, .silence) }
            case .ended: return (nil, .closeMessage)
            case .failed(let error): return (nil, .failure(error.rule))
            }
        }
    }
}
