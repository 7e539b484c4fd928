import Sheaf
import SheafBytes
import SheafDocument
import SheafEngine
import SheafReplication
import SheafStatements
import SheafStorage
import SheafSync
import SheafTestSupport

/// A replicator that subscribes, and a session that a test controls in place of its peer.
///
/// The session has no documents to compare, so a reconciliation requests all documents that the
/// replicator compared. A test decides when a batch is written and becomes durable.
final class SubscriberScene {
    let store: SceneStore
    let replicator: Replicator
    private let clock = FakeClock()
    private var session = SyncSession.unknownPeer(2, at: 1_000_000_000)
    private var wire: UInt64 = 0
    private var now: UInt64 = 1_000_000_000
    private var jobs: [WriteJob] = []
    /// Whether received batches wait for `write()`.
    var isBusy = false
    /// Whether written batches wait for `flush()`.
    var flushesLate = false
    /// The subscriptions of the replicator, in order.
    private(set) var subscriptions: [Subscribe] = []
    /// The commits that the replicator has acknowledged, in order.
    private(set) var acknowledged: [UInt64] = []
    /// The ids of the documents that each reconciliation requested.
    private(set) var wanted: [[String]] = []
    /// Number of messages in which the replicator returned credit.
    private(set) var creditCount = 0
    /// The ids of the documents that the replicator has sent.
    private(set) var received: Set<String> = []
    /// The announcements that the replicator has sent, in order.
    private(set) var announced: [Announce] = []
    /// The notices of the replicator about refused documents, in order.
    private(set) var notices: [RefusedNotice] = []
    /// The reason for which the replicator closed the last connection.
    private(set) var closeMessage: CloseMessage?

    /// Creates a replicator without a connection; `setup` runs in its store before.
    init(
        _ queries: [String], _ limits: ReplicatorLimits = ReplicatorLimits(), setup: DQL? = nil,
        transactionLength: Int = 1 << 30
    ) throws {
        var options = LogStoreOptions()
        options.clock = clock.clock
        options.transactionLength = transactionLength
        store = try SceneStore(SimulatedVolume(seed: 1), options)
        if let setup { try store.execute(setup) }
        let source = SeededSource(seed: 1)
        replicator = Replicator(
            store.queries,
            Replicator.Identity(
                database: Hello.DatabaseID(low: 1, high: 2),
                peerKey: [UInt8](repeating: 1, count: 32)),
            limits: limits, random: { source.next() })
        try subscribe(queries)
    }

    // MARK: The replicator

    /// Connects the replicator; both sides may have limited rights at the other one.
    func connect(rightsOfPeer: PeerRights? = nil, own ownRights: PeerRights? = nil) throws {
        wire += 1
        session = .unknownPeer(2, at: now)
        replicator.connect(wire, rights: rightsOfPeer, own: ownRights, at: now)
        try deliver()
    }

    func disconnect() throws {
        replicator.disconnect(wire)
        try deliver()
    }

    func subscribe(_ queries: [String]) throws {
        try replicator.subscribe(store.subscriptions(queries))
        try deliver()
    }

    /// Runs a statement, and notifies the replicator.
    func execute(_ query: DQL) throws {
        try store.execute(query)
        replicator.processPublished()
        try deliver()
    }

    /// Writes a car of another site, as if another peer had sent it.
    func join(_ id: String, _ fields: Object, at time: UInt64) throws {
        let bytes = try Insertion.document(fields, at: Self.stamp(time), NameTable())
        try store.change(DocumentChange("cars", .string(id), .join(bytes)))
        replicator.processPublished()
        try deliver()
    }

    /// Runs the next write job.
    func write() throws {
        let outcome = store.write(jobs.removeFirst())
        if !flushesLate { try store.flush() }
        replicator.handleOutcome(outcome)
        replicator.processPublished()
        try deliver()
    }

    /// Makes all written batches durable, also later ones.
    func flush() throws {
        flushesLate = false
        try store.flush()
        replicator.processPublished()
        try deliver()
    }

    func advance(milliseconds: UInt64) throws {
        now += milliseconds * 1_000_000
        clock.advance(milliseconds: milliseconds)
        replicator.tick(at: now)
        try deliver()
    }

    /// Returns the version vector of a stored car.
    func vector(of id: String) throws -> VersionVector? {
        let snapshot = store.queries.documents.snapshot()
        let address = try Self.address(id)
        guard let key = snapshot.key(of: address), let document = try snapshot.document(key)
        else { return nil }
        return try document.read { (bytes) throws(Malformed) in
            try EncodedDocument(bytes).vector()
        }
    }

    // MARK: The peer

    /// Returns the stamp of a write of another site.
    static func stamp(_ time: UInt64) -> Stamp {
        Stamp(HybridTime(rawValue: time), Site(rawValue: 7))
    }

