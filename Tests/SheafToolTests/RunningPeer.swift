import Foundation
import SheafStorage
import SheafTestSupport

/// A `sheaf peer` that runs beside the test, until it is stopped or killed.
final class RunningPeer {
    private let process = Process()
    private let lines = Monitor<[String]>([])
    private let errors = Monitor("")
    private let ended = Monitor<Int32?>(nil)
    let store: String

    init(_ kind: String, store: String, _ words: [String]) throws {
        self.store = store
        process.executableURL = ToolRun.executable
        process.arguments = ["peer", kind, store] + words
        process.standardInput = FileHandle.nullDevice
        let (output, failures) = (Pipe(), Pipe())
        process.standardOutput = output
        process.standardError = failures
        let (lines, errors, ended) = (lines, errors, ended)
        let rest = Monitor("")
        output.fileHandleForReading.readabilityHandler = { handle in
            let data = handle.availableData
            if data.isEmpty { handle.readabilityHandler = nil }
            let whole = rest.withLock { rest in
                rest += String(decoding: data, as: UTF8.self)
                var pieces = rest.components(separatedBy: "\n")
                rest = pieces.removeLast()
                return pieces
            }
            lines.withLock { $0 += whole }
            lines.broadcast()
        }
        failures.fileHandleForReading.readabilityHandler = { handle in
            let data = handle.availableData
            if data.isEmpty { handle.readabilityHandler = nil }
            errors.withLock { $0 += String(decoding: data, as: UTF8.self) }
        }
        process.terminationHandler = { process in
            let status =
                process.terminationReason == .exit
                ? process.terminationStatus : -process.terminationStatus
            ended.withLock { $0 = status }
            ended.broadcast()
        }
        try process.run()
    }

    deinit {
        if process.isRunning { kill(process.processIdentifier, SIGKILL) }
    }

    /// What follows `start` in the first line that begins so; waits for a minute at most.
    func line(_ start: String) throws -> String {
        lines.wait(until: Self.deadline) { lines in !lines.contains { $0.hasPrefix(start) } }
        let all = lines.withLock { $0 }
        guard let line = all.first(where: { $0.hasPrefix(start) }) else {
            throw NoLine(start: start, lines: all, errors: errors.withLock { $0 })
        }
        return String(line.dropFirst(start.count))
    }

    /// The address where it listens.
    func address() throws -> String { try line("listening ") }

    /// Asks it to end, and says with which exit code it did.
    func stop(_ signal: Int32 = SIGTERM) throws -> Int32 {
        kill(process.processIdentifier, signal)
        ended.wait(until: Self.deadline) { $0 == nil }
        guard let status = ended.withLock({ $0 }) else {
            throw NoLine(start: "the end", lines: lines.withLock { $0 }, errors: "")
        }
        return status
    }

    /// Runs a statement in it; the JSON objects that it answers with.
    @discardableResult
    func execute(_ statement: String) throws -> [[String: Any]] {
        let run = try ToolRun(["peer", "execute", store, statement])
        guard run.status == 0 else { throw Failed(run: run) }
        return try run.objects()
    }

    /// What `sheaf sync status` says.
    func status(_ words: String...) throws -> PeerStatus {
        let run = try ToolRun(["sync", "status", store, "--json"] + words)
        guard run.status == 0, let object = try run.objects().first else { throw Failed(run: run) }
        return PeerStatus(object: object)
    }

    static var deadline: UInt64 { Clock.system.monotonicNanoseconds() + 60_000_000_000 }

    struct NoLine: Error {
        let start: String
        let lines: [String]
        let errors: String
    }

    struct Failed: Error {
        let run: ToolRun
    }
}

/// How far a peer is.
struct PeerStatus {
    let object: [String: Any]

    var key: String { object["key"] as? String ?? "" }
    var commit: Int { object["commit"] as? Int ?? -1 }
    var subscriptions: [[String: Any]] { object["subscriptions"] as? [[String: Any]] ?? [] }
    var checksums: [String] { subscriptions.compactMap { $0["checksum"] as? String } }
    var documents: Int { subscriptions.reduce(0) { $0 + ($1["documents"] as? Int ?? 0) } }
    var peers: [[String: Any]] { object["peers"] as? [[String: Any]] ?? [] }
    /// Whether somebody is there, and all that there is was taken and given.
    var isSettled: Bool {
        !peers.isEmpty
            && peers.allSatisfy { peer in
                ["isConnected", "isTaken", "isGiven"].allSatisfy { peer[$0] as? Bool == true }
                    && (peer["wants"] as? [String])?.isEmpty == false
            }
    }
}

/// Stores, keys and peers in one directory.
struct PeerScene {
    let directory = TemporaryDirectory()

    func path(_ name: String) -> String { directory.path(name) }

    /// Makes a key, and says which.
    func key(_ name: String) throws -> String {
        let run = try ToolRun(["keygen", path(name)])
        guard run.status == 0, let key = run.lines.first else { throw RunningPeer.Failed(run: run) }
        return key
    }

    func serve(_ name: String, _ words: String...) throws -> RunningPeer {
        try peer("serve", name, words)
    }

    func connect(_ name: String, _ words: String...) throws -> RunningPeer {
        try peer("connect", name, words)
    }

    private func peer(_ kind: String, _ name: String, _ words: [String]) throws -> RunningPeer {
        if !FileManager.default.fileExists(atPath: path("\(name).key")) {
            _ = try key("\(name).key")
        }
        return try RunningPeer(
            kind, store: path(name),
            ["--database", "scene", "--key", path("\(name).key"), "--name", name] + words)
    }
}
