import Sheaf
import SheafBytes
import SheafDocument
import SheafReplication
import SheafStatements
import SheafStorage
import SheafSync
import SheafTestSupport
import Testing

/// Received batches, including those of `format-spec/vectors/sync.txt`, and requests.
struct BatchVectorTests {
    /// A peer that subscribes to all cars, and receives the frames that a test passes.
    private final class Listener {
        let store: SceneStore
        let replicator: Replicator
        private var frames = FrameWriter()
        private(set) var closeMessage: CloseMessage?

        init(rights: PeerRights? = nil) throws {
            var options = LogStoreOptions()
            options.clock = FakeClock().clock
            store = try SceneStore(SimulatedVolume(seed: 1), options)
            let source = SeededSource(seed: 1)
            let database = Hello.DatabaseID(low: 1, high: 2)
            replicator = Replicator(
                store.queries,
                Replicator.Identity(database: database, peerKey: Array(repeating: 1, count: 32)),
                random: { source.next() })
            try replicator.subscribe(store.subscriptions(["SELECT * FROM cars"]))
            replicator.connect(1, rights: rights, at: 1)
            let hello = Hello(
                database: database, peerKey: Array(repeating: 2, count: 32),
                site: Site(rawValue: 2), log: database, nonce: 1, wallMilliseconds: 1,
                isServer: false, name: "")
            try receive(Frame(.hello, hello.bytes))
        }

        /// Creates a peer that has received one segment.
        convenience init(hearing segment: [UInt8], rights: PeerRights? = nil) throws {
            try self.init(rights: rights)
            var segments = ShippedSegmentWriter()
            // The frame has the first generation and a complete segment.
            try receive(Frame(.segment, [1, 0] + segments.bytes(of: segment)))
        }

        func receive(_ frame: Frame) throws {
            frames.bytes(of: frame).withUnsafeBytes { replicator.receive($0, on: 1, at: 1) }
            var effects = replicator.drainEffects()
            while !effects.isEmpty {
                for effect in effects {
                    switch effect {
                    case .close(_, let closeMessage): self.closeMessage = closeMessage
                    case .write(let job):
                        let outcome = store.write(job)
                        try store.flush()
                        replicator.handleOutcome(outcome)
                        replicator.processPublished()
                    default: break
                    }
                }
                effects = replicator.drainEffects()
            }
        }

        var rows: [String] {
            get throws { try store.rows("SELECT * FROM cars ORDER BY _id") }
        }
    }

    private let vectors: FormatVectors

    init() throws {
        vectors = try FormatVectors("sync.txt")
    }

    @Test func `a document may occur in each of two batches`() throws {
        let listener = try Listener(hearing: vectors.bytes("steps.steps"))
        #expect(listener.closeMessage == nil)
        let rows = try listener.rows
        #expect(rows == [#"{"_id":"a","color":"blue"}"#, #"{"_id":"b","color":"red"}"#])
    }

    @Test func `a peer that sends a document twice in a batch is disconnected`() throws {
        try vectors.forEach("refusedSteps") { name, bytes in
            let listener = try Listener(hearing: bytes)
            #expect(listener.closeMessage?.code == .protocolBroken, "\(name)")
            let text = listener.closeMessage?.text ?? ""
            #expect(text.contains("a document that occurs twice in a batch"), "\(name): \(text)")
            let rows = try listener.rows
            #expect(rows.isEmpty, "\(name)")
        }
    }

    /// A property for which a document is invalid.
    enum Fault: String, CaseIterable {
        case id = "a document id that is not canonically encoded"
        case form = "a document whose form differs from the declared form"
        case remnant = "a remnant of an evicted document"
    }

    @Test(arguments: Fault.allCases)
    func `a peer that sends an invalid document is disconnected, with the reason`(
        _ fault: Fault
    ) throws {
        var id = try DocumentID.key(of: .string("a"))
        var bytes = try Insertion.initial(["n": 1], NameTable())
        switch fault {
        // The encoded null, which is no id.
        case .id: id = [0x70]
        case .form: break
        case .remnant:
            bytes = try Insertion.remnant(
                of: Site(rawValue: 2), writtenUntil: HybridTime(rawValue: 5),
                evictedAt: HybridTime(rawValue: 6))
        }
        var commits = CommitWriter()
        commits.begin(1, stamp: nil)
        let form: ShippedDocument.Form = fault == .form ? .delta : .state
        id.withUnsafeBytes { id in
            bytes.withUnsafeBytes { commits.add("cars", id: id, form, $0) }
        }
        commits.end(isContinued: false)
        let listener = try Listener(hearing: [0] + commits.bytes)
        #expect(listener.closeMessage?.code == .protocolBroken)
        let text = listener.closeMessage?.text ?? ""
        #expect(text.contains(fault.rawValue), "\(text)")
        #expect(try listener.rows.isEmpty)
        let prefix = "cannot write a batch of a peer with limited rights: "
        #expect(!listener.store.messages(.warning).contains { $0.hasPrefix(prefix) })
        // A peer with limited rights does not learn the reason, which the log has.
        let limited = try Listener(hearing: [0] + commits.bytes, rights: Self.rights)
        let short = CloseMessage(.protocolBroken, "a batch contains an invalid document")
        #expect(limited.closeMessage == short)
        #expect(limited.store.messages(.warning).contains(prefix + text))
        #expect(try limited.rows.isEmpty)
    }

