import Foundation
import Sheaf
import SheafReplication
import SheafStatements
import SheafStorage
import SheafSystem
import SheafTestSupport
import Testing

/// The outputs that give the reasons for failing connections and quarantined documents.
struct ReconnectLoopTests {
    private let scene = PeerScene()

    /// Repeats a command until a line with this prefix meets the condition; returns all lines.
    private func lines(
        _ words: [String], until start: String, _ condition: (String) -> Bool
    ) throws -> [String] {
        let end = RunningPeer.deadline
        var lines: [String] = []
        while Clock.system.monotonicNanoseconds() < end {
            lines = try ToolRun(words).lines
            if lines.contains(where: { $0.hasPrefix(start) && condition($0) }) { return lines }
        }
        Issue.record("\(words): \(lines)")
        return lines
    }

    @Test
    func `both peers show the reason of a reconnect loop after a rejected subscription`()
        async throws
    {
        let server = try scene.serve("server", "--listen", "127.0.0.1:0")
        let address = try server.address()
        let serverKey = try server.status().key
        try server.execute("ALTER SYSTEM SET dql_restrict_subscriptions = true")
        let device = try await Device(address)
        let peer = device.peer
        try await peer.store.execute("ALTER SYSTEM SET dql_restrict_subscriptions = false")
        try peer.sync.registerSubscription("SELECT * FROM cars ORDER BY price LIMIT 1")
        try peer.sync.start()

        // Reconnects are logged with exponential spacing: the first, second and fourth connection.
        let warnings = device.warnings(with: "a connection to a peer has ended", count: 3)
        let parameter = "dql_restrict_subscriptions"
        let remotePrefix = "the other side closed the connection: "
        #expect(warnings.count == 3)
        #expect(warnings.allSatisfy { $0.hasPrefix("warning: ") && $0.contains(remotePrefix) })
        #expect(warnings.allSatisfy { $0.contains(parameter) }, "\(warnings)")
        #expect(warnings.allSatisfy { $0.contains("peer=\(serverKey)") })
        #expect(warnings.last?.contains("connections=4") == true)

        // The presence of the rejected peer contains the reason.
        for await graph in peer.presence.observe() {
            guard let gone = graph.disconnectedPeers.first else { continue }
            #expect(graph.disconnectedPeers.count == 1 && graph.remotePeers.isEmpty)
            #expect(gone.key?.description == serverKey && gone.address == address)
            #expect(gone.reason.hasPrefix(remotePrefix) && gone.reason.contains(parameter))
            break
        }

        // The rejecting peer has the reason in its status, explanations, events and log.
        let ownPrefix = "this side closed the connection: "
        let key = peer.key.description
        _ = try lines(["sync", "status", server.store], until: "\(key) disconnected") {
            $0.contains("; \(ownPrefix)") && $0.contains(parameter)
        }
        _ = try lines(
            ["explain-sync", server.store, "cars", "a", key], until: "connected: no; \(ownPrefix)"
        ) { $0.contains(parameter) }
        let event = try server.line("disconnected \(key)")
        #expect(event.contains(ownPrefix) && event.contains(parameter), "\(event)")
        let log = server.errorText
        #expect(log.contains("sheaf warning: a connection to a peer has ended"), "\(log)")
        #expect(log.contains(ownPrefix) && log.contains(parameter), "\(log)")
        try await peer.close()
        #expect(try server.stop() == 0)
    }

    @Test func `a disconnect event has the reason of the side that closed the connection`()
        async throws
    {
        let server = try scene.serve("server", "--listen", "127.0.0.1:0")
        let device = try await Device(try server.address())
        try device.peer.sync.start()
        _ = try server.line("connected \(device.peer.key)")
        #expect(try server.stop() == 0)
        let event = try server.line("disconnected \(device.peer.key)")
        #expect(event.contains("this side closed the connection: the peer stops"), "\(event)")
        try await device.peer.close()
    }

    /// An hour, plus half a minute so that a slow machine does not change the number of minutes.
    private static let ahead: UInt64 = 3_630_000

    @Test func `a peer's clock that is ahead is shown in the status, explanations and log`()
        async throws
    {
        let server = try scene.serve(
            "server", "--listen", "127.0.0.1:0", "--subscribe", "SELECT * FROM cars")
        let device = try await Device(try server.address(), ahead: Self.ahead)
        try await device.peer.store.execute("INSERT INTO cars DOCUMENTS ({'_id': 'late'})")
        try device.peer.sync.start()
        let clock = "clock: its clock is about 60 minutes ahead of the local clock"
        let documents =
            "clock: 1 document from it is quarantined here, stamped up to 60 minutes ahead"
        let explanation = try lines(
            ["explain-sync", server.store, "cars", "late", device.peer.key.description],
            until: documents
        ) { _ in true }
        #expect(explanation.contains(clock), "\(explanation)")
        let status = try ToolRun(["sync", "status", server.store]).lines
        #expect(status.contains("  \(clock)"), "\(status)")
        #expect(status.contains { $0.hasPrefix("  \(documents)") }, "\(status)")
        #expect(
            explanation.contains {
                $0.hasPrefix(
                    "quarantined: the peer's version is stamped too far ahead of the local clock")
            }, "\(explanation)")
        #expect(server.errorText.contains("sheaf warning: the clock of a peer: its clock is about"))
        let clockWarnings = device.warnings(with: "the clock of a peer: ", count: 1)
        #expect(clockWarnings.first?.contains("60 minutes earlier than the local clock") == true)
        try await device.peer.close()
        #expect(try server.stop() == 0)
    }

    @Test func `documents quarantined by another peer are shown in the status and explanations`()
        async throws
    {
        var options = StoreOptions()
        options.storage.clock = Device.clock(ahead: Self.ahead)
        let store = try await Store.open(at: scene.path("server"), options: options)
        try await store.execute("INSERT INTO cars DOCUMENTS ({'_id': 'late'})")
        try await store.close()
        let server = try scene.serve("server", "--listen", "127.0.0.1:0")
        let device = try await Device(try server.address())
        try device.peer.sync.registerSubscription("SELECT * FROM cars")
        try device.peer.sync.start()
        let documents = "clock: it has quarantined 1 document from here, stamped up to "
        let explanation = try lines(
            ["explain-sync", server.store, "cars", "late", device.peer.key.description],
            until: documents
        ) { $0.contains("sheaf clock PATH --repair") }
        let status = try ToolRun(["sync", "status", server.store]).lines
        #expect(status.contains { $0.hasPrefix("  \(documents)") }, "\(status)")
        #expect(
            explanation.contains {
                $0.hasPrefix("stamped: ") && $0.contains("ahead of the local clock")
            },
            "\(explanation)")
        try await device.peer.close()
        #expect(try server.stop() == 0)
    }
}
