import Sheaf
import SheafEngine
import SheafStatements
import SheafStorage
import SheafSystem
import Synchronization
import Testing

/// The log entries of a store about the clocks of other peers.
struct ClockLogTests {
    /// An hour and half a minute: a slow test machine does not change the number of minutes.
    private static let ahead: UInt64 = 3_630_000

    private func peer(
        _ network: MemoryNetwork, ahead: UInt64, _ write: @escaping @Sendable (String) -> Void
    ) async throws -> Peer {
        // A message with a lower level is found, too, and has the wrong text.
        let log = StoreLog(from: .debug) { level, message, metadata in
            write("\(level): \(message) peer=\(metadata["peer"] ?? "")")
        }
        var store = StoreOptions(log: log)
        store.storage.clock = Clock(
            wallMilliseconds: { Clock.system.wallMilliseconds() + ahead },
            monotonicNanoseconds: { Clock.system.monotonicNanoseconds() })
        let key = PeerKey.random()
        return try await Peer.inMemory(
            configuration: PeerConfiguration(
                databaseID: "clocks", key: key, transports: [network.transport(for: key)],
                store: store))
    }

    /// Returns the next log line that contains `text`.
    private func line(_ text: String, in lines: AsyncStream<String>) async throws -> String {
        for await line in lines where line.contains(text) { return line }
        throw CancellationError()
    }

    @Test func `both peers warn of the clock offset, and again of the quarantined document`()
        async throws
    {
        let network = MemoryNetwork(connectsAll: false)
        let (lateLines, lateLog) = AsyncStream.makeStream(of: String.self)
        let (earlyLines, earlyLog) = AsyncStream.makeStream(of: String.self)
        let late = try await peer(network, ahead: 0) { lateLog.yield($0) }
        let early = try await peer(network, ahead: Self.ahead) { earlyLog.yield($0) }
        for peer in [late, early] { try peer.sync.start() }
        network.connect(late.key, early.key)
        let start = "warning: the clock of a peer: its clock is about 60 minutes"
        #expect(
            try await line("60 minutes", in: lateLines)
                == "\(start) ahead of the local clock peer=\(early.key)")
        #expect(
            try await line("60 minutes", in: earlyLines)
                == "\(start) earlier than the local clock peer=\(late.key)")
        // A quarantine is logged immediately, although the offset was logged before.
        try late.sync.registerSubscription("SELECT * FROM cars")
        try await early.store.execute("INSERT INTO cars DOCUMENTS ({'_id': 'a'})")
        let remedy =
            "correct the wrong clock, then run 'sheaf clock PATH --repair' on the store that wrote "
            + "them"
        #expect(
            try await line("quarantined", in: lateLines).contains(
                "; 1 document from it is quarantined here, stamped up to 60 minutes ahead of the "
                    + "local clock; \(remedy)"))
        #expect(
            try await line("quarantined", in: earlyLines).contains(
                "; it has quarantined 1 document from here, stamped up to 60 minutes ahead of its "
                    + "clock; \(remedy)"))
        for peer in [late, early] { try await peer.close() }
    }
}
