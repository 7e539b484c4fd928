import Sheaf
import SheafBytes
import SheafDocument
import SheafEngine
import SheafReplication
import SheafStatements
import SheafStorage
import SheafSync
import SheafTestSupport
import Testing

/// Refusals that a peer invents.
struct ForgedRefusalTests {
    /// A replicator with cars and secrets, and a peer that subscribes to the cars.
    private final class HostilePeer {
        let scene: FileScene
        private var frames = FrameWriter()
        private(set) var refusals = PeerRefusals()
        private(set) var isClosed = false
        let arguments: [UInt8]

        var replicator: Replicator { scene.nodes[0].replicator }
        var newestCommit: UInt64 {
            scene.nodes[0].store.queries.documents.snapshot().log.commit
        }

        init(count: Int) throws {
            scene = try FileScene(1)
            arguments = try Insertion.initial(Object(), NameTable())
            for number in 0..<count {
                try scene.execute(
                    0, "INSERT INTO cars DOCUMENTS (:car)",
                    ["car": ["_id": .string("c\(number)"), "n": .integer(1)] as Value])
            }
            try scene.execute(0, "INSERT INTO secrets DOCUMENTS ({'_id': 's'})")
            replicator.connect(1, at: 1)
            let database = Hello.DatabaseID(low: 1, high: 2)
            send(
                .hello,
                Hello(
                    database: database, peerKey: Array(repeating: 9, count: 32),
                    site: Site(rawValue: 9), log: database, nonce: 1, wallMilliseconds: 1,
                    isServer: false, name: ""
                ).bytes)
            let query = SubscribedQuery(text: "SELECT * FROM cars", arguments: arguments)
            let request = Subscribe(generation: 1, [query], at: 0)
            send(.subscribe, request.parts[0].bytes)
            send(.want, Want(generation: 1, .all).bytes)
            while let deadline = replicator.deadline, deadline <= 1 {
                replicator.tick(at: 1)
                record()
            }
        }

        func send(_ type: FrameType, _ body: [UInt8]) {
            let bytes = frames.bytes(of: Frame(type, body))
            bytes.withUnsafeBytes { replicator.receive($0, on: 1, at: 1) }
            record()
        }

        /// Runs a statement on the replicator's store.
        func write(_ statement: DQL) throws {
            try scene.nodes[0].execute(statement)
            record()
        }

        private func record() {
            for effect in replicator.drainEffects() {
                switch effect {
                case .refusalsChanged(_, let all, _): refusals = all
                case .close: isClosed = true
                default: break
                }
            }
        }

        func refuse(_ collection: String, _ ids: [String], commit: UInt64, omitted: UInt64 = 0)
            throws
        {
            let addresses = try ids.map {
                DocumentAddress(collection: collection, id: try DocumentID.key(of: .string($0)))
            }
            for from in stride(from: 0, to: max(addresses.count, 1), by: 256) {
                let part = Array(addresses[from..<min(from + 256, addresses.count)])
                send(
                    .refused,
                    RefusedNotice(
                        generation: 1, commit: commit, .result, omitted: omitted, part
                    ).bytes)
            }
        }
    }

    @Test func `refusals of documents that a peer never received are ignored`() throws {
        let hostilePeer = try HostilePeer(count: 8)
        let newest = hostilePeer.newestCommit
        try hostilePeer.refuse("cars", ["c1"], commit: newest + 1)
        try hostilePeer.refuse("cars", ["c1"], commit: .max)
        try hostilePeer.refuse("cars", ["nothing"], commit: newest)
        try hostilePeer.refuse("secrets", ["s"], commit: newest)
        try hostilePeer.refuse("nowhere", ["s"], commit: newest)
        try hostilePeer.refuse("cars", [], commit: newest, omitted: .max)
        #expect(hostilePeer.refusals.isEmpty)
        #expect(!hostilePeer.isClosed)
        try hostilePeer.refuse("cars", ["c1"], commit: newest)
        #expect(hostilePeer.refusals.writes.map(\.documentID.json) == [#""c1""#])
        // At most as many refusals are accepted as documents were sent.
        for _ in 0..<8 { try hostilePeer.refuse("cars", ["c2"], commit: newest) }
        try hostilePeer.refuse("cars", ["c3"], commit: newest)
        #expect(hostilePeer.refusals.writes.map(\.documentID.json) == [#""c1""#, #""c2""#])
        #expect(!hostilePeer.isClosed)
    }

