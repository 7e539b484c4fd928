import SheafBytes

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// One end of a conversation between a peer that runs and a command that asks it: lines of text.
///
/// One thread at a time may read, and one may write.
final class ControlSocket: Sendable {
    let descriptor: Int32

    /// Takes over an open descriptor.
    init(_ descriptor: Int32) {
        self.descriptor = descriptor
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    }

    deinit {
        close(descriptor)
    }

    /// Where the peer of a store listens: beside the store, whatever its directory is called.
    static func path(ofStore path: String) -> String {
        var resolved = path
        if let real = realpath(path, nil) {
            resolved = String(cString: real)
            free(real)
        }
        return resolved + ".peer"
    }

    /// Asks the peer that has the store at `path`.
    static func connecting(toStore path: String) throws(ToolError) -> ControlSocket {
        let socket = try make()
        let place = self.path(ofStore: path)
        let isThere = try withAddress(place) { connect(socket.descriptor, $0, $1) == 0 }
        guard isThere else {
            switch errno {
            case ENOENT, ECONNREFUSED, ENOTDIR:
                throw .failed(
                    "no peer runs on the store at \(path.shortened); 'sheaf peer serve \(path.shortened) ...' starts one"
                )
            default:
                throw .failed(
                    "cannot ask the peer at \(place.shortened(to: ErrorText.limit)): \(systemText())"
                )
            }
        }
        return socket
    }

    /// Listens for who wants to ask the peer of the store at `path`, which this process has opened.
    static func listening(forStore path: String) throws(ToolError) -> ControlSocket {
        let socket = try make()
        let place = self.path(ofStore: path)
        var status = stat()
        // Who has the store has its socket, so one that is there is left of a process that is gone.
        if lstat(place, &status) == 0 {
            guard status.st_mode & S_IFMT == S_IFSOCK else {
                throw .failed(
                    "\(place.shortened(to: ErrorText.limit)) exists and is no socket; a peer needs this path for its control socket, so move the file away"
                )
            }
            unlink(place)
        }
        guard try withAddress(place, { bind(socket.descriptor, $0, $1) == 0 }),
            // Before anybody can connect.
            chmod(place, 0o600) == 0, listen(socket.descriptor, 16) == 0
        else {
            throw .failed(
                "commands cannot ask the peer at \(place.shortened(to: ErrorText.limit)): \(systemText())"
            )
        }
        return socket
    }

    /// Sets for how long a call may wait for the other end.
    func setPatience(seconds: Int) {
        var patience = timeval()
        patience.tv_sec = seconds
        for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
            setsockopt(
                descriptor, SOL_SOCKET, option, &patience, socklen_t(MemoryLayout<timeval>.size))
        }
    }

    /// Reads nothing more; what is written still arrives.
    func endReading() {
        shutdown(descriptor, Int32(SHUT_RD))
    }

    /// Ends the conversation for both ends.
    func end() {
        shutdown(descriptor, Int32(SHUT_RDWR))
    }

    /// Sends a line; false where the other end is gone.
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
        guard number >= 0 else { throw .failed("the system has no socket: \(systemText())") }
        return ControlSocket(number)
    }

    private static func withAddress<Result>(
        _ path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result
    ) throws(ToolError) -> Result {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let limit = MemoryLayout.size(ofValue: address.sun_path) - 1
        guard path.utf8.count <= limit else {
            throw .failed(
                "\(path.shortened(to: ErrorText.limit)) has \(path.utf8.count) bytes, and the socket of a peer at most \(limit): "
                    + "a store with a shorter path is right")
        }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
    }
}

/// Cuts what comes into lines.
struct ControlLines {
    /// A line that is longer is refused: more than any document has.
    static let maximumLength = 64 << 20

    private let socket: ControlSocket
    private var bytes: [UInt8] = []
    private var start = 0

    init(_ socket: ControlSocket) {
        self.socket = socket
    }

    /// The next line; none where the other end is gone, silent for too long, or talks too much.
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

/// What the system says about the last call that failed.
func systemText() -> String {
    String(cString: strerror(errno))
}
