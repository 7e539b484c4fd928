import BenchStores
import Glibc
import SheafSystem

/// A client of `GET /changes` that counts the commits, on a thread of its own.
final class ChangesReader {
    private struct State: Sendable {
        var commits = 0
        var isEnded = false
    }

    private let state = Monitor(State())
    private var thread: Thread?

    /// Connects to the inspector with a URL such as `http://127.0.0.1:8080/?token=TOKEN`.
    init(url: String) throws {
        let parts = url.split { "/:=".contains($0) }
        guard parts.count == 5, let port = UInt16(parts[2]) else {
            throw StoreFailure(description: "the inspector has no URL with a port and a token")
        }
        let descriptor = try Self.connect(port)
        let request =
            "GET /changes?since=0 HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\n"
            + "Authorization: Bearer \(parts[4])\r\n\r\n"
        guard write(descriptor, request, request.utf8.count) == request.utf8.count else {
            throw StoreFailure(description: "the inspector accepts no request")
        }
        thread = try Thread(name: "changes-reader") { [state] in
            Self.read(descriptor, state)
            close(descriptor)
        }
    }

    /// Waits until the events of all commits have arrived.
    func wait(for commits: Int) throws {
        let deadline = Clock.system.monotonicNanoseconds() + 10_000_000_000
        let found = state.wait(
            until: deadline, while: { $0.commits < commits && !$0.isEnded }
        ) { $0.commits }
        guard found == commits else {
            throw StoreFailure(
                description: "the inspector sent \(found) of \(commits) commits")
        }
    }

    private static func connect(_ port: UInt16) throws -> Int32 {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard result == 0 else {
            throw StoreFailure(description: "the inspector accepts no connection")
        }
        return descriptor
    }

    /// Counts the lines that begin an event of a commit, until the connection ends.
    private static func read(_ descriptor: Int32, _ state: Monitor<State>) {
        let start = Array("event: commit".utf8)
        var line: [UInt8] = []
        var bytes = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            let count = Glibc.read(descriptor, &bytes, bytes.count)
            guard count > 0 else { break }
            var found = 0
            for byte in bytes[..<count] {
                if byte == 0x0A {
                    if line == start { found += 1 }
                    line.removeAll(keepingCapacity: true)
                } else if line.count <= start.count {
                    line.append(byte)
                }
            }
            guard found > 0 else { continue }
            state.withLock { $0.commits += found }
            state.signal()
        }
        state.withLock { $0.isEnded = true }
        state.signal()
    }
}
