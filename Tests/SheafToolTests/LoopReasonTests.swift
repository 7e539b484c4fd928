import Foundation
import Sheaf
import SheafStorage
import SheafTestSupport
import Testing

/// Where the reason of connections that begin and end again and again is shown.
struct LoopReasonTests {
    private let scene = PeerScene()

    /// The lines that a command prints, once one of them begins so.
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
    func `a loop that a rejected subscription makes has its reason in log, status and presence`()
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

        // It is a loop: the first connection, the second and the fourth are logged.
        let warnings = device.warnings(with: "a connection to a peer has ended", count: 3)
        let parameter = "dql_restrict_subscriptions"
        let there = "the other side closed the connection: "
        #expect(warnings.count == 3)
        #expect(warnings.allSatisfy { $0.hasPrefix("warning: ") && $0.contains(there) })
        #expect(warnings.allSatisfy { $0.contains(parameter) }, "\(warnings)")
        #expect(warnings.allSatisfy { $0.contains("peer=\(serverKey)") })
        #expect(warnings.last?.contains("connections=4") == true)

        // Presence of the peer that is sent away.
        for await graph in peer.presence.observe() {
            guard let gone = graph.disconnectedPeers.first else { continue }
            #expect(graph.disconnectedPeers.count == 1 && graph.remotePeers.isEmpty)
            #expect(gone.key?.description == serverKey && gone.address == address)
            #expect(gone.reason.hasPrefix(there) && gone.reason.contains(parameter))
            break
        }

        // The status, explanations, events and log of the other peer.
        let here = "this side closed the connection: "
        let key = peer.key.description
        _ = try lines(["sync", "status", server.store], until: "\(key) gone") {
            $0.contains("; \(here)") && $0.contains(parameter)
        }
        _ = try lines(
            ["explain-sync", server.store, "cars", "a", key], until: "connected: no; \(here)"
        ) { $0.contains(parameter) }
        let event = try server.line("disconnected \(key)")
        #expect(event.contains(here) && event.contains(parameter), "\(event)")
        let log = server.errorText
        #expect(log.contains("sheaf warning: a connection to a peer has ended"), "\(log)")
        #expect(log.contains(here) && log.contains(parameter), "\(log)")
        try await peer.close()
        #expect(try server.stop() == 0)
    }

    @Test func `the end of a connection is an event with the reason of the side that ended it`()
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

    // MARK: Clocks

    /// Half a minute more than an hour, so that a slow test machine does not change the number of minutes.
    private static let ahead: UInt64 = 3_630_000

    @Test func `the clock of a peer that is ahead is in the status, explanations and the log`()
        async throws
    {
        let server = try scene.serve(
            "server", "--listen", "127.0.0.1:0", "--subscribe", "SELECT * FROM cars")
        let device = try await Device(try server.address(), ahead: Self.ahead)
        try await device.peer.store.execute("INSERT INTO cars DOCUMENTS ({'_id': 'late'})")
        try device.peer.sync.start()
        let clock = "clock: its clock is about 60 minutes ahead of the clock here"
        let documents = "clock: 1 document of it is set aside here, stamped up to 60 minutes ahead"
        let status = try lines(["sync", "status", server.store], until: "  \(documents)") { _ in
            true
        }
        #expect(status.contains("  \(clock)"), "\(status)")
        let explanation = try ToolRun([
            "explain-sync", server.store, "cars", "late", device.peer.key.description,
        ]).lines
        #expect(explanation.contains(clock), "\(explanation)")
        #expect(explanation.contains { $0.hasPrefix(documents) }, "\(explanation)")
        #expect(
            explanation.contains {
                $0.hasPrefix(
                    "set aside: what the peer has of the document is stamped too far ahead")
            }, "\(explanation)")
        #expect(server.errorText.contains("sheaf warning: the clock of a peer: its clock is about"))
        let clockWarnings = device.warnings(with: "the clock of a peer: ", count: 1)
        #expect(clockWarnings.first?.contains("60 minutes behind the clock here") == true)
        try await device.peer.close()
        #expect(try server.stop() == 0)
    }

    @Test func `documents that another peer has set aside are in the status and explanations`()
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
        let documents = "clock: it has set aside 1 document from here, stamped up to "
        _ = try lines(["sync", "status", server.store], until: "  \(documents)") {
            $0.contains("sheaf clock PATH --repair")
        }
        let explanation = try ToolRun([
            "explain-sync", server.store, "cars", "late", device.peer.key.description,
        ]).lines
        #expect(explanation.contains { $0.hasPrefix(documents) }, "\(explanation)")
        #expect(
            explanation.contains { $0.hasPrefix("stamped: ") && $0.contains("ahead of the clock") },
            "\(explanation)")
        try await device.peer.close()
        #expect(try server.stop() == 0)
    }
}
