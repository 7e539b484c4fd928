import Sheaf
import SheafDocument
import SheafReplication
import SheafStatements
import SheafTestSupport
import Testing

/// Subscriptions with ORDER BY and LIMIT, compared with lists that are sorted each time.
struct RankedSubscriptionTests {
    /// A document of the model.
    private struct Car: Equatable, Sendable {
        var n: Int64
        var kind: String
        var note: Int64
        /// The number of the only peer that writes the document.
        let owner: Int
    }

    /// An order, and its implementation in the model.
    private struct Order: Sendable {
        let text: String
        let condition: String
        let matches: @Sendable (Car) -> Bool
        let precedes: @Sendable (Car, Car) -> Bool?

        static let all = [
            Order(
                text: "ORDER BY n DESC", condition: "", matches: { _ in true },
                precedes: { $0.n == $1.n ? nil : $0.n > $1.n }),
            Order(
                text: "ORDER BY n", condition: "WHERE kind = 'x'", matches: { $0.kind == "x" },
                precedes: { $0.n == $1.n ? nil : $0.n < $1.n }),
            Order(
                text: "ORDER BY kind DESC, abs(n - 5)", condition: "WHERE n > 1",
                matches: { $0.n > 1 },
                precedes: {
                    if $0.kind != $1.kind { return $0.kind > $1.kind }
                    let (left, right) = (abs($0.n - 5), abs($1.n - 5))
                    return left == right ? nil : left < right
                }),
            Order(text: "", condition: "", matches: { _ in true }, precedes: { _, _ in nil }),
        ]

        func first(_ limit: Int, of cars: [String: Car]) -> [String] {
            let sorted = cars.filter { matches($0.value) }.sorted {
                precedes($0.value, $1.value) ?? ($0.key < $1.key)
            }
            return sorted.prefix(limit).map { id, car in
                #"{"_id":"\#(id)","n":\#(car.n),"note":\#(car.note)}"#
            }
        }

        func query(_ limit: Int) -> String {
            "SELECT * FROM cars \(condition) \(text) LIMIT \(limit)"
        }

        func rows(_ limit: Int, of node: FileScene.Node) throws -> [String] {
            let tie = text.isEmpty ? "ORDER BY _id" : "\(text), _id"
            return try node.rows(
                DQL(
                    verbatim: "SELECT _id, n, note FROM cars \(condition) \(tie) LIMIT \(limit)"))
        }
    }

    /// Peers whose documents change at random; each document has one writer.
    private final class Simulation {
        let scene: FileScene
        let order: Order
        var random: SeededRandom
        var cars: [String: Car] = [:]
        var limit: Int
        private let writers: Int

        init(seed: UInt64, peers: Int, writers: Int) throws {
            random = SeededRandom(seed: seed, "ranked")
            var limits = ReplicatorLimits()
            // In half of the runs, an evaluation turn ends after a few documents.
            if random.chance(1, in: 2) { limits.evaluated = 51 + random.below(200) }
            scene = try FileScene(peers, limits)
            order = Order.all[random.below(Order.all.count)]
            limit = random.below(6)
            self.writers = writers
            if random.chance(1, in: 2) {
                try scene.execute(0, "CREATE INDEX byN ON cars (n DESC)")
            }
        }

        func write() throws {
            let owner = random.below(writers)
            let id = "c\(owner)\(random.below(10))"
            let fields: (n: Int64, kind: String, note: Int64) = (
                Int64(random.below(10)), ["x", "y"][random.below(2)], Int64(random.below(1_000))
            )
            guard let car = cars[id] else {
                cars[id] = Car(n: fields.n, kind: fields.kind, note: fields.note, owner: owner)
                try scene.execute(
                    owner, "INSERT INTO cars DOCUMENTS (:car) ON ID CONFLICT DO UPDATE",
                    [
                        "car": [
                            "_id": .string(id), "n": .integer(fields.n),
                            "kind": .string(fields.kind), "note": .integer(fields.note),
                        ] as Value
                    ])
                return
            }
            switch random.below(6) {
            case 0:
                cars[id] = nil
                try scene.execute(
                    owner, "DELETE FROM cars WHERE _id = :id", ["id": Value.string(id)])
            case 1:
                cars[id]?.note = fields.note
                try scene.execute(
                    owner, "UPDATE cars SET note = :note WHERE _id = :id",
                    ["note": Value.integer(fields.note), "id": Value.string(id)])
            case 2:
                cars[id]?.kind = car.kind == "x" ? "y" : "x"
                try scene.execute(
                    owner, "UPDATE cars SET kind = :kind WHERE _id = :id",
                    ["kind": Value.string(car.kind == "x" ? "y" : "x"), "id": Value.string(id)])
            default:
                cars[id]?.n = fields.n
                try scene.execute(
                    owner, "UPDATE cars SET n = :n WHERE _id = :id",
                    ["n": Value.integer(fields.n), "id": Value.string(id)])
            }
        }

