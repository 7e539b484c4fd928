import Sheaf
import SheafBytes
import SheafDocument
import SheafEngine
import SheafReplication
import SheafStatements
import SheafStorage
import SheafSync
import Testing

/// The order and the numbers of messages between a replicator and a peer with limited rights.
struct LimitedBatchTests {
    /// A replicator with cars, and a limited peer that sends the frames that a test passes.
    private final class ScriptedPeer {
        let scene: FileScene
        private(set) var session = SyncSession.unknownPeer(1, at: 1)
        private var frames = FrameWriter()
        private var reader = FrameReader()
        /// The types of the frames that the replicator has sent.
        private(set) var received: [FrameType] = []
        /// The numbers of the received batches.
        private(set) var steps: [UInt64] = []
        /// The numbers in the subscriptions of the replicator.
        private(set) var subscriptions: [UInt64] = []
        /// The ids of the documents that the peer refuses.
        private(set) var refused: [String] = []
        private(set) var closeMessage: CloseMessage?
        /// The documents that the peer claims to have.
        private let list: VersionList
        /// Maximum number of documents in each part of a want message.
        var most = SyncLimits.wantedDocuments

        var replicator: Replicator { scene.nodes[0].replicator }
        var newestCommit: UInt64 {
            scene.nodes[0].store.queries.documents.snapshot().log.commit
        }
        /// The commit of the replicator up to which the peer has everything.
        var synced: UInt64 { replicator.allStatuses.values.first?.syncedUpTo ?? 0 }

        init(_ limits: ReplicatorLimits = ReplicatorLimits()) throws {
            scene = try FileScene(1, limits)
            let claimed = DocumentAddress(
                collection: "cars", id: try DocumentID.key(of: .string("claimed")))
            list = VersionList(sorted: [DocumentVersion(id: claimed.bytes, version: 1)])
        }

        func connect() {
            replicator.connect(
                1, rights: PeerRights(read: ["cars": "owner = 'ann'"], write: [:]), at: 1)
            run()
        }

        /// Subscribes with a session that requests the documents that differ from its list.
        func subscribe(_ generation: UInt64) throws {
            session.subscribe(try Self.request(generation))
            run()
        }

        /// Subscribes and sends the first range request, without delivering the responses.
        func beginComparing(_ generation: UInt64) throws {
            session.subscribe(try Self.request(generation))
            while let effect = session.nextEffect() {
                switch effect {
                case .send(let bytes):
                    bytes.withUnsafeBytes { replicator.receive($0, on: 1, at: 1) }
                case .listOwn: session.compare(with: list, most: most)
                default: break
                }
            }
            while let deadline = replicator.deadline, deadline <= 1 { replicator.tick(at: 1) }
        }

        /// Makes the replicator subscribe to collections.
        func subscribeReplicator(_ collections: String...) throws {
            let texts = collections.map { "SELECT * FROM \($0)" }
            try replicator.subscribe(scene.nodes[0].store.subscriptions(texts))
        }

        static func request(_ generation: UInt64) throws -> Subscribe {
            let arguments = try Insertion.initial(Object(), NameTable())
            return Subscribe(
                generation: generation,
                ["cars", "boats"].map {
                    SubscribedQuery(text: "SELECT * FROM \($0)", arguments: arguments)
                }, at: 0)
        }

        func acknowledge(_ number: UInt64) {
            session.acknowledge(commit: number, of: session.requestedGeneration)
            run()
        }

        /// Refuses a car of a batch.
        func refuse(_ id: String, of number: UInt64) throws {
            let address = DocumentAddress(
                collection: "cars", id: try DocumentID.key(of: .string(id)))
            session.report(
                RefusedNotice(
                    generation: session.requestedGeneration, commit: number, .result, [address]))
            run()
        }

        /// Runs a statement on the replicator's store.
        func execute(_ query: DQL) throws {
            try scene.nodes[0].execute(query)
            run()
        }

        /// Delivers messages and runs turns until there is nothing to do.
        func run() {
            replicator.exchange(
                with: &session, on: 1, at: 1, list: list, most: most,
                onStep: { steps.append($0.commit) },
                onSubscribe: { subscriptions.append($0.commit) },
                onRefusals: { refused = $0.writes.map(\.documentID.json) })
        }

        /// Sends a frame without running a turn.
        func send(_ type: FrameType, _ body: [UInt8]) throws {
            frames.bytes(of: Frame(type, body)).withUnsafeBytes {
                replicator.receive($0, on: 1, at: 1)
            }
            try receive()
        }

        func turn() throws {
            replicator.tick(at: 1)
            try receive()
        }

        private func receive() throws {
            for effect in replicator.drainEffects() {
                switch effect {
                case .send(_, let bytes):
                    bytes.withUnsafeBytes { reader.append($0) }
                    while let frame = try reader.next() {
                        reader.limit = SyncLimits.frameLength
                        received.append(frame.type)
                    }
                case .close(_, let reason): closeMessage = reason
                default: break
                }
            }
        }
    }

