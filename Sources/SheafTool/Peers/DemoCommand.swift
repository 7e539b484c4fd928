import Sheaf
import SheafDocument

extension Command {
    /// Shows what peers do.
    static let demo = Command(
        name: "demo", summary: "let three peers edit while they are apart, and meet",
        operands: [], options: [.json],
        details: """
            Three peers in the memory of this process: nothing is written to the disk, and nothing
            sent. They share a document, part, edit it each in their own way, and meet again.

            JSON keys: step (a sentence), peer, document; what does not belong to a step is null.
            """,
        run: { (arguments, output) throws(ToolError) in
            let isJSON = arguments.has("json")
            let steps = try waitFor { try await Demo.play() }
            for step in steps { output.write(isJSON ? step.json : step.text) }
            return .ok
        })
}

/// Three peers that part and meet.
struct Demo {
    /// Something to read: what happened, or what a peer has.
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
    private static let mostLooks = 2_000

    private let network = MemoryNetwork(connectsAll: false)
    private var peers: [Peer] = []
    private var steps: [Step] = []

    /// Lets the three play, and says what they did.
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
        say("Three peers, connected in a line: ann - ben - cleo. Ann plans a trip.")
        connect()
        try await execute(
            0,
            "INSERT INTO trips DOCUMENTS ({'_id': 'alps', 'days': 3, 'place': 'Chamonix', "
                + "'bring': {'rope': 1}})")
        try await agree()
        try await show()
        say("They part, and each of them edits the trip.")
        for pair in [(0, 1), (1, 2)] { network.disconnect(peers[pair.0].key, peers[pair.1].key) }
        try await execute(0, "UPDATE trips SET days = 5 WHERE _id = 'alps'")
        try await execute(1, "UPDATE trips SET bring.tent = 1 WHERE _id = 'alps'")
        try await execute(2, "UPDATE trips SET place = 'Zermatt' WHERE _id = 'alps'")
        try await execute(2, "INSERT INTO trips DOCUMENTS ({'_id': 'sea', 'days': 2})")
        try await show()
        say("They meet again. Nobody's edit is lost, and all three have the same:")
        connect()
        try await agree()
        try await show()
        let checksum = try peers[0].sync.checksum(of: "SELECT * FROM trips")
        say("The checksum of the trips is \(checksum) on each of them.")
    }

    private mutating func say(_ sentence: String) {
        steps.append(Step(sentence: sentence))
    }

    private func connect() {
        for pair in [(0, 1), (1, 2)] { network.connect(peers[pair.0].key, peers[pair.1].key) }
    }

    private func execute(_ number: Int, _ statement: String) async throws {
        try await peers[number].store.execute(Query(verbatim: statement))
    }

    private mutating func show() async throws {
        for (name, peer) in zip(Self.names, peers) {
            let result = try await peer.store.execute("SELECT * FROM trips ORDER BY _id")
            for item in result.items {
                steps.append(Step(peer: name, document: try item.jsonString))
            }
        }
    }

    /// Returns when all have the same; nobody writes meanwhile, so then each has what all have written.
    private func agree() async throws {
        for _ in 0..<Self.mostLooks {
            let checksums = try peers.map { try $0.sync.checksum(of: "SELECT * FROM trips") }
            if Set(checksums).count == 1 { return }
            try await Task.sleep(for: .milliseconds(5))
        }
        throw ToolError.failed("the three peers did not agree within ten seconds")
    }
}