        /// Runs until no node has anything to send, and checks that no further message follows.
        func settle() throws {
            try scene.run()
            // Rate-limited subscriptions are answered after a delay.
            try scene.advance(seconds: 5)
            let count = scene.messageCount
            for number in scene.nodes.indices { try scene.recordPublished(number) }
            try scene.advance(seconds: 1)
            #expect(scene.messageCount == count, "more messages were sent")
        }

        func check(_ numbers: [Int], _ comment: Comment) throws {
            let expected = order.first(limit, of: cars)
            for number in numbers {
                let rows = try order.rows(limit, of: scene.nodes[number])
                #expect(rows == expected, comment)
            }
        }
    }

    @Test(arguments: 1...24)
    func `the ranked documents equal those of the sender, and no more messages follow`(
        _ seed: UInt64
    ) throws {
        let simulation = try Simulation(seed: seed, peers: 2, writers: 1)
        try simulation.scene.subscribe(1, [simulation.order.query(simulation.limit)])
        var wire = try simulation.scene.connect(0, 1)
        for round in 0..<40 {
            switch simulation.random.below(12) {
            case 0: try simulation.scene.disconnect(wire)
            case 1: try simulation.scene.execute(1, "EVICT FROM cars WHERE n < 5")
            case 2:
                simulation.limit = simulation.random.below(6)
                try simulation.scene.subscribe(1, [simulation.order.query(simulation.limit)])
            case 3:
                // Some messages are delivered, and the rest is in transit during the writes.
                for _ in 0..<simulation.random.below(6) { _ = try simulation.scene.step() }
            default: break
            }
            for _ in 0...simulation.random.below(5) { try simulation.write() }
            if !simulation.scene.isConnected { wire = try simulation.scene.connect(0, 1) }
            try simulation.settle()
            try simulation.check([0, 1], "seed \(seed), round \(round)")
        }
    }

    @Test(arguments: 101...112)
    func `peers that both write agree on the first documents`(_ seed: UInt64) throws {
        let simulation = try Simulation(seed: seed, peers: 2, writers: 2)
        for number in 0..<2 {
            try simulation.scene.subscribe(number, [simulation.order.query(simulation.limit)])
        }
        var wire = try simulation.scene.connect(0, 1)
        for round in 0..<30 {
            if simulation.random.chance(1, in: 8) { try simulation.scene.disconnect(wire) }
            for _ in 0...simulation.random.below(5) { try simulation.write() }
            if !simulation.scene.isConnected { wire = try simulation.scene.connect(0, 1) }
            try simulation.settle()
            try simulation.check([0, 1], "seed \(seed), round \(round)")
        }
    }

    @Test(arguments: 201...210)
    func `ranked documents arrive through a relay that has a second query`(_ seed: UInt64)
        throws
    {
        let simulation = try Simulation(seed: seed, peers: 3, writers: 1)
        for number in 1..<3 {
            try simulation.scene.subscribe(
                number,
                [
                    simulation.order.query(simulation.limit),
                    "SELECT * FROM cars WHERE _id IN ('c01', 'c02')",
                ])
        }
        try simulation.scene.connect(0, 1)
        try simulation.scene.connect(1, 2)
        for round in 0..<30 {
            for _ in 0...simulation.random.below(5) { try simulation.write() }
            try simulation.settle()
            let rows = try [1, 2].map {
                try simulation.order.rows(simulation.limit, of: simulation.scene.nodes[$0])
            }
            let expected = simulation.order.first(simulation.limit, of: simulation.cars)
            for found in rows {
                #expect(found == expected, "seed \(seed), round \(round)")
            }
        }
    }

