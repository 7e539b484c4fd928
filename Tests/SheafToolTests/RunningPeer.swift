import Foundation
import SheafStorage
import SheafSystem
import SheafTestSupport

/// A child process of the tool, such as a peer that runs until it is stopped or killed.
final class RunningPeer {
    private let process = Process()
    private let lines = Monitor<[String]>([])
    private let directory = TemporaryDirectory()
    private let ended = Monitor<Int32?>(nil)
    let store: String

    convenience init(_ kind: String, store: String, _ words: [String]) throws {
        try self.init(["peer", kind], store: store, words)
    }

    /// Starts any command on a store as a child process.
    init(_ command: [String], store: String, _ words: [String] = []) throws {
        self.store = store
        process.executableURL = ToolRun.executable
        process.arguments = command + [store] + words
        process.standardInput = FileHandle.nullDevice
        let output = Pipe()
        process.standardOutput = output
        // Errors go to a file: other child processes may keep an inherited pipe open.
        let errorPath = directory.path("errors")
        _ = FileManager.default.createFile(atPath: errorPath, contents: nil)
        process.standardError = FileHandle(forWritingAtPath: errorPath)
        let (lines, ended) = (lines, ended)
        process.terminationHandler = { process in
            let status =
                process.terminationReason == .exit
                ? process.terminationStatus : -process.terminationStatus
            ended.withLock { $0 = status }
            ended.broadcast()
        }
        try process.run()
        try Self.read(output, into: lines)
    }

    /// Collects output lines on a thread that ends with the process.
    private static func read(_ pipe: Pipe, into lines: Monitor<[String]>) throws {
        let descriptor = dup(pipe.fileHandleForReading.fileDescriptor)
        _ = try Thread(name: "sheaf-lines") {
            defer { close(descriptor) }
            var rest: [UInt8] = []
            var piece = [UInt8](repeating: 0, count: 4_096)
            while true {
                let count = Glibc.read(descriptor, &piece, piece.count)
                guard count > 0 else { return }
                rest += piece.prefix(count)
                while let end = rest.firstIndex(of: 0x0A) {
                    let line = String(decoding: rest[..<end], as: UTF8.self)
                    rest.removeFirst(end + 1)
                    lines.withLock { $0.append(line) }
                    lines.broadcast()
                }
            }
        }
    }

    deinit {
        if process.isRunning { kill(process.processIdentifier, SIGKILL) }
    }

    /// Returns the rest of the first line with this prefix; waits up to three minutes.
    func line(_ start: String) throws -> String {
        lines.wait(until: Self.deadline) { lines in !lines.contains { $0.hasPrefix(start) } }
        let all = lines.withLock { $0 }
        guard let line = all.first(where: { $0.hasPrefix(start) }) else {
            throw NoLine(start: start, lines: all, errors: errorText)
        }
        return String(line.dropFirst(start.count))
    }

    /// Returns the address the peer listens on.
    func address() throws -> String { try line("listening ") }

    /// Sends a signal, then waits and returns as `end` does.
    func stop(_ signal: Int32 = SIGTERM) throws -> Int32 {
        kill(process.processIdentifier, signal)
        return try end()
    }

    /// The processor time of the process, in milliseconds.
    var processorMilliseconds: Int {
        let path = "/proc/\(process.processIdentifier)/stat"
        let text = (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
        // The program name, in parentheses, can contain spaces.
        let fields = text.split(separator: ")").last?.split(separator: " ") ?? []
        return fields.dropFirst(11).prefix(2).reduce(0) { $0 + (Int($1) ?? 0) * 10 }
    }

    /// The text written to standard error.
    var errorText: String {
        let data = FileManager.default.contents(atPath: directory.path("errors")) ?? Data()
        return String(decoding: data, as: UTF8.self)
    }

    /// Waits for the process to end; returns its exit code, or the negated signal that killed it.
    func end() throws -> Int32 {
        ended.wait(until: Self.deadline) { $0 == nil }
        guard let status = ended.withLock({ $0 }) else {
            throw NoLine(start: "the end", lines: lines.withLock { $0 }, errors: errorText)
        }
        return status
    }

    /// Executes a statement through the peer and returns its rows as JSON objects.
    @discardableResult
    func execute(_ statement: String) throws -> [[String: Any]] {
        let run = try ToolRun(["peer", "execute", store, statement])
        guard run.status == 0 else { throw Failed(run: run) }
        return try run.objects()
    }

    /// Returns the result of `sheaf sync status`.
    func status(_ words: String...) throws -> PeerStatus {
        let patience = words.contains("--wait") ? ["--timeout", "180"] : []
        let run = try ToolRun(["sync", "status", store, "--json"] + words + patience)
        guard run.status == 0, let object = try run.objects().first else { throw Failed(run: run) }
        return PeerStatus(object: object)
    }

    static var deadline: UInt64 { Clock.system.monotonicNanoseconds() + 180_000_000_000 }

    struct NoLine: Error {
        let start: String
        let lines: [String]
        let errors: String
    }

    struct Failed: Error {
        let run: ToolRun
    }
}

/// The output of `sheaf sync status --json`.
struct PeerStatus {
    let object: [String: Any]

    var key: String { object["key"] as? String ?? "" }
    var commit: Int { object["commit"] as? Int ?? -1 }
    var subscriptions: [[String: Any]] { object["subscriptions"] as? [[String: Any]] ?? [] }
    var checksums: [String] { subscriptions.compactMap { $0["checksum"] as? String } }
    var documents: Int { subscriptions.reduce(0) { $0 + ($1["documents"] as? Int ?? 0) } }
    var peers: [[String: Any]] { object["peers"] as? [[String: Any]] ?? [] }
    /// Whether all peers, at least one, are connected, have queries, and are synced both ways.
    var isSettled: Bool {
        !peers.isEmpty
            && peers.allSatisfy { peer in
                ["isConnected", "isReceived", "isSent"].allSatisfy { peer[$0] as? Bool == true }
                    && (peer["queries"] as? [String])?.isEmpty == false
            }
    }
}

/// A directory for the stores and keys of peers.
struct PeerScene {
    let directory = TemporaryDirectory()

    func path(_ name: String) -> String { directory.path(name) }

    /// Generates a key file and returns the public key.
    func key(_ name: String) throws -> String {
        let run = try ToolRun(["keygen", path(name)])
        guard run.status == 0, let key = run.lines.first else { throw RunningPeer.Failed(run: run) }
        return key
    }

    /// Creates a shared key file and returns its path.
    func sharedKey() throws -> String {
        let secret = Data(repeating: 7, count: 32)
        let attributes: [FileAttributeKey: Any] = [.posixPermissions: 0o600]
        _ = FileManager.default.createFile(
            atPath: path("shared.key"), contents: secret, attributes: attributes)
        return path("shared.key")
    }

    func serve(_ name: String, _ words: String...) throws -> RunningPeer {
        try serve(name, words)
    }

    func serve(_ name: String, _ words: [String]) throws -> RunningPeer {
        try peer("serve", name, words)
    }

    func connect(_ name: String, _ words: String...) throws -> RunningPeer {
        try peer("connect", name, words)
    }

    func peer(_ kind: String, _ name: String, _ words: [String]) throws -> RunningPeer {
        if !FileManager.default.fileExists(atPath: path("\(name).key")) {
            _ = try key("\(name).key")
        }
        return try RunningPeer(
            kind, store: path(name),
            ["--database", "scene", "--key", path("\(name).key"), "--name", name] + words)
    }
}
