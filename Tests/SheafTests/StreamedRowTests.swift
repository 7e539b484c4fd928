import Sheaf
import SheafDocument
import SheafQuery
import SheafStatements
import Testing

/// Rows that are passed on one by one, or only up to a number, compared with complete results.
@Suite struct StreamedRowTests {
    private let store: CarFixtureStore

    init() throws {
        store = try CarFixtureStore()
        try store.fill(12)
    }

    /// The rows that a run has passed on.
    private final class Box {
        var rows: [Value] = []
    }

    private static let statements = [
        "SELECT * FROM cars", "SELECT * FROM cars WHERE year > 2004",
        "SELECT year, color AS c FROM cars WHERE _id > 'c03'", "SELECT COUNT(*) AS n FROM cars",
        "SELECT color, COUNT(*) AS n FROM cars GROUP BY color ORDER BY color",
        "SELECT DISTINCT color FROM cars ORDER BY color",
        "SELECT * FROM cars ORDER BY year DESC, _id", "SELECT * FROM cars ORDER BY _id LIMIT 4",
        "SELECT * FROM cars ORDER BY _id LIMIT 4 OFFSET 3",
        "SELECT * FROM cars ORDER BY _id DESC LIMIT 3 OFFSET 11", "SELECT * FROM cars LIMIT 0",
        "SELECT * FROM cars ORDER BY mileage LIMIT 0", "SELECT * FROM nothing",
        "SELECT c._id AS car, o.name FROM cars c JOIN owners o ON o._id = c.owner ORDER BY car",
        "SELECT * FROM system:indexes", "EXPLAIN SELECT * FROM cars",
    ]

    private func run(_ text: String) throws -> QueryRun {
        store.queries.makeRun(try Parser.parse(text))
    }

    private func objects(_ rows: QueryRows) throws -> [Value] {
        let names = store.queries.snapshot().names
        var objects: [Value] = []
        for item in rows.items { objects.append(.object(try item.object(names))) }
        return objects
    }

    @Test(arguments: statements)
    func `all rows are passed on in their order, with their columns`(text: String) throws {
        let all = try run(text).rows()
        let expected = try objects(all)
        let box = Box()
        let columns = try run(text).forEachRow { (object) throws(StoreError) in
            box.rows.append(.object(object))
        }
        #expect(box.rows == expected)
        #expect(columns == all.columns)
    }

    @Test(arguments: statements, [1, 3, 100])
    func `a limit of a run ends it after its first rows`(text: String, limit: Int) throws {
        let all = try objects(try run(text).rows())
        let first = try objects(try run(text).rows(upTo: limit))
        let isSelect = text.hasPrefix("SELECT")
        #expect(first == (isSelect ? Array(all.prefix(limit)) : all))
        // The limit belongs to this run alone.
        let again = try objects(try run(text).rows())
        #expect(again == all)
    }

    @Test func `the error of a row ends the run`() throws {
        let box = Box()
        var reason: StoreError.Reason?
        do throws(StoreError) {
            let run = store.queries.makeRun(try Parser.parse("SELECT * FROM cars"))
            try run.forEachRow { (object) throws(StoreError) in
                box.rows.append(.object(object))
                if box.rows.count == 3 { throw StoreError(.failed, "enough") }
            }
        } catch {
            reason = error.reason
        }
        #expect(reason == .failed && box.rows.count == 3)
    }
}