    @Test func `the change by which a document leaves the limit is the last one sent`() throws {
        let scene = try FileScene(2)
        for id in 1...4 {
            try scene.execute(
                0, "INSERT INTO cars DOCUMENTS (:car)",
                [
                    "car": ["_id": .integer(Int64(id)), "n": .integer(Int64(id)), "text": "a"]
                        as Value
                ])
        }
        try scene.subscribe(1, ["SELECT * FROM cars ORDER BY n DESC LIMIT 2"])
        try scene.connect(0, 1)
        try scene.run()
        let all: DQL = "SELECT _id, n, text FROM cars ORDER BY _id"
        var rows = try scene.nodes[1].rows(all)
        #expect(rows == [#"{"_id":3,"n":3,"text":"a"}"#, #"{"_id":4,"n":4,"text":"a"}"#])
        try scene.execute(0, "UPDATE cars SET n = 9 WHERE _id = 1")
        try scene.run()
        rows = try scene.nodes[1].rows(all)
        #expect(rows.first == #"{"_id":1,"n":9,"text":"a"}"# && rows.count == 3)
        // Document 4 leaves with a change of its text, and changes again after that.
        try scene.execute(0, "UPDATE cars SET n = 0, text = 'b' WHERE _id = 4")
        try scene.execute(0, "UPDATE cars SET n = 8 WHERE _id = 3")
        try scene.run()
        try scene.execute(0, "UPDATE cars SET text = 'c' WHERE _id = 4")
        try scene.run()
        rows = try scene.nodes[1].rows(all)
        #expect(rows.count == 3 && rows.last == #"{"_id":4,"n":0,"text":"b"}"#)
    }

    @Test func `ranked subscriptions are rejected when restricted, unsupported or above the limit`()
        async throws
    {
        let scene = try await PeerScene(2)
        let (left, right) = (scene.peers[0], scene.peers[1])
        #expect(throws: StoreError.self) {
            try right.sync.registerSubscription("SELECT * FROM cars LIMIT 2")
        }
        #expect(throws: StoreError.self) {
            try right.sync.registerSubscription("SELECT * FROM cars ORDER BY n")
        }
        try await right.store.execute("ALTER SYSTEM SET dql_restrict_subscriptions = false")
        for text: DQL in [
            "SELECT * FROM cars LIMIT 2 OFFSET 1", "SELECT * FROM cars LIMIT 65537",
            "SELECT DISTINCT * FROM cars LIMIT 2", "SELECT * FROM cars ORDER BY clock() LIMIT 1",
        ] {
            #expect(throws: StoreError.self, "\(text)") {
                try right.sync.registerSubscription(text)
            }
        }
        let large = try right.sync.registerSubscription("SELECT * FROM boats LIMIT 65536")
        #expect(throws: StoreError.self) {
            try right.sync.registerSubscription("SELECT * FROM cars LIMIT 1")
        }
        large.cancel()
        try await left.store.execute("ALTER SYSTEM SET dql_restrict_subscriptions = false")
        let subscription = try right.sync.registerSubscription(
            "SELECT * FROM cars ORDER BY n LIMIT :limit", ["limit": 2])
        scene.connect(0, 1)
        for id: Int64 in [3, 2, 1] {
            try await left.store.execute(
                "INSERT INTO cars DOCUMENTS (:car)",
                ["car": ["_id": .integer(id), "n": .integer(id)] as Value])
        }
        try await right.items(of: "SELECT _id FROM cars ORDER BY n LIMIT 2") {
            $0 == [#"{"_id":1}"#, #"{"_id":2}"#]
        }
        let mine = try right.sync.checksum(of: subscription)
        let theirs = try left.sync.checksum(of: "SELECT * FROM cars ORDER BY n LIMIT 2")
        #expect(mine == theirs)
        try await scene.close()
    }
}
