import Sheaf
import SheafStatements
import SheafStorage
import SheafSystem

extension Demo {
    private static let subscription: DQL = "SELECT * FROM trips"
    private static let pairs = [(0, 1), (1, 2)]
    private static let maximumSeconds = 10

    /// Lets three peers sync, edit the same document offline, and sync again.
    mutating func sync() async throws {
        add(.title("4. Sync: three peers, connected in a line: ann - ben - cleo."))
        for peer in peers {
            try peer.sync.registerSubscription(Self.subscription)
            try peer.sync.start()
        }
        try await connect(from: "Ben and Cleo receive Ann's trips")
        try await show()
        add(.sentence("They disconnect, and each of them edits the same trip:"))
        for (left, right) in Self.pairs { network.disconnect(peers[left].key, peers[right].key) }
        let edits = [
            "UPDATE trips SET days = 5 WHERE _id = 'alps'",
            "UPDATE trips SET bring.tent = 1 WHERE _id = 'alps'",
            "UPDATE trips SET place = 'Zermatt' WHERE _id = 'alps'",
        ]
        for (number, edit) in edits.enumerated() {
            try await peers[number].store.execute(DQL(verbatim: edit))
            add(.statement(edit, peer: Self.names[number]))
        }
        try await show()
        try await connect(from: "They reconnect, and no edit is lost")
        try await show()
        let checksum = try peers[0].sync.checksum(of: Self.subscription)
        add(.sentence("All three peers have the checksum \(checksum)."))
    }

    /// Connects the peers, waits until they agree, and shows how long that took.
    private mutating func connect(from sentence: String) async throws {
        let start = Clock.system.monotonicNanoseconds()
        for (left, right) in Self.pairs { network.connect(peers[left].key, peers[right].key) }
        try await agree()
        add(.sentence(sentence), nanoseconds: Clock.system.monotonicNanoseconds() - start)
    }

    private mutating func show() async throws {
        for (name, peer) in zip(Self.names, peers) {
            let result = try await peer.store.execute("SELECT * FROM trips WHERE _id = 'alps'")
            for item in result.items { add(.document(try item.jsonString, peer: name)) }
        }
    }

    /// Waits until all checksums are equal.
    ///
    /// No peer writes during the wait, so each of them then has all writes.
    private func agree() async throws {
        let deadline =
            Clock.system.monotonicNanoseconds() + UInt64(Self.maximumSeconds) * 1_000_000_000
        while Clock.system.monotonicNanoseconds() < deadline {
            let checksums = try peers.map { try $0.sync.checksum(of: Self.subscription) }
            if Set(checksums).count == 1 { return }
            try await Task.sleep(for: .milliseconds(1))
        }
        throw ToolError.failed(
            "timeout: the three peers did not converge within \(Self.maximumSeconds) s")
    }
}
