import Sheaf
import SheafDocument
import SheafEngine
import SheafMesh
import SheafReplication
import SheafStatements
import SheafStorage
import SheafTestSupport
import Testing

/// Tests of rankings that follow the changes of documents, against lists that are sorted each time.
struct RankingAdvanceTests {
    private struct Car {
        var n: Int64
        var x: Int64
    }

    /// A ranked document: the number by which it is ranked, and its id.
    private struct Row: Comparable {
        let rank: Int64
        let id: String

        static func < (left: Row, right: Row) -> Bool {
            left.rank == right.rank ? left.id < right.id : left.rank < right.rank
        }
    }

    /// A query with a LIMIT, in the model.
    private struct Order {
        let text: String
        let limit: Int
        let rank: (Car) -> Int64?
        /// The documents of the last snapshot, and the first one that may be outdated.
        var rows: [Row] = []
        var floor: Row?

        init(_ text: String, _ limit: Int, _ rank: @escaping (Car) -> Int64?) {
            (self.text, self.limit, self.rank) = (text, limit, rank)
        }

        func first(_ count: Int, of cars: [String: Car], _ hidden: Set<String>) -> [Row] {
            let all = cars.filter { !hidden.contains($0.key) }.compactMap { id, car in
                rank(car).map { Row(rank: $0, id: id) }
            }
            return Array(all.sorted().prefix(count))
        }

        /// Begins with a snapshot.
        mutating func begin(_ cars: [String: Car], _ hidden: Set<String>) {
            rows = first(limit, of: cars, hidden)
            floor = rows.count == limit ? rows.last : nil
        }

        /// Continues with the next snapshot, and returns the ids that have entered.
        mutating func advance(_ cars: [String: Car], _ hidden: Set<String>) -> [String] {
            let old = rows
            rows = first(limit, of: cars, hidden)
            let ids = rows.map(\.id)
            for row in old where !ids.contains(row.id) {
                // The peer keeps the last state that it could read.
                let now =
                    hidden.contains(row.id)
                    ? row : cars[row.id].flatMap(rank).map { Row(rank: $0, id: row.id) }
                if let now { floor = min(floor ?? now, now) }
            }
            let known = old.map(\.id)
            return ids.filter { !known.contains($0) }
        }

        var isSure: Bool {
            guard let floor else { return true }
            guard rows.count == limit, let last = rows.last else { return false }
            return floor >= last
        }
    }

    /// A store, and the same documents in the model.
    private final class Simulation {
        let store: SceneStore
        let matcher: SubscriptionMatcher
        var random: SeededRandom
        var cars: [String: Car] = [:]
        var hidden: Set<String> = []
        var orders = [
            Order("SELECT * FROM cars WHERE x = 1 ORDER BY n LIMIT 3", 3) {
                $0.x == 1 ? $0.n : nil
            },
            Order("SELECT * FROM cars ORDER BY n DESC LIMIT 2", 2) { -$0.n },
        ]

        init(seed: UInt64) throws {
            random = SeededRandom(seed: seed, "rankings")
            store = try SceneStore(SimulatedVolume(seed: seed), LogStoreOptions())
            let texts = ["SELECT * FROM boats"] + orders.map(\.text)
            matcher = SubscriptionMatcher(try store.subscriptions(texts), store.queries)
        }

        var snapshot: DocumentSnapshot { store.queries.documents.snapshot() }

        func address(_ id: String) throws -> DocumentAddress {
            DocumentAddress(collection: "cars", id: try DocumentID.key(of: .string(id)))
        }

        func addresses(_ rows: [Row]) throws -> [DocumentAddress] {
            try rows.map { try address($0.id) }
        }

        /// The documents that the peer may read; nil for all.
        func filter() throws -> SubscriptionRankings.Filter? {
            guard !hidden.isEmpty else { return nil }
            let addresses = Set(try hidden.map { try address($0) })
            return { (_, _, address) throws(EngineError) in !addresses.contains(address) }
        }

        /// Changes some documents, and returns their ids.
        func write(canHide: Bool) throws -> [String] {
            var changes: [DocumentChange] = []
            let ids = Set((0...random.below(3)).map { _ in "c\(random.below(8))" }).sorted()
            for id in ids {
                if random.chance(1, in: 4), cars.removeValue(forKey: id) != nil {
                    changes.append(DocumentChange("cars", .string(id), .delete))
                    continue
                }
                let car = Car(n: Int64(random.below(6)), x: Int64(random.below(2)))
                cars[id] = car
                changes.append(
                    DocumentChange(
                        "cars", .string(id),
                        .insert(["n": .integer(car.n), "x": .integer(car.x)], onConflict: .merge)))
                guard canHide, random.chance(1, in: 3) else { continue }
                if hidden.remove(id) == nil { hidden.insert(id) }
            }
            try store.change(changes)
            return ids
        }
    }

    @Test(arguments: [(1, false), (2, true), (3, true)] as [(UInt64, Bool)])
    func `rankings follow changes, and show whether the peer may select other documents`(
        _ seed: UInt64, _ canHide: Bool
    ) throws {
        let run = try Simulation(seed: seed)
        for _ in 0..<4 { _ = try run.write(canHide: canHide) }
        var rankings = try run.matcher.rankings(in: run.snapshot, where: try run.filter())
        for index in run.orders.indices { run.orders[index].begin(run.cars, run.hidden) }
        #expect(rankings.areSure)
        for step in 0..<40 {
            let comment = Comment(rawValue: "seed \(seed), step \(step)")
            let before = run.orders
            let ids = try run.write(canHide: canHide)
            let (snapshot, filter) = (run.snapshot, try run.filter())
            let keys = try ids.compactMap { snapshot.key(of: try run.address($0)) }
            let isKnown = run.random.chance(3, in: 4)
            var advance = RankingAdvance(
                rankings, to: snapshot, changed: isKnown ? keys : nil)
            try advance.run(run.matcher, filter)
            rankings = advance.rankings
            var entered: Set<String> = []
            for index in run.orders.indices {
                entered.formUnion(run.orders[index].advance(run.cars, run.hidden))
            }
            let (orders, cars) = (run.orders, run.cars)
            #expect(
                try rankings.addresses == run.addresses(orders.flatMap(\.rows)), comment)
            let enteredKeys = try entered.sorted().compactMap {
                snapshot.key(of: try run.address($0))
            }
            #expect(rankings.entered(snapshot.catalog) == enteredKeys, comment)
            #expect(rankings.areAll == orders.allSatisfy { $0.rows.count < $0.limit }, comment)
            #expect(rankings.areSure == orders.allSatisfy { $0.isSure }, comment)
            for id in cars.keys.sorted() {
                let key = try #require(snapshot.key(of: try run.address(id)))
                let found = rankings.contains(key, in: "cars")
                let isRanked = { (orders: [Order]) in
                    orders.contains { $0.rows.contains { $0.id == id } }
                }
                #expect(found.now == isRanked(orders), comment)
                #expect(found.before == isRanked(before), comment)
            }
            let wide = try run.matcher.rankings(in: snapshot, widenedBy: 2, where: filter)
            let expected = orders.flatMap { $0.first(2 * $0.limit, of: cars, run.hidden) }
            #expect(try wide.addresses == run.addresses(expected), comment)
            rankings.discardChanges()
            #expect(rankings.entered(snapshot.catalog).isEmpty, comment)
        }
    }
}
