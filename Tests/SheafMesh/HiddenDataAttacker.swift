import SheafBytes
import SheafDocument
import SheafEngine
import SheafReplication
import SheafStatements
import SheafStorage
import SheafSync
import SheafSystem
import SheafTestSupport
import SheafTransport

/// One connection of an attacker: a session that sends the messages of a plan.
struct HiddenDataAttacker {
    struct Plan {
        let texts: [String]
        let ids: [DocumentAddress]
        /// The token and the id of a hidden attachment.
        let token: AttachmentToken
        let file: [UInt8]
        let seed: UInt64
        let hasCursor: Bool
        let writes: Bool
        /// Whether the hello of the attacker names the site of the other store.
        let borrowsSite: Bool
        /// Whether the attacker sends false frames, and frames out of order.
        let lies: Bool
        /// The commit that the attacker claims to be its newest.
        let commit: UInt64
        /// The number of the store that writes a readable document during the connection.
        let writer: Int

        /// Returns the sites of the server and of the other store.
        func authors(of server: PairedSimulation) -> [Site] {
            server.nodes.map(\.queries.documents.site)
        }
    }

    private let plan: Plan
    private let server: PairedSimulation
    private let wire: UInt64
    private var session: SyncSession
    private var random: SeededRandom
    private var received: [[UInt8]] = []
    private var hasWritten = false
    /// Whether the session has received a batch.
    private(set) var isAnswered = false
    /// Number of requests to prove the possession of a file.
    private(set) var proofCount = 0
    private var frames = FrameReader(limit: SyncLimits.frameLength)
    private var writer = FrameWriter()
    private var recorded = RecordedFrames()
    private static let site = Site(rawValue: 70)

    init(
        _ plan: Plan, _ server: PairedSimulation, wire: UInt64, rights: PeerRights
    ) throws {
        (self.plan, self.server, self.wire) = (plan, server, wire)
        random = SeededRandom(seed: plan.seed, "attacker")
        // With another log identifier, the store would draw another site.
        let other = server.nodes[1]
        let (site, log) =
            plan.borrowsSite
            ? (other.queries.documents.site, other.replicator.log)
            : (Self.site, .init(low: 1, high: 1))
        session = SyncSession(
            Hello(
                database: MeshPeer.database, peerKey: Array(repeating: 7, count: 32),
                site: site, log: log, nonce: 1,
                wallMilliseconds: server.nodes[0].clock.clock.wallMilliseconds(),
                isServer: false, name: ""), at: server.now)
        var seeks = FrameWriter()
        recorded.record(seeks.bytes(of: Frame(.seek, Seek(id: plan.file, hops: 8).bytes)))
        try server.connectOutside(wire, rights: rights)
    }

