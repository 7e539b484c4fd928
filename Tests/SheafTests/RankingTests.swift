import Sheaf
import SheafBytes
import SheafDocument
import SheafEngine
import SheafQuery
import SheafStatements
import SheafTestSupport
import Testing

/// Rankings that follow the changes of documents, compared with lists that are sorted each time.
@Suite struct RankingTests {
    /// The fields of a document by which it is ranked.
    fileprivate struct Car {
        let year: Int
        let mileage: Int
    }

    /// A statement with an order and a limit, and the same order in the model.
    struct Case: CustomTestStringConvertible, Sendable {
        let text: String
        let limit: Int
        fileprivate let matches: @Sendable (Car) -> Bool
        /// Returns numbers in ascending order, before the id.
        fileprivate let keys: @Sendable (Car) -> [Int]

        var testDescription: String { text }
    }

    static let cases = [
        Case(
            text: "SELECT * FROM cars WHERE mileage < 80 ORDER BY year DESC LIMIT 4", limit: 4,
            matches: { $0.mileage < 80 }, keys: { [-$0.year] }),
        Case(
            text: "SELECT * FROM cars ORDER BY year, mileage DESC LIMIT 3", limit: 3,
            matches: { _ in true }, keys: { [$0.year, -$0.mileage] }),
        Case(
            text: "SELECT * FROM cars WHERE mileage < 50 LIMIT 2", limit: 2,
            matches: { $0.mileage < 50 }, keys: { _ in [] }),
    ]

    private static let ids = (0..<9).map { "d\($0)" }

    /// A store with a ranking of its documents, and a model of both.
    private final class Scene {
        let store: CarFixtureStore
        let definition: IncrementalViewDefinition
        private let tested: Case
        private let number: UInt16
        private(set) var ranking: Ranking
        private var cars: [String: Car] = [:]
        /// The ids of the ranked documents when the changes were last cleared.
        private var known: Set<String> = []
        /// The number of updates after which the ranking had to be rebuilt.
        private(set) var rebuilt = 0

        init(_ tested: Case) throws {
            self.tested = tested
            let store = try CarFixtureStore()
            self.store = store
            // The fields have numbers from their second document on.
            for id in ["d0", "d1", "d2"] {
                cars[id] = Car(year: 1, mileage: 1)
                try store.execute(
                    "INSERT INTO cars DOCUMENTS ({'_id': '\(id)', 'year': 1, 'mileage': 1})")
            }
            try store.flush()
            let catalog = store.queries.snapshot().catalog
            number = try #require(catalog.number(ofCollection: "cars"))
            let run = store.queries.makeRun(try Parser.parse(tested.text))
            guard case .select(let found, _) = try run.observedChanges() else {
                throw StoreError(.failed, "the statement has no definition")
            }
            definition = found
            ranking = try Ranking(found, run, limit: tested.limit)
            known = Set(expected)
        }

        /// The ids of the ranked documents, in order.
        private var expected: [String] {
            Array(sorted(cars.filter { tested.matches($0.value) }).prefix(tested.limit))
        }

        /// Returns the ids of documents in the order of the ranking.
        private func sorted(_ cars: [String: Car]) -> [String] {
            cars.keys.sorted { left, right in
                let first = cars[left].map(tested.keys) ?? []
                let second = cars[right].map(tested.keys) ?? []
                if first != second { return first.lexicographicallyPrecedes(second) }
                return left < right
            }
        }

        /// Returns the ranked form of a document in the newest snapshot; nil if it does not match.
        private func row(_ id: String) throws -> Ranking.Row? {
            let key = try StoreKey.bytes(ofDocument: .string(id), collection: number)
            let (reader, definition) = (store.queries.reader(), definition)
            var row: Ranking.Row?
            try reader.read(key) { (document) throws(StoreError) in
                row = try definition.rank(document)
            }
            return row
        }

        /// Changes or deletes a document, and checks the ranking.
        func change(_ id: String, _ car: (year: Int, mileage: Int)?) throws {
            let before = expected
            if let car {
                cars[id] = Car(year: car.year, mileage: car.mileage)
                try store.execute(
                    "INSERT INTO cars DOCUMENTS ({'_id': '\(id)', 'year': \(car.year), "
                        + "'mileage': \(car.mileage)}) ON ID CONFLICT DO UPDATE")
            } else {
                cars[id] = nil
                try store.execute("DELETE FROM cars WHERE _id = '\(id)'")
            }
            try store.flush()
            let row = try row(id)
            #expect((row != nil) == (cars[id].map(tested.matches) ?? false))
            let isKnown = ranking.update(try DocumentID.key(of: .string(id)), row)
            // Without a rebuild, nothing is known of the documents beyond the limit.
            let isFull = before.count == tested.limit
            let isLeaving = before.contains(id) && (row == nil || isLast(id, among: before))
            #expect(isKnown == !(isFull && isLeaving), "\(id)")
            if !isKnown {
                rebuilt += 1
                let run = store.queries.makeRun(try Parser.parse(tested.text))
                ranking.replace(with: try Ranking(definition, run, limit: tested.limit))
            }
            try check()
        }

        /// Whether a changed document is the last one of those that were ranked.
        private func isLast(_ id: String, among ranked: [String]) -> Bool {
            sorted(cars.filter { ranked.contains($0.key) }).last == id
        }

        private func keys(_ ids: Set<String>) throws -> Set<[UInt8]> {
            var keys: Set<[UInt8]> = []
            for id in ids { keys.insert(try DocumentID.key(of: .string(id))) }
            return keys
        }

        private func check() throws {
            let ranked = expected
            var ids: [[UInt8]] = []
            for id in ranked { ids.append(try DocumentID.key(of: .string(id))) }
            let entered = try keys(Set(ranked).subtracting(known))
            let left = try keys(known.subtracting(ranked))
            #expect(ranking.rows.map(\.id) == ids)
            #expect(ranking.isFull == (ranked.count == tested.limit))
            #expect(ranking.entered == entered && ranking.left == left)
            for id in RankingTests.ids {
                let key = try DocumentID.key(of: .string(id))
                #expect(ranking.contains(key) == ranked.contains(id))
                #expect((ranking.row(of: key)?.id == key) == ranked.contains(id))
                #expect(ranking.contained(key) == known.contains(id), "\(id)")
            }
            for (row, next) in zip(ranking.rows, ranking.rows.dropFirst()) {
                #expect(ranking.precedes(row, next) && !ranking.precedes(next, row))
                #expect(!ranking.precedes(row, row))
            }
        }

        func clear() {
            ranking.clearChanges()
            known = Set(expected)
        }
    }

    @Test(arguments: cases)
    func `a ranking has the first documents, and those that have entered or left`(
        tested: Case
    ) throws {
        var random = SeededRandom(seed: 12, "ranking")
        let scene = try Scene(tested)
        for _ in 0..<90 {
            let id = Self.ids[random.below(Self.ids.count)]
            let car = (year: random.below(4), mileage: random.below(100))
            try scene.change(id, random.chance(1, in: 5) ? nil : car)
            if random.chance(1, in: 4) { scene.clear() }
        }
        // Some changes are decided without the store.
        #expect(scene.rebuilt > 2 && scene.rebuilt < 60)
    }
}
