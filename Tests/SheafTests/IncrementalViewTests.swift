import Sheaf
import SheafBytes
import SheafDocument
import SheafEngine
import SheafQuery
import SheafStatements
import SheafTestSupport
import Testing

/// Incremental views that follow the changes of documents, compared with lists that are sorted each
/// time.
@Suite struct IncrementalViewTests {
    fileprivate struct Car: Equatable {
        var year: Int
        var mileage: Int
    }

    /// A statement, and its meaning in the model.
    struct Case: CustomTestStringConvertible, Sendable {
        let text: String
        let limit: Int?
        fileprivate let matches: @Sendable (Car) -> Bool
        /// Returns numbers in ascending order, before the id.
        fileprivate let keys: @Sendable (Car) -> [Int]
        /// Returns the fields of a row besides the id.
        fileprivate let shown: @Sendable (Car) -> Object

        var testDescription: String { text }
    }

    static let cases = [
        Case(
            text: "SELECT * FROM cars WHERE mileage < 80", limit: nil,
            matches: { $0.mileage < 80 }, keys: { _ in [] }, shown: Self.all),
        Case(
            text: "SELECT * FROM cars WHERE mileage < 80 ORDER BY year DESC", limit: nil,
            matches: { $0.mileage < 80 }, keys: { [-$0.year] }, shown: Self.all),
        Case(
            text: "SELECT * FROM cars ORDER BY year, mileage LIMIT 3", limit: 3,
            matches: { _ in true }, keys: { [$0.year, $0.mileage] }, shown: Self.all),
        Case(
            text: "SELECT _id, year FROM cars WHERE mileage < 80 ORDER BY year LIMIT 3", limit: 3,
            matches: { $0.mileage < 80 }, keys: { [$0.year] }, shown: Self.year),
        Case(
            text: "SELECT _id, year FROM cars ORDER BY mileage DESC", limit: nil,
            matches: { _ in true }, keys: { [-$0.mileage] }, shown: Self.year),
    ]

    @Sendable fileprivate static func all(_ car: Car) -> Object {
        ["year": .integer(Int64(car.year)), "mileage": .integer(Int64(car.mileage))]
    }

    @Sendable fileprivate static func year(_ car: Car) -> Object {
        ["year": .integer(Int64(car.year))]
    }

    fileprivate static let ids = (0..<8).map { "d\($0)" }

    @Test(arguments: cases)
    func `a view has the rows of its statement, and its edits lead to them`(
        tested: Case
    ) throws {
        var random = SeededRandom(seed: 31, "views")
        let scene = try ViewScene(tested)
        for _ in 0..<70 {
            let id = Self.ids[random.below(Self.ids.count)]
            let car = Car(year: random.below(4), mileage: random.below(10) * 10)
            try scene.change(id, random.chance(1, in: 5) ? nil : car)
            if random.chance(1, in: 3) { try scene.drain() }
        }
        try scene.drain()
        // Views with a limit sometimes depend on documents that they do not have.
        #expect((scene.rebuilt > 0) == (tested.limit != nil))
        #expect(scene.edited > 5)
    }

    @Test func `a view records up to 512 edits, and none after more until they are taken`() throws {
        let scene = try ViewScene(Self.cases[0])
        #expect(try scene.repeatChange(512, of: "d0")?.count == 512)
        #expect(try scene.repeatChange(514, of: "d0") == nil)
        #expect(try scene.repeatChange(2, of: "d0")?.count == 2)
        #expect(try scene.repeatChange(0, of: "d0")?.isEmpty == true)
    }
}

/// A store with a view of its documents, and a model of both.
private final class ViewScene {
    private typealias Car = IncrementalViewTests.Car
    /// A row of the model, with its id.
    private struct ShownRow: Equatable {
        let id: String
        var content: Value
    }

    private let store: CarFixtureStore
    private let tested: IncrementalViewTests.Case
    private let definition: IncrementalViewDefinition
    private let number: UInt16
    private var view: IncrementalView
    private var cars: [String: Car] = [:]
    /// The readers of all snapshots, which keep the bytes of rows valid.
    private var readers: [SnapshotReader] = []
    /// The rows when the edits were last taken.
    private var taken: [ShownRow] = []
    /// The number of changes after which the statement had to run again.
    private(set) var rebuilt = 0
    /// The number of edits.
    private(set) var edited = 0

    init(_ tested: IncrementalViewTests.Case) throws {
        self.tested = tested
        let store = try CarFixtureStore()
        self.store = store
        // The fields have numbers from their second document on.
        for id in ["d0", "d1", "d2"] {
            cars[id] = Car(year: 1, mileage: 10)
            try store.execute(
                "INSERT INTO cars DOCUMENTS ({'_id': '\(id)', 'year': 1, 'mileage': 10})")
        }
        try store.flush()
        let catalog = store.queries.snapshot().catalog
        number = try #require(catalog.number(ofCollection: "cars"))
        let run = store.queries.makeRun(try Parser.parse(tested.text))
        guard case .select(let found, _) = try run.observedChanges() else {
            throw StoreError(.failed, "the statement has no definition")
        }
        definition = found
        view = try #require(try IncrementalView(found, run))
        taken = expected
    }

    // MARK: The model

