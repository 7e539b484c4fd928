import SheafSystem
import SheafTestSupport

/// A server and a receiver that connects to it, in processes of their own.
final class PeerPair {
    private(set) var server: PeerProcess
    private(set) var receiver: PeerProcess
    private let serverRole: [String]
    private let receiverRole: [String]
    /// The peak of the anonymous memory of the receiver in bytes, sampled while waiting.
    private(set) var peakMemory = 0

    /// Starts both; the receiver has the store with this name.
    init(
        _ stores: FirstSyncStores, receiver name: String, isWatching: Bool = false,
        isLive: Bool = false
    ) throws {
        let live = isLive ? ["live"] : []
        let path = ["path=" + stores.server] + live
        server = try PeerProcess("server", path + ["listen=127.0.0.1:0"])
        let address = try server.wait(for: "listening").text
        serverRole = path + ["listen=" + address]
        receiverRole =
            ["path=" + stores.receiver(name), "connect=" + address] + live
            + (isWatching ? ["watch"] : [])
        receiver = try PeerProcess("receiver", receiverRole)
    }

    /// Reads the reports of both until a condition holds.
    func wait(
        for what: String, until deadline: UInt64? = nil, _ isMet: () -> Bool
    ) throws {
        let start = Clock.system.monotonicNanoseconds()
        while !isMet() {
            let now = Clock.system.monotonicNanoseconds()
            if let deadline, now >= deadline { return }
            guard now < start + FirstSync.patienceNanoseconds else {
                throw FirstSyncFailure("no \(what) after \((now - start) / 1_000_000_000) s")
            }
            try receiver.read(until: now + Self.sampleNanoseconds)
            try server.read(until: now)
            let memory = ProcessMemory.kibibytes("RssAnon", of: receiver.process.identifier)
            peakMemory = max(peakMemory, memory << 10)
        }
    }

    /// Interval between two samples of the memory.
    private static let sampleNanoseconds: UInt64 = 2_000_000

    /// Waits until the server knows that the receiver has all documents.
    func waitForAcknowledgment() throws -> PeerReport {
        try wait(for: "acknowledgment") { server.last("acknowledged") != nil }
        guard let report = server.last("acknowledged") else {
            throw FirstSyncFailure("no acknowledgment")
        }
        return report
    }

    /// Waits until both have the same documents, and returns the report of the receiver.
    func waitForEqualDocuments() throws -> PeerReport {
        let wanted = try server.request("check", "documents")
        let start = Clock.system.monotonicNanoseconds()
        while Clock.system.monotonicNanoseconds() < start + FirstSync.patienceNanoseconds {
            let found = try receiver.request("check", "documents")
            if found.text == wanted.text, found["visible"] == wanted["visible"] { return found }
        }
        let found = receiver.last("documents")?.text ?? "nothing"
        throw FirstSyncFailure("the server has \(wanted.text), the receiver \(found)")
    }

    /// Kills the server or the receiver, and starts it again; returns what had arrived before.
    func kill(server isServer: Bool) throws -> (visible: Int, received: Int) {
        if isServer {
            server.kill()
            try receiver.read(until: Clock.system.monotonicNanoseconds())
            let progress = (receiver.visible, receiver.received)
            server = try PeerProcess("server", serverRole)
            return progress
        }
        receiver.kill()
        let progress = (receiver.visible, receiver.received)
        receiver = try PeerProcess("receiver", receiverRole)
        try wait(for: "count of the receiver") { receiver.last("progress") != nil }
        return progress
    }

    func stop() throws {
        try receiver.stop()
        try server.stop()
    }
}
