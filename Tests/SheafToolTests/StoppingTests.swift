import Foundation
import Sheaf
import SheafDocument
import SheafStatements
import SheafStorage
import SheafSystem
import SheafTestSupport
import Testing

/// The time a running peer takes to stop.
struct StoppingTests {
    private let scene = PeerScene()

    /// Stops a peer; returns the milliseconds from SIGTERM to the end of the process.
    private func stoppingTime(of peer: RunningPeer) throws -> UInt64 {
        let start = Clock.system.monotonicNanoseconds()
        #expect(try peer.stop() == 0)
        return (Clock.system.monotonicNanoseconds() - start) / 1_000_000
    }

    /// Returns the milliseconds that an idle peer takes to stop.
    private func idleTime() throws -> UInt64 {
        let idle = try scene.serve("idle", "--listen", "127.0.0.1:0")
        _ = try idle.address()
        return try stoppingTime(of: idle)
    }

    /// Expects a peer to stop within two seconds.
    ///
    /// The limit is higher on a loaded machine, where even an idle peer takes 250 ms or more.
    private func expectStop(of peer: RunningPeer, idle usual: UInt64? = nil) throws {
        let usual = try usual ?? idleTime()
        let taken = try stoppingTime(of: peer)
        let limit = usual < 250 ? 2_000 : 2_000 + 2 * usual
        #expect(taken < limit, "\(taken) ms, and \(usual) ms when idle")
    }

    /// Creates a store of `documents` documents and deletes `deleted` of every ten.
    private func makeStore(_ name: String, documents: Int, deleted: Int) async throws {
        var options = StoreOptions()
        options.storage.runsMaintenance = false
        let store = try await Store.open(at: scene.path(name), options: options)
        let text = Value.string(String(repeating: "xy", count: 200))
        for first in stride(from: 0, to: documents, by: 1_000) {
            // Parsing a literal would take most of the time.
            let values = (first..<first + 1_000).map { number -> Value in
                .object(
                    Object([
                        ("_id", .integer(Int64(number))), ("n", .integer(Int64(number % 10))),
                        ("text", text),
                    ]))
            }
            try await store.execute(
                "INSERT INTO cars DOCUMENTS (:cars)", QueryArguments(["cars": .array(values)]))
        }
        try await store.execute(DQL(verbatim: "DELETE FROM cars WHERE n < \(deleted)"))
        try await store.close()
    }

    @Test func `a peer ends within two seconds of SIGTERM during a compaction`() async throws {
        try await makeStore("server", documents: 40_000, deleted: 7)
        let usual = try idleTime()
        let server = try scene.serve("server", "--listen", "127.0.0.1:0")
        // The compaction writes one `.base` file after another.
        let end = RunningPeer.deadline
        func bases() -> Int {
            let names = (try? FileManager.default.contentsOfDirectory(atPath: server.store)) ?? []
            return names.filter { $0.hasSuffix(".base") }.count
        }
        while bases() == 0, Clock.system.monotonicNanoseconds() < end {}
        #expect(bases() > 0)
        try expectStop(of: server, idle: usual)
        // The compaction was interrupted, so garbage remains.
        var options = LogStoreOptions()
        options.runsMaintenance = false
        let engine = try StoreEngine(
            opening:
                try PosixVolume(path: server.store, creatingDirectory: false), options: options)
        #expect(engine.isGarbageExcessive())
        #expect(!engine.compactionPlans(everything: false).isEmpty)
        try engine.close()
        #expect(try ToolRun(["verify", server.store]).status == 0)
    }

    @Test func `a peer ends within two seconds of SIGTERM while creating an index`() async throws {
        try await makeStore("server", documents: 40_000, deleted: 0)
        let server = try scene.serve("server", "--listen", "127.0.0.1:0")
        _ = try server.address()
        let usual = try idleTime()
        let client = try RunningPeer(
            "execute", store: server.store, ["CREATE INDEX byText ON cars (text, n)"])
        try waitForStatement("CREATE INDEX", on: server)
        try expectStop(of: server, idle: usual)
        #expect(try client.end() == 1)
        #expect(client.errorText.contains("the peer is stopping and has canceled the statement"))
    }

    /// Waits until a peer runs a statement that begins with these words.
    private func waitForStatement(_ words: String, on peer: RunningPeer) throws {
        let running = "SELECT text FROM system:active_requests WHERE text LIKE '\(words)%'"
        while try peer.execute(running).isEmpty {
            try #require(Clock.system.monotonicNanoseconds() < RunningPeer.deadline)
        }
    }

    /// Waits until a peer has used half a second of processor time since `start`.
    private func waitForWork(of peer: RunningPeer, since start: Int) {
        while peer.processorMilliseconds < start + 500 {}
    }

