import Foundation
import SheafSystem
import SheafTestSupport

/// A double of a running peer or hub, which sends fixed lines to one run of the tool.
struct PeerDouble {
    let run: ToolRun
    /// The request of the tool, a line of JSON.
    let request: String

    struct Refused: Error {
        let code: Int32
    }

    /// Runs the tool with a command, the path of the store, and more words.
    init(answering lines: [String], _ command: [String], _ words: [String] = []) throws {
        let directory = TemporaryDirectory()
        let store = directory.path("ann")
        let requests = Monitor<[String]>([])
        try Self.send(lines, at: store + ".peer", requests)
        run = try withExtendedLifetime(directory) { try ToolRun(command + [store] + words) }
        request = requests.withLock { $0.first } ?? ""
    }

    /// Sends lines to the first client of a control socket, after its request.
    private static func send(
        _ lines: [String], at path: String, _ requests: Monitor<[String]>
    ) throws {
        let listener = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        _ = fcntl(listener, F_SETFD, FD_CLOEXEC)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard result == 0, listen(listener, 1) == 0 else { throw Refused(code: errno) }
        let bytes = Array(lines.map { $0 + "\n" }.joined().utf8)
        _ = try Thread(name: "sheaf-peer-double") {
            let client = accept(listener, nil, nil)
            var request = [UInt8](repeating: 0, count: 4_096)
            // The request is one short line.
            let count = recv(client, &request, request.count, 0)
            let text = String(decoding: request.prefix(max(count - 1, 0)), as: UTF8.self)
            requests.withLock { $0.append(text) }
            _ = Glibc.send(client, bytes, bytes.count, Int32(MSG_NOSIGNAL))
            close(client)
            close(listener)
        }
    }
}