    @Test func `a peer can refuse as many documents as it was sent, named or not`() throws {
        let hostilePeer = try HostilePeer(count: 4)
        let newest = hostilePeer.newestCommit
        try hostilePeer.refuse("cars", ["c0", "c1"], commit: newest, omitted: 3)
        #expect(hostilePeer.refusals.isEmpty)
        try hostilePeer.refuse("cars", ["c0"], commit: newest)
        try hostilePeer.refuse("cars", ["c1"], commit: newest, omitted: 3)
        #expect(hostilePeer.refusals.omitted == 0)
        try hostilePeer.refuse("cars", ["c1"], commit: newest, omitted: 2)
        #expect(hostilePeer.refusals.omitted == 2)
        try hostilePeer.refuse("cars", ["c2"], commit: newest)
        #expect(hostilePeer.refusals.writes.map(\.documentID.json) == [#""c0""#, #""c1""#])
        #expect(!hostilePeer.isClosed)
    }

    private static let refusedCommits: [(Int?, Int, [Int])] = [
        (nil, 3, [0, 1, 3]), (nil, 2, [0, 1]), (nil, 1, [0, 1]), (nil, 0, [0]),
        (0, 3, [1, 3]), (1, 3, [3]), (2, 3, [3]), (3, 3, [3]), (3, 1, [1]), (0, 0, [0]),
    ]

    /// Refuses a document written by commits 0, 1 and 3; the last one counts although it is
    /// acknowledged.
    @Test(arguments: refusedCommits)
    func `a refusal names the unacknowledged commits of a document up to its batch`(
        _ acknowledged: Int?, _ refused: Int, _ named: [Int]
    ) throws {
        let hostilePeer = try HostilePeer(count: 1)
        let statements: [DQL] = [
            "INSERT INTO cars DOCUMENTS ({'_id': 'd', 'n': 1})",
            "UPDATE cars SET n = 2 WHERE _id = 'd'", "UPDATE cars SET n = 2 WHERE _id = 'c0'",
            "UPDATE cars SET n = 3 WHERE _id = 'd'",
        ]
        var commits: [UInt64] = []
        for statement in statements {
            try hostilePeer.write(statement)
            commits.append(hostilePeer.newestCommit)
        }
        if let acknowledged {
            let message = Acknowledge(generation: 1, commit: commits[acknowledged])
            hostilePeer.send(.acknowledge, message.bytes)
        }
        try hostilePeer.refuse("cars", ["d"], commit: commits[refused])
        let found = hostilePeer.refusals.writes.map(\.commitIDs)
        #expect(found == [named.map { Int64(commits[$0]) }])
    }

    @Test func `a refusal with an unknown generation ends the connection`() throws {
        let hostilePeer = try HostilePeer(count: 1)
        hostilePeer.send(
            .refused, RefusedNotice(generation: 2, commit: 1, .result, omitted: 1, []).bytes)
        #expect(hostilePeer.isClosed)
    }

    @Test func `refused documents are kept up to a maximum`() throws {
        let hostilePeer = try HostilePeer(count: 1_100)
        try hostilePeer.refuse(
            "cars", (0..<1_100).map { "c\($0)" }, commit: hostilePeer.newestCommit)
        #expect(hostilePeer.refusals.writes.count == 1_024)
        #expect(hostilePeer.refusals.omitted == 76)
        // A document acknowledged after a reconciliation, and not refused again, was accepted.
        hostilePeer.send(
            .subscribe,
            Subscribe(
                generation: 2,
                [SubscribedQuery(text: "SELECT * FROM cars", arguments: hostilePeer.arguments)],
                at: 0,
                from: nil, complete: []
            ).parts[0].bytes)
        hostilePeer.send(.want, Want(generation: 2, .all).bytes)
        hostilePeer.send(.acknowledge, Acknowledge(generation: 2, commit: .max).bytes)
        #expect(hostilePeer.refusals.isEmpty)
    }
}
