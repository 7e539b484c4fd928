#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// A connection to a server on this machine, for requests that no correct client sends.
final class RawClient {
    private let descriptor: Int32
    /// Received bytes that no response has used.
    private var received: [UInt8] = []

    /// Seconds after which a test gives up waiting for the server.
    private static let patienceSeconds = 60

    /// Connects to a port of 127.0.0.1.
    init(port: UInt16) {
        #if canImport(Glibc)
            descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        #else
            descriptor = socket(AF_INET, SOCK_STREAM, 0)
        #endif
        var timeout = timeval()
        timeout.tv_sec = Self.patienceSeconds
        for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
            setsockopt(
                descriptor, SOL_SOCKET, option, &timeout, socklen_t(MemoryLayout<timeval>.size))
        }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        precondition(result == 0, "The inspector accepts no connection.")
    }

    deinit { close(descriptor) }

    /// Sends bytes; returns false if the server has closed the connection.
    @discardableResult
    func send(_ bytes: [UInt8]) -> Bool {
        var done = 0
        while done < bytes.count {
            let count = bytes.withUnsafeBytes { buffer in
                #if canImport(Darwin)
                    Darwin.send(
                        descriptor, buffer.baseAddress.map { $0 + done }, buffer.count - done, 0)
                #else
                    Glibc.send(
                        descriptor, buffer.baseAddress.map { $0 + done }, buffer.count - done,
                        Int32(MSG_NOSIGNAL))
                #endif
            }
            guard count > 0 else { return false }
            done += count
        }
        return true
    }

    /// Sends a text.
    @discardableResult
    func send(_ text: String) -> Bool { send(Array(text.utf8)) }

    /// Returns the next line without its end; nil at the end of the connection.
    func line() -> String? {
        while true {
            if let end = received.firstIndex(of: 0x0A) {
                defer { received.removeFirst(end + 1) }
                var line = received[..<end]
                if line.last == 0x0D { line.removeLast() }
                return String(decoding: line, as: UTF8.self)
            }
            guard receive() else { return nil }
        }
    }

    /// Returns the next bytes; nil if the connection ends before.
    func bytes(_ count: Int) -> [UInt8]? {
        while received.count < count { guard receive() else { return nil } }
        defer { received.removeFirst(count) }
        return Array(received[..<count])
    }

    /// Whether the server has closed the connection, after bytes that are discarded.
    var isAtEnd: Bool {
        while receive() {}
        return true
    }

    private func receive() -> Bool {
        var part = [UInt8](repeating: 0, count: 64 << 10)
        let count = part.withUnsafeMutableBytes { recv(descriptor, $0.baseAddress, $0.count, 0) }
        guard count > 0 else {
            precondition(count == 0 || errno != EAGAIN, "The inspector did not answer.")
            return false
        }
        received += part[..<count]
        return true
    }
}

/// A response of the server.
struct RawResponse {
    let status: Int
    /// The fields with names in lower case.
    let header: [String: String]
    let body: [UInt8]

    var text: String { String(decoding: body, as: UTF8.self) }

    /// Reads a complete response; nil if the connection ends before.
    init?(from client: RawClient) {
        guard let head = RawHead(from: client) else { return nil }
        (status, header) = (head.status, head.header)
        if let length = header["content-length"].flatMap({ Int($0) }) {
            guard let bytes = client.bytes(length) else { return nil }
            body = bytes
        } else {
            body = []
        }
    }
}

/// The status and the header of a response.
struct RawHead {
    let status: Int
    let header: [String: String]

    init?(from client: RawClient) {
        guard let start = client.line()?.split(separator: " "), start.count > 1,
            let status = Int(start[1])
        else { return nil }
        self.status = status
        var header: [String: String] = [:]
        while let line = client.line(), !line.isEmpty {
            guard let colon = line.firstIndex(of: ":") else { continue }
            let value = line[line.index(after: colon)...].drop { $0 == " " }
            header[line[..<colon].lowercased()] = String(value)
        }
        self.header = header
    }
}
