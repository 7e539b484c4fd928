import Sheaf
import SheafBytes
import SheafDocument
import SheafStorage
import SheafSync
import SheafTestSupport

/// A peer that may read red cars, may write red and green ones, and tries to obtain hidden data in many ways.
///
/// Each frame goes to two servers that differ only in hidden data; their answers must be the same. Each server
/// is connected to another store, whose site the attacker sometimes names in its hello.
package final class HiddenDataAttack {
    private let servers: [TwinWorld]
    private var random: SeededRandom
    private var subscriptions: RandomSubscription
    private var connectionCount: UInt64 = 0
    private let file: [UInt8]
    /// Number of frames with which both servers have answered.
    package private(set) var frameCount = 0
    private let rights = PeerRights(
        read: ["cars": "color = 'red'"], write: ["cars": "color IN ('red', 'green')"])

    package init(seed: UInt64) throws {
        random = SeededRandom(seed: seed, "attack")
        subscriptions = RandomSubscription(random: SeededRandom(seed: seed, "queries"))
        servers = try (0..<2).map { _ in try TwinWorld(2, watching: TwinWorld.outside) }
        connectionCount = 1
        for server in servers {
            try server.nodes[0].host.subscribe(
                server.nodes[0].subscriptions(["SELECT * FROM cars"]))
            try server.connect(connectionCount, 0, 1, rightsOfRight: nil)
            try server.nodes[0].commit(
                (0..<8).map { number in
                    TwoWorlds.insert(
                        "v\(number)",
                        ["color": "red", "n": .integer(Int64(12 * number)), "word": "open"])
                })
        }
        // The number, the word, the ids and their count are in the second one only, and so is the file.
        let node = servers[1].nodes[0]
        let id = try node.attachments.add(random.bytes(3_000))
        file = id.bytes
        let token = try AttachmentToken(
            ["id": .string(id.description), "len": .integer(3_000)])
        var hidden = (0..<5).map { number in
            TwoWorlds.insert(
                "h\(number)",
                [
                    "color": "blue", "pin": 4_711, "word": "secret",
                    "n": .integer(Int64(number)), "photo": token.value,
                ])
        }
        hidden += (0..<4).map { TwoWorlds.insert("k\($0)", ["color": "blue", "pin": 4_711]) }
        hidden += (0..<2).map { TwoWorlds.insert("g\($0)", ["color": "green", "n": 1]) }
        try node.commit(hidden)
        try node.commit([DocumentChange("cars", .string("h0"), .delete)])
        // Another store has written and deleted some of it.
        for server in servers { try server.run() }
        let names = ["w0", "w1"]
        for changes in [
            names.map { TwoWorlds.insert($0, ["color": "blue", "n": 1]) },
            names.map { DocumentChange("cars", .string($0), .delete) },
        ] {
            try servers[1].nodes[1].commit(changes)
            try servers[1].perform(1)
            try servers[1].run()
        }
    }

    /// Asks a question for each of `count` subscriptions; returns the first difference, or nil.
    package func run(subscriptions count: Int) throws -> String? {
        for number in 0..<count {
            if let difference = try ask() { return "question \(number): \(difference)" }
        }
        return nil
    }

    // MARK: Questions

    private func ask() throws -> String? {
        for server in servers { try server.advance(milliseconds: 700) }
        // Something is written that only the second one has.
        if random.chance(1, in: 3) {
            let writer = random.below(2)
            try servers[1].nodes[writer].commit([
                TwoWorlds.insert("w\(2 + random.below(2))", ["color": "blue", "n": 2])
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
        let plan = Attacker.Plan(
            texts: texts, ids: try guessedIDs(), file: file, seed: random.next(),
            hasCursor: random.chance(1, in: 5), writes: random.chance(1, in: 4),
            borrowsSite: random.chance(1, in: 3), commit: UInt64(random.below(60)),
            writer: random.below(2))
        connectionCount += 1
        let answers = try servers.map { server in
            var attacker = try Attacker(
                plan, server, wire: connectionCount, rights: rights)
            return try attacker.run()
        }
        frameCount += answers[0].count
        guard let index = TwoWorlds.difference(answers[0], answers[1]) else { return nil }
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

/// One connection of an attacker: a session that sends the messages of its plan.
private struct Attacker {
    struct Plan {
        let texts: [String]
        let ids: [DocumentAddress]
        let file: [UInt8]
        let seed: UInt64
        let hasCursor: Bool
        let writes: Bool
        /// Whether the hello of the attacker names the site of the other store.
        let borrowsSite: Bool
        /// The commit that the attacker names as its newest.
        let commit: UInt64
        /// The store that writes a readable document while the attacker is connected.
        let writer: Int

        /// The sites of the server and of the other store.
        func authors(of server: TwinWorld) -> [Site] {
            server.nodes.map(\.queries.documents.site)
        }
    }

    private let plan: Plan
    private let server: TwinWorld
    private let wire: UInt64
    private var session: SyncSession
    private var random: SeededRandom
    private var received: [[UInt8]] = []
    private var hasWritten = false
    private static let site = Site(rawValue: 70)

    init(
        _ plan: Plan, _ server: TwinWorld, wire: UInt64, rights: PeerRights
    ) throws {
        (self.plan, self.server, self.wire) = (plan, server, wire)
        random = SeededRandom(seed: plan.seed, "attacker")
        // With another log identifier, the store would draw another site.
        let other = server.nodes[1]
        let (site, log) =
            plan.borrowsSite
            ? (other.queries.documents.site, other.host.log)
            : (Self.site, .init(low: 1, high: 1))
        session = SyncSession(
            Hello(
                database: MeshPeer.database, peerKey: Array(repeating: 7, count: 32),
                site: site, log: log, nonce: 1,
                wallMilliseconds: server.nodes[0].clock.clock.wallMilliseconds(),
                isServer: false, name: ""), at: server.now)
        try server.connectOutside(wire, rights: rights)
    }

    mutating func run() throws -> [[UInt8]] {
        try exchange()
        guard session.isOpen else { return received }
        for hops in [8, 0, 3] { session.seek(Seek(id: plan.file, hops: hops)) }
        session.fetch(AttachmentPart(id: plan.file, .hashes, 0))
        let queries = try plan.texts.map { text in
            SubscribedQuery(text: text, arguments: try Insertion.initial(Object(), NameTable()))
        }
        let cursor = plan.hasCursor ? Cursor(log: .init(low: 5, high: 5), commit: 3) : nil
        session.subscribe(
            Subscribe(
                generation: 1, queries, at: plan.commit, from: cursor,
                whole: plan.hasCursor ? plan.ids : []))
        try exchange()
        try server.advance(milliseconds: 1_500)
        try exchange()
        // Documents written meanwhile are sent as they come.
        try server.nodes[plan.writer].commit([
            TwoWorlds.insert(
                "v\(random.below(8))", ["color": "red", "n": .integer(Int64(random.below(100)))])
        ])
        try server.perform(plan.writer)
        try exchange()
        try server.disconnect(wire)
        return received
    }

    /// Runs until neither side has anything to send.
    private mutating func exchange() throws {
        for _ in 0..<500 {
            try server.run()
            let frames = server.takeReceived()
            received += frames
            for bytes in frames {
                bytes.withUnsafeBytes { session.receive($0, at: server.now) }
            }
            var isQuiet = frames.isEmpty
            while let effect = session.takeEffect() {
                isQuiet = false
                try take(effect)
            }
            if isQuiet { return }
        }
    }

    private mutating func take(_ effect: SyncSession.Effect) throws {
        switch effect {
        case .send(let bytes):
            try server.receive(bytes, on: wire)
        case .listOwn:
            // It claims to have the guessed documents, in some version.
            let list = plan.ids.map { DocumentVersion(id: $0.bytes, version: random.next()) }
                .sorted { $0.id.lexicographicallyPrecedes($1.id) }
            session.compare(with: VersionList(sorted: list))
        case .apply(let step):
            session.acknowledge(commit: step.commit, of: step.generation)
            session.grant(step.length)
        case .listMatches: try session.tell(VersionList(sorted: []))
        case .wanted: try write()
        default: break
        }
    }

    /// Sends documents under guessed ids: permitted and forbidden states, deltas of documents that it never received,
    /// and deletions.
    ///
    /// It sends no permitted state under the id of a deleted document, which would reveal the versions of all its
    /// writers, or of a document that it may write and not read, which it could read then.
    private mutating func write() throws {
        guard plan.writes, !hasWritten else { return }
        hasWritten = true
        let now = HybridTime(milliseconds: server.nodes[0].clock.clock.wallMilliseconds())
        let stamp = Stamp(now, Self.site)
        // Other stores may have drawn stamps at that time before.
        let older = Stamp(HybridTime(milliseconds: 1), plan.authors(of: server)[random.below(2)])
        let unread = try ["h0", "w0", "w1", "g0", "g1"].map { try DocumentID.key(of: .string($0)) }
        session.beginCommit(1, stamp: nil)
        for address in plan.ids {
            var form = ShippedDocument.Form.state
            let bytes: [UInt8]?
            switch random.below(unread.contains(address.id) ? 3 : 5) {
            case 0:
                bytes = try Insertion.document(
                    ["color": "none", "n": 3], at: stamp, NameTable())
            case 1:
                form = .delta
                bytes = try Self.document(at: older).withUnsafeBytes { base in
                    try DocumentEditor.delta(
                        of: [.set(path: ["n"], to: 4)], in: EncodedDocument(base), at: stamp,
                        NameTable())?.bytes
                }
            case 2:
                bytes = try Self.document(at: stamp).withUnsafeBytes { document in
                    try Insertion.deletion(of: EncodedDocument(document), at: stamp)
                }
            default: bytes = try Self.document(at: stamp)
            }
            address.id.withUnsafeBytes { id in
                bytes?.withUnsafeBytes { session.add("cars", id: id, form, $0) }
            }
        }
        session.endCommit()
        session.sendSegment()
    }

    private static func document(at stamp: Stamp) throws -> [UInt8] {
        try Insertion.document(["color": "red", "n": 3], at: stamp, NameTable())
    }
}
