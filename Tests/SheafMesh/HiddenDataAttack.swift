import SheafAttachments
import SheafBytes
import SheafDocument
import SheafEngine
import SheafReplication
import SheafStorage
import SheafSync
import SheafTestSupport
import SheafTransport

/// A peer that may read red cars, may write red and green ones, and tries to obtain hidden data.
///
/// Each frame goes to two servers that differ only in hidden data; their responses must be equal.
/// Each server is connected to another store, whose site the attacker sometimes names in its hello.
package final class HiddenDataAttack {
    private let servers: [PairedSimulation]
    private var random: SeededRandom
    private var subscriptions: RandomSubscription
    private var connectionCount: UInt64 = 0
    private let token: AttachmentToken
    private let file: [UInt8]
    /// Number of frames that each server has sent in response.
    package private(set) var frameCount = 0
    /// Number of attacks whose subscriptions the servers accepted.
    package private(set) var acceptedCount = 0
    /// Number of requests to prove the possession of a file.
    package private(set) var proofCount = 0
    private let rights = PeerRights(
        read: ["cars": "color = 'red'"], write: ["cars": "color IN ('red', 'green')"])

    package init(seed: UInt64) throws {
        random = SeededRandom(seed: seed, "attack")
        subscriptions = RandomSubscription(random: SeededRandom(seed: seed, "queries"))
        subscriptions.hasArguments = true
        servers = try (0..<2).map { _ in
            try PairedSimulation(2, observing: PairedSimulation.outside)
        }
        connectionCount = 1
        for server in servers {
            try server.nodes[0].replicator.subscribe(
                server.nodes[0].subscriptions(["SELECT * FROM cars"]))
            try server.connect(connectionCount, 0, 1, rightsOfRight: nil)
            try server.nodes[0].commit(
                (0..<8).map { number in
                    PairedSimulations.insert(
                        "v\(number)",
                        ["color": "red", "n": .integer(Int64(12 * number)), "word": "open"])
                })
        }
        // Only the second server has the hidden documents and the file.
        let node = servers[1].nodes[0]
        let id = try node.attachments.add(random.bytes(3_000))
        file = id.bytes
        token = try AttachmentToken(
            ["id": .string(id.description), "len": .integer(3_000)])
        var hidden = (0..<5).map { number in
            PairedSimulations.insert(
                "h\(number)",
                [
                    "color": "blue", "pin": 4_711, "word": "secret",
                    "n": .integer(Int64(number)), "photo": token.value,
                ])
        }
        hidden += (0..<4).map {
            PairedSimulations.insert("k\($0)", ["color": "blue", "pin": 4_711])
        }
        hidden += (0..<2).map { PairedSimulations.insert("g\($0)", ["color": "green", "n": 1]) }
        hidden += (0..<2).map {
            PairedSimulations.insert("b\($0)", ["pin": 4_711, "photo": token.value], in: "boats")
        }
        try node.commit(hidden)
        try node.commit([DocumentChange("cars", .string("h0"), .delete)])
        // The other store has written and deleted some hidden documents.
        for server in servers { try server.run() }
        let names = ["w0", "w1"]
        for changes in [
            names.map { PairedSimulations.insert($0, ["color": "blue", "n": 1]) },
            names.map { DocumentChange("cars", .string($0), .delete) },
        ] {
            try servers[1].nodes[1].commit(changes)
            try servers[1].perform(1)
            try servers[1].run()
        }
    }

    /// Runs `count` attacks; returns the first difference, or nil.
    package func run(subscriptions count: Int) throws -> String? {
        for number in 0..<count {
            if let difference = try ask() { return "attack \(number): \(difference)" }
        }
        return nil
    }

    private func ask() throws -> String? {
        for server in servers { try server.advance(milliseconds: 700) }
        // Hidden writes are on the second server only.
        if random.chance(1, in: 3) {
            let writer = random.below(2)
            try servers[1].nodes[writer].commit([
                PairedSimulations.insert("w\(2 + random.below(2))", ["color": "blue", "n": 2])
            ])
            try servers[1].perform(writer)
            try servers[1].run()
            try servers[1].nodes[0].commit([
                DocumentChange(
                    "cars", .string("h\(1 + random.below(4))"),
                    .edit([.set(path: ["pin"], to: .integer(Int64(4_700 + random.below(20))))]))
            ])
        }
        var texts = (0...random.below(2)).map { _ in subscriptions.text() }
        if random.chance(1, in: 4) { texts.append("SELECT * FROM cars") }
        if random.chance(1, in: 6) { texts.append("*") }
        let plan = HiddenDataAttacker.Plan(
            texts: texts, ids: try guessedIDs(), token: token, file: file, seed: random.next(),
            hasCursor: random.chance(1, in: 5), writes: random.chance(1, in: 4),
            borrowsSite: random.chance(1, in: 3), lies: random.chance(1, in: 3),
            commit: UInt64(random.below(60)),
            writer: random.below(2))
        connectionCount += 1
        let answers = try servers.map { server in
            var attacker = try HiddenDataAttacker(
                plan, server, wire: connectionCount, rights: rights)
            let answers = try attacker.run()
            if server === servers[0] {
                if attacker.isAnswered { acceptedCount += 1 }
                proofCount += attacker.proofCount
            }
            return answers
        }
        frameCount += answers[0].count
        guard let index = PairedSimulations.difference(answers[0], answers[1]) else { return nil }
        let described = answers.map { answer in
            var describer = FrameDescriber()
            return answer.flatMap { describer.describe($0) }
        }
        return
            "frame \(index) differs for \(texts): \(described[0]), with hidden documents \(described[1])"
    }

    private func guessedIDs() throws -> [DocumentAddress] {
        var ids: [DocumentAddress] = []
        for name in ["h0", "h1", "h2", "k0", "k3", "v1", "w0", "w1", "g0", "g1", "z"]
        where random.chance(1, in: 2) {
            ids.append(
                DocumentAddress(
                    collection: "cars", id: try DocumentID.key(of: .string(name))))
        }
        return ids
    }
}
