import Sheaf
import SheafDocument
import SheafStatements

extension Command {
    /// The command `sheaf demo`.
    static let demo = Command(
        name: "demo", summary: "show three peers that edit offline and sync",
        operands: [], options: [.json],
        details: """
            Runs three peers in the memory of this process, without disk or network. They sync a
            document, disconnect, edit it concurrently, and sync again.

            JSON keys: step (a sentence), peer, document. Keys that do not apply are null.
            """,
        run: { (arguments, output) throws(ToolError) in
            let isJSON = arguments.has("json")
            let steps = try waitFor { try await Demo.play() }
            for step in steps { output.write(isJSON ? step.json : step.text) }
            return .ok
        })
}

/// The demonstration of three peers that disconnect, write and reconnect.
struct Demo {
    /// A line of output: a sentence, or a document of a peer.
    struct Step: Sendable {
        var sentence: String?
        var peer: String?
        var document: String?

        var text: String {
            if let sentence { return sentence }
            let name = peer ?? ""
            let gap = String(repeating: " ", count: max(0, 6 - name.utf8.count))
            return "  \(name)\(gap)\(document ?? "nothing")"
        }

        var json: String {
            var line = JSONLine()
            line.add("step", sentence)
            line.add("peer", peer)
            line.add("document", raw: document ?? "null")
            return line.closed
        }
    }

    private static let names = ["ann", "ben", "cleo"]
    private static let maximumChecks = 2_000

    private let network = MemoryNetwork(connectsAll: false)
    private var peers: [Peer] = []
    private var steps: [Step] = []

    /// Runs the demonstration and returns its output.
    static func play() async throws -> [Step] {
        var demo = Demo()
        do {
            try await demo.run()
        } catch {
            for peer in demo.peers { try? await peer.close() }
            throw error
        }
        for peer in demo.peers { try await peer.close() }
        return demo.steps
    }

    private mutating func run() async throws {
        for name in Self.names {
            let key = PeerKey.random()
            let peer = try await Peer.inMemory(
                configuration: PeerConfiguration(
                    databaseID: "demo", key: key, deviceName: name,
                    transports: [network.transport(for: key)]))
            peers.append(peer)
            try peer.sync.registerSubscription("SELECT * FROM trips")
            try peer.sync.start()
        }
        printSentence("Three peers, connected in a line: ann - ben - cleo. Ann plans a trip.")
        connect()
        try await execute(
            0,
            "INSERT INTO trips DOCUMENTS ({'_id': 'alps', 'days': 3, 'place': 'Chamonix', "
                + "'bring': {'rope': 1}})")
        try await agree()
        try await show()
        printSentence("They disconnect, and each peer edits the trip.")
        for pair in [(0, 1), (1, 2)] { network.disconnect(peers[pair.0].key, peers[pair.1].key) }
        try await execute(0, "UPDATE trips SET days = 5 WHERE _id = 'alps'")
        try await execute(1, "UPDATE trips SET bring.tent = 1 WHERE _id = 'alps'")
        try await execute(2, "UPDATE trips SET place = 'Zermatt' WHERE _id = 'alps'")
        try await execute(2, "INSERT INTO trips DOCUMENTS ({'_id': 'sea', 'days': 2})")
        try await show()
        printSentence("They reconnect. No edit is lost, and all three have the same documents:")
        connect()
        try await agree()
        try await show()
        let checksum = try peers[0].sync.checksum(of: "SELECT * FROM trips")
        printSentence("The checksum of the trips is \(checksum) on all three peers.")
    }

    private mutating func printSentence(_ sentence: String) {
        steps.append(Step(sentence: sentence))
    }

    private func connect() {
        for pair in [(0, 1), (1, 2)] { network.connect(peers[pair.0].key, peers[pair.1].key) }
    }

    private func execute(_ number: Int, _ statement: String) async throws {
        try await peers[number].store.execute(DQL(verbatim: statement))
    }

    private mutating func show() async throws {
        for (name, peer) in zip(Self.names, peers) {
            let result = try await peer.store.execute("SELECT * FROM trips ORDER BY _id")
            for item in result.items {
                steps.append(Step(peer: name, document: try item.jsonString))
            }
        }
    }

    /// Waits until all checksums are equal.
    ///
    /// No peer writes during the wait, so each of them then has all writes.
    private func agree() async throws {
        for _ in 0..<Self.maximumChecks {
            let checksums = try peers.map { try $0.sync.checksum(of: "SELECT * FROM trips") }
            if Set(checksums).count == 1 { return }
            try await Task.sleep(for: .milliseconds(5))
        }
        throw ToolError.failed("timeout: the three peers did not converge within 10 s")
    }
}
