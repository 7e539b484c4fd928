import Foundation
import SheafSystem
import SheafTestSupport
import Testing

/// The output of `sheaf hub status` for the answer of a hub.
@Suite struct HubStatusTests {
    struct Refused: Error {
        let code: Int32
    }

    /// Sends an answer to the first client of a control socket.
    private func send(_ answer: String, at path: String) throws {
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
        let bytes = Array("=\(answer)\n.\n".utf8)
        _ = try Thread(name: "sheaf-hub-answer") {
            let client = accept(listener, nil, nil)
            var request = [UInt8](repeating: 0, count: 4_096)
            // The request is one short line.
            _ = recv(client, &request, request.count, 0)
            _ = Glibc.send(client, bytes, bytes.count, Int32(MSG_NOSIGNAL))
            close(client)
            close(listener)
        }
    }

    private func status(of answer: String, _ words: String...) throws -> ToolRun {
        let directory = TemporaryDirectory()
        let store = directory.path("hub")
        try send(answer, at: store + ".peer")
        return try withExtendedLifetime(directory) {
            try ToolRun(["hub", "status", store] + words)
        }
    }

    private let ready =
        #"{"isReady":true,"commit":5,"hubDurableCommit":5,"clients":2,"unacknowledged":1}"#

    /// A hub with all kinds of problems.
    private let troubled = """
        {"isReady":false,"reasons":["the disk is full"],"commit":9,"hubDurableCommit":7,\
        "lagMilliseconds":40,"clients":0,"unacknowledged":3,"heldMilliseconds":20,\
        "pendingBytes":100,"unstoredFiles":2,"fileFailure":"no space",\
        "shards":[{"shard":1,"read":4,"stored":3,"unstoredMessages":2,"unstoredBytes":60}],\
        "hubs":[{"hub":"a","isLive":true,"isReady":true,"clients":1},\
        {"hub":"b","isLive":true,"isDraining":true,"isReady":true,"clients":0},\
        {"hub":"c","isLive":true,"clients":0},\
        {"isLive":false,"silentMilliseconds":5500,"clients":0}]}
        """

    @Test func `a ready hub has three lines`() throws {
        let run = try status(of: ready)
        #expect(run.status == 0, "\(run.errors)")
        #expect(
            run.lines == [
                "ready", "commit 5, hub-durable up to 5",
                "2 connections, 1 batches not acknowledged",
            ])
    }

    @Test func `a hub that is not ready names the reasons, its shards and the other hubs`() throws {
        let run = try status(of: troubled)
        #expect(run.status == 1)
        #expect(
            run.lines == [
                "not ready", "  the disk is full", "commit 9, hub-durable up to 7 (lag 40 ms)",
                "0 connections, 3 batches not acknowledged",
                "clients are held for 20 ms: 100 bytes of their documents are not hub-durable",
                "2 attachments are not known to be in the engine", "attachments: no space",
                "shard 1: read to entry 4, stored to 3; 2 messages (60 bytes) not stored by the "
                    + "engine",
                "hub a ready with 1 connections", "hub b draining with 0 connections",
                "hub c not ready with 0 connections",
                "hub unknown silent for 5 s with 0 connections",
            ])
    }

    @Test func `with --json, the answer of the hub is printed unchanged`() throws {
        for (answer, code) in [(ready, 0 as Int32), (troubled, 1)] {
            let run = try status(of: answer, "--json")
            #expect(run.status == code, "\(run.errors)")
            #expect(run.text == answer + "\n")
        }
    }
}
