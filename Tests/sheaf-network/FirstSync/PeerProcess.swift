import SheafSystem
import SheafTestSupport

/// The description of a broken limit, or of a process that did not behave.
struct FirstSyncFailure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}

/// A peer in a process of its own, and its reports.
final class PeerProcess {
    let name: String
    let process: ChildProcess
    /// All reports, in their order.
    private(set) var reports: [PeerReport] = []

    /// Starts this program again, as the peer with this name and role.
    init(_ name: String, _ role: [String]) throws {
        self.name = name
        process = try ChildProcess(Self.program, ["first-sync-peer"] + role, hasInput: true)
    }

    private static var program: String {
        #if os(Linux)
            "/proc/self/exe"
        #else
            CommandLine.arguments[0]
        #endif
    }

    /// Reads reports until there are some, or until the deadline.
    func read(until deadline: UInt64) throws {
        guard let lines = process.lines(until: deadline) else {
            throw FirstSyncFailure("the \(name) exited with \(process.wait())")
        }
        for line in lines {
            guard let report = PeerReport(line) else {
                throw FirstSyncFailure("the \(name): \(line)")
            }
            reports.append(report)
        }
    }

    /// Returns the last report of an event.
    func last(_ event: String) -> PeerReport? { reports.last { $0.event == event } }

    /// Waits for the first report of an event after those already read.
    func wait(for event: String) throws -> PeerReport {
        let known = reports.count
        let deadline = Clock.system.monotonicNanoseconds() + FirstSync.patienceNanoseconds
        while true {
            if let report = reports[known...].first(where: { $0.event == event }) { return report }
            guard Clock.system.monotonicNanoseconds() < deadline else {
                throw FirstSyncFailure("the \(name) did not report: \(event)")
            }
            try read(until: deadline)
        }
    }

    /// Requests a report, and waits for it.
    func request(_ command: String, _ event: String) throws -> PeerReport {
        process.send(command)
        return try wait(for: event)
    }

    /// Closes the peer, and waits for the end of the process.
    func stop() throws {
        process.send("stop")
        for line in process.remainingLines() {
            if let report = PeerReport(line) { reports.append(report) }
        }
        let code = process.wait()
        guard code == 0 else {
            throw FirstSyncFailure(
                "the \(name) ended with \(code): \(reports.last?.text ?? "no output")")
        }
    }

    /// Kills the process, and reads what it has printed.
    func kill() {
        process.kill()
        for line in process.remainingLines() {
            if let report = PeerReport(line) { reports.append(report) }
        }
        _ = process.wait()
    }

    /// The last number of documents that the process could read.
    var visible: Int { last("progress")?["visible"] ?? 0 }
    /// The last number of bytes of documents that the process had received.
    var received: Int { last("progress")?["received"] ?? 0 }
}