    private var expected: [ShownRow] {
        let ids = cars.filter { tested.matches($0.value) }.keys.sorted(by: precedes)
        return ids.prefix(tested.limit ?? ids.count).map { id in
            var content = cars[id].map(tested.shown) ?? [:]
            content["_id"] = .string(id)
            return ShownRow(id: id, content: .object(content))
        }
    }

    private func precedes(_ left: String, _ right: String) -> Bool {
        let (first, second) = (keys(left), keys(right))
        return first == second ? left < right : first.lexicographicallyPrecedes(second)
    }

    private func keys(_ id: String) -> [Int] { cars[id].map(tested.keys) ?? [] }

    /// Whether a row may be followed by one that the view does not have.
    private func isUnknown(_ id: String, from old: Car?, _ before: [ShownRow]) -> Bool {
        guard let limit = tested.limit, before.count == limit,
            before.contains(where: { $0.id == id })
        else { return false }
        guard let car = cars[id], tested.matches(car) else { return true }
        let isMoved = old.map(tested.keys) != tested.keys(car)
        let others = before.filter { $0.id != id }
        return isMoved && others.allSatisfy { precedes($0.id, id) }
    }

    // MARK: Changes

    /// Changes or deletes a document, and checks the effect on the view.
    func change(_ id: String, _ car: IncrementalViewTests.Car?) throws {
        let (before, oldCar) = (expected, cars[id])
        cars[id] = car
        let old = store.queries.reader()
        if let car {
            try store.execute(
                "INSERT INTO cars DOCUMENTS ({'_id': '\(id)', 'year': \(car.year), "
                    + "'mileage': \(car.mileage)}) ON ID CONFLICT DO UPDATE")
        } else {
            try store.execute("DELETE FROM cars WHERE _id = '\(id)'")
        }
        try store.flush()
        let effect = try apply(id, old, store.queries.reader())
        if isUnknown(id, from: oldCar, before) {
            #expect(effect == .unknown, "\(id)")
            rebuilt += 1
            let run = store.queries.makeRun(try Parser.parse(tested.text))
            view = try #require(try IncrementalView(definition, run))
            taken = expected
        } else {
            let wanted: IncrementalView.Effect = before == expected ? .none : .changed
            #expect(effect == wanted, "\(id)")
        }
        let names = store.queries.snapshot().names
        var rows: [Value] = []
        for row in view.rows { rows.append(.object(try row.item.object(names))) }
        #expect(rows == expected.map(\.content))
    }

    /// Applies the change of a document between two snapshots to the view.
    private func apply(
        _ id: String, _ old: SnapshotReader, _ new: SnapshotReader
    ) throws -> IncrementalView.Effect {
        readers += [old, new]
        let key = try StoreKey.bytes(ofDocument: .string(id), collection: number)
        var effect = IncrementalView.Effect.none
        try read(key, old) { (before) throws(StoreError) in
            try read(key, new) { (after) throws(StoreError) in
                let images = DocumentImages(before: before, after: after, new.names)
                effect = try view.apply(images, definition)
            }
        }
        return effect
    }

    /// Calls `body` once with the document at a key, or with nil.
    private func read(
        _ key: [UInt8], _ reader: SnapshotReader,
        _ body: (ScannedDocument?) throws(StoreError) -> Void
    ) throws(StoreError) {
        var isFound = false
        try reader.read(key) { (document) throws(StoreError) in
            isFound = true
            try body(document)
        }
        if !isFound { try body(nil) }
    }

    /// Takes the edits of the view, and applies them to the rows of the last time.
    func drain() throws {
        let drained = view.drainEdits()
        let edits = try #require(drained)
        edited += edits.count
        var rows = taken
        let current = Dictionary(uniqueKeysWithValues: expected.map { ($0.id, $0.content) })
        var removed: [String: Value] = [:]
        func remove(_ index: Int) -> ShownRow {
            let row = rows.remove(at: index)
            removed[row.id] = row.content
            return row
        }
        for edit in edits {
            switch edit {
            case .remove(let index, let id):
                let row = remove(index)
                #expect(id == (try DocumentID.key(of: .string(row.id))))
            case .insert(let index, let id, let isUpdated):
                guard case .string(let name) = try DocumentID.id(of: id) else {
                    Issue.record("a row with another id")
                    return
                }
                let content = isUpdated ? current[name] : removed[name]
                rows.insert(ShownRow(id: name, content: content ?? .null), at: index)
            case .update(let index): rows[index].content = current[rows[index].id] ?? .null
            case .move(let from, let to, let isUpdated):
                var row = remove(from)
                if isUpdated { row.content = current[row.id] ?? .null }
                rows.insert(row, at: to)
            }
        }
        #expect(rows == expected)
        taken = expected
    }

    /// Applies changes of a document forth and back; returns the edits that the view recorded.
    func repeatChange(_ count: Int, of id: String) throws -> [RowEdit]? {
        let old = store.queries.reader()
        try store.execute("UPDATE cars SET year = year + 1 WHERE _id = '\(id)'")
        try store.flush()
        let new = store.queries.reader()
        var changed = 0
        for number in 0..<count {
            let (from, to) = number % 2 == 0 ? (old, new) : (new, old)
            if try apply(id, from, to) == .changed { changed += 1 }
        }
        #expect(changed == count)
        return view.drainEdits()
    }
}