    private static let rights = PeerRights(
        read: ["cars": "owner = 'ann'"], write: ["cars": "true"])

    @Test func `a peer with limited rights must not announce documents`() throws {
        for rights in [nil, Self.rights] {
            let listener = try Listener(rights: rights)
            let message = Announce(generation: 1, commit: 1, [])
            try listener.receive(Frame(.announce, message.bytes))
            let refusal = CloseMessage(.protocolBroken, "unrequested announcement")
            #expect(listener.closeMessage == (rights == nil ? nil : refusal))
        }
    }

    /// A part of a batch, and the progress after it.
    private struct Part {
        var commit: UInt64 = 5
        let remaining: UInt64?
        let count: Int
        var isContinued = true
        var isCut = false
        let documents: Int?
        let expected: Int?
    }

    @Test func `the parts of a long batch show how many documents remain`() throws {
        let listener = try Listener()
        var segments = ShippedSegmentWriter()
        var id: Int64 = 0
        for (number, part) in [
            Part(remaining: nil, count: 1, documents: nil, expected: nil),
            Part(remaining: 10, count: 2, documents: 2, expected: 8),
            Part(remaining: nil, count: 1, documents: 2, expected: 8),
            Part(remaining: 0, count: 1, documents: 3, expected: nil),
            Part(remaining: 1 << 60, count: 1, documents: 4, expected: 1 << 48 - 1),
            Part(remaining: 1, count: 2, documents: 6, expected: 0),
            Part(remaining: nil, count: 1, isContinued: false, documents: nil, expected: nil),
            Part(
                commit: 6, remaining: 4, count: 1, isContinued: false, isCut: true, documents: 1,
                expected: 3),
            Part(
                commit: 6, remaining: 3, count: 1, isContinued: false, documents: nil,
                expected: nil),
        ].enumerated() {
            var commits = CommitWriter()
            commits.begin(part.commit, stamp: nil, isCut: part.isCut, remaining: part.remaining)
            for _ in 0..<part.count {
                id += 1
                let key = try DocumentID.key(of: .integer(id))
                let bytes = try Insertion.initial(["n": 1], NameTable())
                key.withUnsafeBytes { key in
                    bytes.withUnsafeBytes { commits.add("cars", id: key, .state, $0) }
                }
            }
            commits.end(isContinued: part.isContinued)
            try listener.receive(
                Frame(.segment, [1, 0] + segments.bytes(of: [0] + commits.bytes)))
            let progress = listener.replicator.allStatuses.values.first?.receiving
            #expect(progress?.documents == part.documents, "part \(number)")
            #expect(progress?.remaining == part.expected, "part \(number)")
        }
        #expect(listener.closeMessage == nil)
        #expect(try listener.rows.count == 11)
    }

    /// Each batch before the invalid one is an event of a session that has ended.
    @Test func `an invalid batch after 60,000 others ends only the connection`() throws {
        var commits = CommitWriter()
        for number in 2...UInt64(60_000) {
            commits.begin(number, stamp: nil)
            commits.end(isContinued: false)
        }
        commits.begin(1, stamp: nil)
        commits.end(isContinued: false)
        let listener = try Listener(hearing: [0] + commits.bytes)
        #expect(listener.closeMessage?.code == .protocolBroken)
    }

    @Test func `a document requested twice is sent once`() throws {
        let listener = try Listener()
        try listener.store.execute("INSERT INTO cars DOCUMENTS ({'_id': 'a'}), ({'_id': 'b'})")
        listener.replicator.processPublished()
        let arguments = try Insertion.initial(Object(), NameTable())
        let query = SubscribedQuery(text: "SELECT * FROM cars", arguments: arguments)
        try listener.receive(
            Frame(.subscribe, Subscribe(generation: 1, [query], at: 0).parts[0].bytes))
        let addresses = try ["a", "b", "a", "a"].map { id in
            DocumentAddress(collection: "cars", id: try DocumentID.key(of: .string(id)))
        }
        let want = Want(generation: 1, .some(addresses, isContinued: false))
        try listener.receive(Frame(.want, want.bytes))
        #expect(listener.closeMessage == nil)
        #expect(listener.replicator.statistics.documentsSent == 2)
    }
}
