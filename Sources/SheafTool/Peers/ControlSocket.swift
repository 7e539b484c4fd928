import SheafBytes
import SheafStorage
import SheafSystem

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// A Unix domain socket between a running peer and a command, for lines of text.
///
/// One thread may read while another one writes.
final class ControlSocket: Sendable {
    let descriptor: Int32

    /// Takes ownership of an open descriptor.
    init(_ descriptor: Int32) {
        self.descriptor = descriptor
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    }

    deinit {
        close(descriptor)
    }

    /// Returns the path of the control socket: the resolved path of the store and `.peer`.
    static func path(ofStore path: String) -> String {
        var resolved = path
        if let real = realpath(path, nil) {
            resolved = String(cString: real)
            free(real)
        }
        return resolved + ".peer"
    }

    /// Connects to the peer that has opened the store at `path`.
    static func connecting(toStore path: String) throws(ToolError) -> ControlSocket {
        if let socket = try connectingToRunningPeer(ofStore: path) { return socket }
        guard !PosixPath.isRegularFile(path) else {
            throw .storage(.notADirectory(path: path), at: path)
        }
        throw .failed(
            "no peer is running on the store at \(path.shortened); start one with 'sheaf peer serve \(path.shortened) ...', or 'sheaf hub serve' if it is one of a hub"
        )
    }

    /// Connects to the peer that has opened the store at `path`; returns nil if there is none.
    static func connectingToRunningPeer(
        ofStore path: String
    ) throws(ToolError) -> ControlSocket? {
        let socket = try make()
        let socketPath = self.path(ofStore: path)
        let isPresent = try withAddress(socketPath) { connect(socket.descriptor, $0, $1) == 0 }
        guard !isPresent else { return socket }
        switch errno {
        case ENOENT, ECONNREFUSED, ENOTDIR: return nil
        default:
            throw .failed(
                "cannot connect to the peer at \(socketPath.shortened(to: ErrorText.limit)): \(systemText())"
            )
        }
    }

    /// Whether the path of a store is short enough for a control socket.
    static func hasPath(forStore path: String) -> Bool {
        self.path(ofStore: path).utf8.count <= maximumPathLength
    }

    /// Listens on the control socket of the store at `path`, which this process has opened.
    static func listening(forStore path: String) throws(ToolError) -> ControlSocket {
        let socket = try make()
        let socketPath = self.path(ofStore: path)
        var status = stat()
        // The store is locked by this process, so an existing socket was left by a process that has
        // ended.
        if lstat(socketPath, &status) == 0 {
            guard status.st_mode & S_IFMT == S_IFSOCK else {
                throw .failed(
                    "\(socketPath.shortened(to: ErrorText.limit)) exists and is not a socket; move it away: the peer needs this path for its control socket"
                )
            }
            unlink(socketPath)
        }
        guard try withAddress(socketPath, { bind(socket.descriptor, $0, $1) == 0 }),
            // The mode is set before `listen`, when no client can connect yet.
            chmod(socketPath, 0o600) == 0, listen(socket.descriptor, SOMAXCONN) == 0
        else {
            throw .failed(
                "cannot listen on the control socket \(socketPath.shortened(to: ErrorText.limit)): \(systemText())"
            )
        }
        return socket
    }

    /// Sets the timeout of each read and write.
    func setPatience(seconds: Int) {
        var timeout = timeval()
        timeout.tv_sec = seconds
        for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
            setsockopt(
                descriptor, SOL_SOCKET, option, &timeout, socklen_t(MemoryLayout<timeval>.size))
        }
    }

    /// Shuts down the receiving direction; bytes written are still delivered.
    func endReading() {
        shutdown(descriptor, Int32(SHUT_RD))
    }

    /// Shuts down the sending direction; bytes are still received.
    func endWriting() {
        shutdown(descriptor, Int32(SHUT_WR))
    }

    /// Blocks until the other side or `endReading` has ended the receiving direction.
    func waitForEnd() {
        var byte: UInt8 = 0
        while true {
            let count = recv(descriptor, &byte, 1, 0)
            // A timeout of `setPatience` ends no connection here, and further bytes are ignored.
            guard count > 0 || count < 0 && [EINTR, EAGAIN, EWOULDBLOCK].contains(errno) else {
                return
            }
        }
    }

    /// Shuts down both directions.
    func end() {
        shutdown(descriptor, Int32(SHUT_RDWR))
    }

    /// Writes a line; returns false if the connection has ended or timed out.
    func write(_ line: String) -> Bool {
        let bytes = Array(line.utf8) + [0x0A]
        var done = 0
        while done < bytes.count {
            let count = bytes.withUnsafeBytes {
                #if canImport(Darwin)
                    send(descriptor, $0.baseAddress.map { $0 + done }, $0.count - done, 0)
                #else
                    send(
                        descriptor, $0.baseAddress.map { $0 + done }, $0.count - done,
                        Int32(MSG_NOSIGNAL))
                #endif
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return false }
            done += count
        }
        return true
    }

    private static func make() throws(ToolError) -> ControlSocket {
        #if canImport(Glibc)
            let number = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        #else
            let number = socket(AF_UNIX, SOCK_STREAM, 0)
        #endif
        guard number >= 0 else { throw .failed("cannot create a socket: \(systemText())") }
        return ControlSocket(number)
    }

    /// Maximum number of bytes of the path of a socket.
    private static let maximumPathLength = MemoryLayout.size(ofValue: sockaddr_un().sun_path) - 1

    private static func withAddress<Result>(
        _ path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result
    ) throws(ToolError) -> Result {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        guard path.utf8.count <= maximumPathLength else {
            throw .failed(
                "\(path.shortened(to: ErrorText.limit)) has \(path.utf8.count) bytes; a socket path may have at most \(maximumPathLength), so "
                    + "use a store with a shorter path")
        }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
    }
}

/// The lines received on a control socket.
struct ControlLines {
    /// Maximum length of a line, which exceeds that of any document.
    static let maximumLength = 64 << 20

    private let socket: ControlSocket
    private var bytes: [UInt8] = []
    private var start = 0

    init(_ socket: ControlSocket) {
        self.socket = socket
    }

    /// Returns the next line; nil if the connection ends or times out, or the line is invalid.
    mutating func next() -> String? {
        var seen = start
        while true {
            if let end = bytes[seen...].firstIndex(of: 0x0A) {
                defer { start = end + 1 }
                return String(validating: bytes[start..<end], as: UTF8.self)
            }
            bytes.removeFirst(start)
            start = 0
            seen = bytes.count
            guard seen < Self.maximumLength else { return nil }
            var piece = [UInt8](repeating: 0, count: 64 << 10)
            let count = piece.withUnsafeMutableBytes {
                recv(socket.descriptor, $0.baseAddress, $0.count, 0)
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return nil }
            bytes += piece.prefix(count)
        }
    }
}

/// Returns the system's message for the current `errno`.
func systemText() -> String {
    String(cString: strerror(errno))
}