    /// Requests the documents before the list is complete, which takes more than one turn.
    @Test func `a want message cannot overtake the response to a range request`() throws {
        var limits = ReplicatorLimits()
        limits.evaluated = 1_000
        let caller = try ScriptedPeer(limits)
        let cars = (0..<100).map { "({'_id': '\($0)', 'owner': 'bob'})" }
        try caller.scene.nodes[0].execute(
            DQL(verbatim: "INSERT INTO cars DOCUMENTS " + cars.joined(separator: ", ")))
        caller.replicator.connect(
            1, rights: PeerRights(read: ["cars": "owner = 'ann'"], write: [:]), at: 1)
        let database = Hello.DatabaseID(low: 1, high: 2)
        let hello = Hello(
            database: database, peerKey: Array(repeating: 9, count: 32), site: Site(rawValue: 9),
            log: database, nonce: 1, wallMilliseconds: 1, isServer: false, name: "")
        try caller.send(.hello, hello.bytes)
        try caller.send(.subscribe, ScriptedPeer.request(1).parts[0].bytes)
        for _ in 0..<3 { try caller.turn() }
        try caller.send(.ask, [1] + RangeQuestion([]).bytes)
        try #require(!caller.received.contains(.answer), "The list takes several turns.")
        try caller.send(.want, Want(generation: 1, .all).bytes)
        for _ in 0..<20 { try caller.turn() }
        #expect(caller.closeMessage?.code == .protocolBroken)
        #expect(!caller.received.contains(.answer) && !caller.received.contains(.segment))
    }

    /// Restarts the reconciliation after an unreadable commit, so both find the same list.
    @Test func `an acknowledgment does not apply to the batch after a restart`() throws {
        let caller = try ScriptedPeer()
        let node = caller.scene.nodes[0]
        try node.execute("INSERT INTO cars DOCUMENTS ({'_id': 'a', 'owner': 'ann'})")
        try node.execute(
            "ALTER SYSTEM SET user_collection_sync_scopes = {'boats': 'LocalPeerOnly'}")
        caller.connect()
        try caller.subscribe(1)
        let first = caller.newestCommit
        try caller.execute("INSERT INTO cars DOCUMENTS ({'_id': 'b', 'owner': 'bob'})")
        try caller.execute("ALTER SYSTEM SET user_collection_sync_scopes = {}")
        try #require(caller.steps.count == 2)
        let second = caller.newestCommit
        caller.acknowledge(caller.steps[0])
        #expect(caller.synced == first)
        caller.acknowledge(caller.steps[1])
        #expect(caller.synced == second && second > first)
    }

    @Test func `a limited peer refuses readable documents of batches that it has not acknowledged`()
        throws
    {
        let caller = try ScriptedPeer()
        try caller.scene.nodes[0].execute(
            """
            INSERT INTO cars DOCUMENTS ({'_id': 'a', 'owner': 'ann'}), ({'_id': 'b', 'owner': 'ann'}),
                ({'_id': 'c', 'owner': 'ann'}), ({'_id': 'h', 'owner': 'bob'})
            """)
        caller.connect()
        try caller.subscribe(1)
        let number = try #require(caller.steps.last)
        try caller.refuse("a", of: number + 1)
        #expect(caller.refused == [])
        try caller.refuse("h", of: number)
        #expect(caller.refused == [])
        try caller.refuse("a", of: number)
        #expect(caller.refused == [#""a""#])
        caller.acknowledge(number)
        try caller.refuse("b", of: number)
        #expect(caller.refused == [#""a""#])
        // The next batch has one document.
        try caller.execute("UPDATE cars SET n = 1 WHERE _id = 'c'")
        try caller.refuse("c", of: number + 1)
        #expect(caller.refused == [#""a""#, #""c""#])
        #expect(caller.closeMessage == nil)
    }

    /// Evicts the documents of the first batch before the replicator subscribes again.
    ///
    /// With two documents in each part, there are several parts.
    @Test(arguments: [SyncLimits.wantedDocuments, 2])
    func `a batch of the state before an eviction has the number in the subscription`(_ most: Int)
        throws
    {
        let caller = try ScriptedPeer()
        caller.most = most
        try caller.subscribeReplicator("cars")
        let cars = (0..<5).map { "({'_id': \($0), 'owner': 'ann'})" }.joined(separator: ", ")
        try caller.scene.nodes[0].execute(DQL(verbatim: "INSERT INTO cars DOCUMENTS \(cars)"))
        caller.connect()
        try caller.beginComparing(1)
        try caller.execute("EVICT FROM cars")
        try #require(caller.subscriptions.count == 2)
        let parts = caller.steps
        #expect(parts.count >= (most == 2 ? 3 : 1))
        #expect(parts.allSatisfy { $0 == caller.subscriptions[1] })
        try caller.execute("INSERT INTO cars DOCUMENTS ({'_id': 'b', 'owner': 'ann'})")
        #expect(caller.steps == parts + [caller.subscriptions[1] + 1])
    }

    @Test func `a batch of a state after the subscription has a greater number`() throws {
        let caller = try ScriptedPeer()
        try caller.subscribeReplicator("cars")
        caller.connect()
        try caller.execute("INSERT INTO cars DOCUMENTS ({'_id': 'a', 'owner': 'ann'})")
        try caller.subscribe(1)
        try caller.execute("INSERT INTO cars DOCUMENTS ({'_id': 'b', 'owner': 'ann'})")
        try #require(caller.subscriptions.count == 1)
        #expect(caller.steps == [1, 2].map { caller.subscriptions[0] + $0 })
    }

    /// Checks that the number depends on the order of messages, and not on commits in between.
    @Test func `a batch number does not reveal a commit that the peer may not read`() throws {
        let steps = try [false, true].map { isWritten in
            let caller = try ScriptedPeer()
            try caller.subscribeReplicator("cars")
            try caller.scene.nodes[0].execute(
                "INSERT INTO cars DOCUMENTS ({'_id': 'a', 'owner': 'ann'})")
            caller.connect()
            try caller.beginComparing(1)
            if isWritten {
                try caller.scene.nodes[0].execute(
                    "INSERT INTO cars DOCUMENTS ({'_id': 'b', 'owner': 'bob'})")
            }
            try caller.subscribeReplicator("cars", "boats")
            caller.run()
            try #require(caller.subscriptions.count == 2)
            return caller.steps
        }
        #expect(steps[0] == steps[1] && !steps[0].isEmpty)
    }
}