    static func address(_ id: String, in collection: String = "cars") throws -> DocumentAddress {
        DocumentAddress(collection: collection, id: try DocumentID.key(of: .string(id)))
    }

    /// Returns the entry of an announcement for a document with one write.
    static func entry(
        _ id: String, at time: UInt64, in collection: String = "cars"
    ) throws -> Announce.Entry {
        Announce.Entry(
            address: try address(id, in: collection), vector: VersionVector(stamp(time)))
    }

    /// Makes the peer announce a commit.
    func announce(_ commit: UInt64, _ entries: [Announce.Entry] = []) throws {
        session.announce(entries, of: commit)
        try deliver()
    }

    /// Makes the peer send cars in a batch, or in a part of one.
    func send(
        _ commit: UInt64, _ cars: [(String, Object)] = [], at time: UInt64 = 20,
        isContinued: Bool = false
    ) throws {
        session.beginCommit(commit, stamp: nil)
        for (id, fields) in cars {
            try add(id, .state, Insertion.document(fields, at: Self.stamp(time), NameTable()))
        }
        session.endCommit(isContinued: isContinued)
        session.sendSegment()
        try deliver()
    }

    /// Makes the peer send a car as a delta of a state that the replicator does not have.
    func sendDelta(_ commit: UInt64, _ id: String) throws {
        let state = try Insertion.document(["n": 1], at: Self.stamp(10), NameTable())
        let delta = try state.withUnsafeBytes { bytes in
            let editor = try DocumentEditor(EncodedDocument(bytes), at: Self.stamp(20), NameTable())
            try editor.apply(.set(path: ["w"], to: 4))
            return try editor.finish()
        }
        session.beginCommit(commit, stamp: nil)
        try add(id, .delta, delta ?? [])
        session.endCommit()
        session.sendSegment()
        try deliver()
    }

    private func add(_ id: String, _ form: ShippedDocument.Form, _ bytes: [UInt8]) throws {
        let key = try DocumentID.key(of: .string(id))
        key.withUnsafeBytes { key in
            bytes.withUnsafeBytes { session.add("cars", id: key, form, $0) }
        }
    }

    /// Makes the peer request another reconciliation of the current subscription.
    func restart() throws {
        session.restart()
        try deliver()
    }

    /// Makes the peer subscribe, and request all matching documents.
    func subscribePeer(to query: String) throws {
        let arguments = try Insertion.initial(Object(), NameTable())
        session.subscribe(
            Subscribe(
                generation: session.requestedGeneration + 1,
                [SubscribedQuery(text: query, arguments: arguments)], at: 0))
        try deliver()
    }

    /// Makes the peer request announcements in place of documents.
    func announceOnly() throws {
        session.announceOnly()
        try deliver()
    }

    // MARK: Delivery

    /// Delivers messages, and runs turns and write jobs, until both sides are idle.
    private func deliver() throws {
        var goesOn = true
        while goesOn {
            goesOn = false
            while let effect = session.nextEffect() {
                goesOn = true
                try take(effect)
            }
            for effect in replicator.drainEffects() {
                goesOn = true
                switch effect {
                case .send(_, let bytes):
                    if bytes[8] == FrameType.credit.rawValue { creditCount += 1 }
                    bytes.withUnsafeBytes { session.receive($0, at: now) }
                case .write(let job): jobs.append(job)
                case .close(_, let closeMessage): self.closeMessage = closeMessage
                default: break
                }
            }
            if !isBusy, !jobs.isEmpty {
                goesOn = true
                try write()
            }
            if let deadline = replicator.deadline, deadline <= now {
                goesOn = true
                replicator.tick(at: now)
            }
        }
    }

    private func take(_ effect: SyncSession.Effect) throws {
        switch effect {
        case .send(let bytes):
            bytes.withUnsafeBytes { replicator.receive($0, on: wire, at: now) }
        case .listMatches: try session.sendAnswer(VersionList())
        case .listOwn: session.compare(with: VersionList())
        case .subscribed(let request): subscriptions.append(request)
        case .acknowledged(let commit): acknowledged.append(commit)
        case .announced(let message): announced.append(message)
        case .refused(let notice): notices.append(notice)
        case .wanted(.some(let addresses, isContinued: _)):
            wanted.append(try addresses.map { try Self.text(of: $0.id) })
        case .apply(let step):
            for document in step.commits.flatMap(\.documents) {
                received.insert(try Self.text(of: document.id))
            }
            session.grant(step.length)
        default: break
        }
    }

    /// Returns an id, without the quotes of a string.
    private static func text(of id: [UInt8]) throws -> String {
        try DocumentID.id(of: id).json.filter { $0 != "\"" }
    }
}
