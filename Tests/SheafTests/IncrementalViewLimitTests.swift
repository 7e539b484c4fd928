import Sheaf
import SheafDocument
import SheafEngine
import SheafQuery
import SheafStatements
import Testing

/// The maximum number of documents of a result that is maintained incrementally.
@Suite struct IncrementalViewLimitTests {
    private let store: CarFixtureStore

    init() throws {
        store = try CarFixtureStore()
        try store.fill(16_383)
    }

    private func run(_ text: String) throws -> QueryRun {
        let options = QueryOptions(now: 0, clock: { 0 }, newID: { "new" })
        return try QueryRun(Parser.parse(text), on: store.queries.reader(), options)
    }

    private func newDefinition(_ text: String) throws -> IncrementalViewDefinition? {
        guard case .select(let definition, _) = try run(text).observedChanges() else { return nil }
        return definition
    }

    /// Returns the number of rows of a new view; nil if too many documents match.
    private func count(_ text: String) throws -> Int? {
        let definition = try #require(try newDefinition(text))
        return try IncrementalView(definition, run(text))?.rows.count
    }

    /// Inserts a document, and applies it to a view.
    private func insert(
        _ id: String, into view: inout IncrementalView, _ definition: IncrementalViewDefinition
    ) throws -> IncrementalView.Effect? {
        try store.execute("INSERT INTO cars DOCUMENTS ({'_id': '\(id)', 'year': 2000})")
        try store.flush()
        let catalog = store.queries.snapshot().catalog
        let number = try #require(catalog.number(ofCollection: "cars"))
        let key = try StoreKey.bytes(ofDocument: .string(id), collection: number)
        let reader = store.queries.reader()
        var effect: IncrementalView.Effect?
        try reader.read(key) { (document) throws(StoreError) in
            let images = DocumentImages(before: nil, after: document, reader.names)
            effect = try view.apply(images, definition)
        }
        return effect
    }

    @Test func `a view has at most 16,384 documents, from its start and after insertions`() throws {
        let all = "SELECT * FROM cars"
        let first = "SELECT * FROM cars ORDER BY mileage LIMIT 3"
        let definition = try #require(try newDefinition(all))
        var view = try #require(try IncrementalView(definition, run(all)))
        #expect(view.rows.count == 16_383)
        let last = try insert("z1", into: &view, definition)
        #expect(last == .changed && view.rows.count == 16_384)
        #expect(try count(all) == 16_384)
        #expect(try count(first) == 3)
        let further = try insert("z2", into: &view, definition)
        #expect(further == .unknown && view.rows.count == 16_384)
        #expect(try count(all) == nil)
        // The documents before the LIMIT count.
        #expect(try count(first) == nil)
        #expect(try count("SELECT * FROM cars WHERE _id != 'z2'") == 16_384)
    }
}