    mutating func run() throws -> [[UInt8]] {
        try exchange()
        guard session.isOpen else { return received }
        for hops in [8, 0, 3] { session.seek(Seek(id: plan.file, hops: hops)) }
        session.fetch(AttachmentPart(id: plan.file, .hashes, 0))
        if plan.lies { session.requestProof(of: try tokenOfHiddenDocument()) }
        let arguments = try Insertion.initial(RandomSubscription.arguments, NameTable())
        let queries = plan.texts.map {
            SubscribedQuery(text: $0, arguments: $0 == "*" ? [] : arguments)
        }
        let cursor = plan.hasCursor ? Cursor(log: .init(low: 5, high: 5), commit: 3) : nil
        session.subscribe(
            Subscribe(
                generation: 1, queries, at: plan.commit, from: cursor,
                complete: plan.hasCursor ? plan.ids : []))
        try exchange()
        try sendFalseFrame()
        try server.advance(milliseconds: 1_500)
        try exchange()
        try sendFalseFrame()
        // Documents written during the connection are sent immediately.
        try server.nodes[plan.writer].commit([
            PairedSimulations.insert(
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
            while session.nextServed != nil {
                proofCount += 1
                session.serve(random.chance(1, in: 4) ? nil : random.bytes(32))
            }
            while let effect = session.nextEffect() {
                isQuiet = false
                try take(effect)
            }
            if isQuiet { return }
        }
    }

    /// Sends frames of the session, renumbered because false frames are sent in between.
    private mutating func send(_ bytes: [UInt8]) throws {
        bytes.withUnsafeBytes { frames.append($0) }
        while let frame = try frames.next() {
            try server.receive(writer.bytes(of: frame), on: wire)
        }
    }

    /// Sends a few frames that are false or out of order.
    private mutating func sendFalseFrame() throws {
        guard plan.lies, session.isOpen else { return }
        for _ in 0...random.below(3) {
            try server.receive(writer.bytes(of: falseFrame()), on: wire)
        }
        try exchange()
    }

    private mutating func falseFrame() throws -> Frame {
        let sites = plan.authors(of: server)
        switch random.below(9) {
        case 0: return Frame(.askProof, try tokenOfHiddenDocument().bytes)
        case 1: return Frame(.proven, try tokenOfHiddenDocument().bytes)
        case 2: return Frame(.want, Want(generation: 1, .some(plan.ids, isContinued: false)).bytes)
        case 3:
            let notice = RefusedNotice(generation: 1, commit: 1, .original, omitted: 0, plan.ids)
            return Frame(.refused, notice.bytes)
        case 4:
            return Frame(
                .announce,
                Announce(
                    generation: 1, commit: 1,
                    plan.ids.map {
                        Announce.Entry(address: $0, vector: FalseFrames.vector(&random))
                    }
                ).bytes)
        case 5: return Frame(.offer, Offer(id: plan.file, length: 3_000).bytes)
        case 6:
            var writer = ByteWriter()
            writer.write(sites[random.below(2)].rawValue)
            return Frame(.site, writer.bytes)
        case 7: return FalseFrames.harmless(&random)
        default: return FalseFrames.any(&random, recorded)
        }
    }

    private mutating func tokenOfHiddenDocument() throws -> TokenAddress {
        let name = ["h1", "h2", "b0", "v1"][random.below(4)]
        return TokenAddress(
            attachment: plan.file,
            document: DocumentAddress(
                collection: name == "b0" ? "boats" : "cars",
                id: try DocumentID.key(of: .string(name))))
    }

    private mutating func take(_ effect: SyncSession.Effect) throws {
        switch effect {
        case .send(let bytes): try send(bytes)
        case .listOwn:
            // The attacker claims to have random versions of the guessed documents.
            let list = plan.ids.map { DocumentVersion(id: $0.bytes, version: random.next()) }
                .sorted { $0.id.lexicographicallyPrecedes($1.id) }
            session.compare(with: VersionList(sorted: list))
        case .apply(let step):
            isAnswered = true
            session.acknowledge(commit: step.commit, of: step.generation)
            session.grant(step.length)
        case .listMatches: try session.sendAnswer(VersionList(sorted: []))
        case .wanted: try write()
        case .sought(let message) where message.hops > 0:
            session.offer(Offer(id: message.id, length: 3_000))
        case .offered(let message) where session.fetchRoom > 0:
            session.fetch(AttachmentPart(id: message.id, .chunk, 0))
        case .proofAsked(let token): session.confirm(token)
        default: break
        }
    }

    /// Sends documents under guessed ids.
    ///
    /// The documents are permitted and forbidden states, deltas of documents that the attacker
    /// never received, and deletions.
    ///
    /// No permitted state has the id of a deleted document, whose merge would reveal the versions
    /// of all its writers, or of a document that is writable and unreadable, which a permitted
    /// state would make readable.
    private mutating func write() throws {
        guard plan.writes, !hasWritten else { return }
        hasWritten = true
        let now = HybridTime(milliseconds: server.nodes[0].clock.clock.wallMilliseconds())
        let stamp = Stamp(now, Self.site)
        // Other stores may have drawn stamps at that time already.
        let older = Stamp(HybridTime(milliseconds: 1), plan.authors(of: server)[random.below(2)])
        let unread = try ["h0", "w0", "w1", "g0", "g1"].map { try DocumentID.key(of: .string($0)) }
        session.beginCommit(1, stamp: nil)
        // The attacker's own documents reference the hidden attachment.
        for number in 0..<random.below(3) {
            let document = try Insertion.document(
                ["color": "red", "photo": plan.token.value], at: stamp, NameTable())
            try DocumentID.key(of: .string("a\(number)")).withUnsafeBytes { id in
                document.withUnsafeBytes { session.add("cars", id: id, .state, $0) }
            }
        }
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
                    try Insertion.deletion(of: document, at: stamp)
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