    private func fill(_ peer: RunningPeer) throws {
        let big = String(repeating: "xy", count: 500)
        // The statements and subscriptions take long even for few documents.
        for first in stride(from: 0, to: 200, by: 100) {
            let documents = (first..<first + 100).map { "({'_id': \($0), 'big': '\(big)'})" }
            try peer.execute("INSERT INTO cars DOCUMENTS " + documents.joined(separator: ", "))
        }
    }

    /// Returns a condition without a match; each of its terms repeats a field `kilobytes` times.
    private func slow(_ terms: Int, kilobytes: Int, of field: String = "big") -> String {
        (0..<terms).map { "char_length(repeat(\(field), \(kilobytes))) = -\($0)" }
            .joined(separator: " OR ")
    }

    @Test
    func `a peer ends within two seconds of SIGTERM while it evaluates an expensive subscription`()
        throws
    {
        let server = try scene.serve("server", "--listen", "127.0.0.1:0")
        let address = try server.address()
        try fill(server)
        // Each query takes about 10 ms per document; together they exceed the evaluation budget.
        var words = ["--connect", address]
        for query in 0..<32 {
            let terms = (0..<50).map { "char_length(repeat(big, 8)) = -\(query * 100 + $0)" }
            words += ["--subscribe", "SELECT * FROM cars WHERE " + terms.joined(separator: " OR ")]
        }
        _ = try scene.key("hostile.key")
        let hostile = try RunningPeer(
            "connect", store: scene.path("hostile"),
            ["--database", "scene", "--key", scene.path("hostile.key")] + words)
        // The server responds to control requests while it evaluates.
        while true {
            let peers = try server.status().peers
            if peers.contains(where: { ($0["queries"] as? [String])?.count == 32 }) { break }
        }
        #expect(try server.status().peers.allSatisfy { $0["isSent"] as? Bool == false })
        try expectStop(of: server)
        _ = try hostile.stop()
    }

    @Test(arguments: ["SELECT * FROM cars WHERE", "UPDATE cars SET n = 1 WHERE"])
    func `a peer ends within two seconds of SIGTERM while it runs a slow statement`(
        beginning: String
    ) throws {
        let server = try scene.serve("server", "--listen", "127.0.0.1:0")
        _ = try server.address()
        try fill(server)
        let client = try RunningPeer(
            "execute", store: server.store, ["\(beginning) \(slow(25, kilobytes: 800))"])
        try waitForStatement(beginning, on: server)
        try expectStop(of: server)
        #expect(try client.end() == 1)
        #expect(client.errorText.contains("the peer is stopping and has canceled the statement"))
    }

    /// The write rules of stored documents that the peer may not read count against no budget.
    @Test func `a peer ends within two seconds of SIGTERM while it evaluates a slow write rule`()
        throws
    {
        let authority = try scene.key("authority.key")
        func words(_ name: String, _ rights: [String]) throws -> [String] {
            let key = try scene.key("\(name).key")
            let run = try ToolRun(
                ["grant", scene.path("authority.key"), key, "--database", "scene"] + rights)
            try run.output.write(to: URL(fileURLWithPath: scene.path("\(name).grant")))
            return ["--authority", authority, "--grant", scene.path("\(name).grant")]
        }
        let rule = "cars=" + slow(40, kilobytes: 800, of: "text") + " OR char_length(text) > 0"
        let server = try scene.peer(
            "serve", "server",
            ["--listen", "127.0.0.1:0", "--subscribe", "SELECT * FROM cars"]
                + words("server", ["--all"]))
        let address = try server.address()
        let long = String(repeating: "t", count: 20_000)
        try server.execute(
            "INSERT INTO cars DOCUMENTS ({'_id': 1, 'owner': 'bob', 'text': '\(long)'})")
        let device = try scene.peer(
            "connect", "device",
            ["--connect", address]
                + words("device", ["--read", "cars=owner = 'ann'", "--write", rule]))
        _ = try device.line("connected")
        let start = server.processorMilliseconds
        try device.execute("INSERT INTO cars DOCUMENTS ({'_id': 1, 'owner': 'bob', 'text': 't'})")
        waitForWork(of: server, since: start)
        try expectStop(of: server)
        _ = try device.stop()
    }

    @Test
    func `a peer ends within two seconds of SIGTERM while it evaluates its own slow subscription`()
        throws
    {
        let query = "SELECT * FROM cars WHERE \(slow(25, kilobytes: 800))"
        let server = try scene.serve("server", "--listen", "127.0.0.1:0", "--subscribe", query)
        let address = try server.address()
        try fill(server)
        let start = server.processorMilliseconds
        let other = try scene.connect("other", "--connect", address)
        waitForWork(of: server, since: start)
        let statusCommand = try RunningPeer(["sync", "status"], store: server.store)
        waitForWork(of: server, since: server.processorMilliseconds)
        try expectStop(of: server)
        #expect(try statusCommand.end() == 1)
        _ = try other.stop()
    }
}
