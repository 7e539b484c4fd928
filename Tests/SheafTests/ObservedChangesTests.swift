import Sheaf
import SheafBytes
import SheafDocument
import SheafQuery
import SheafStatements
import Testing

/// The changes that observers of a statement follow.
@Suite struct ObservedChangesTests {
    private typealias Handle = IncrementalViewDefinition.Handle

    private let store: CarFixtureStore

    init() throws {
        store = try CarFixtureStore()
        try store.fill(3)
    }

    private func run(_ text: String, _ arguments: [String: Value] = [:]) throws -> QueryRun {
        store.queries.makeRun(try Parser.parse(text), ArgumentValues(arguments))
    }

    private func definition(_ text: String) throws -> IncrementalViewDefinition {
        guard
            case .select(let found, let collection) =
                try run(text, ["c": "blue", "id": "c01"]).observedChanges()
        else { throw StoreError(.failed, "\(text) has no definition") }
        #expect(collection == "cars")
        return found
    }

    private static func document(_ id: Value) -> Handle { .document(SortKey.identity(of: id)) }

    private static func field(_ path: String..., is value: Value) -> Handle {
        .field(path, SortKey.identity(of: value))
    }

    @Test func `a view is found by a property that all of its documents share`() throws {
        let blue = Self.field("color", is: "blue")
        let handles: [(condition: String, handle: Handle)] = [
            ("true", .none), ("_id = 'c01'", Self.document("c01")),
            ("'c01' = _id", Self.document("c01")), ("cars._id = :id", Self.document("c01")),
            ("color = 'blue' AND _id = 5", Self.document(5)), ("color = 'blue'", blue),
            ("'blue' = color", blue), ("color = :c", blue), ("color = lower('BLUE')", blue),
            ("color = 'blue' AND year = 2001", blue), ("year > 5 AND color = 'blue'", blue),
            ("year = 2001 AND color = 'blue'", Self.field("year", is: 2001)),
            ("engine.fuel = 'gas'", Self.field("engine", "fuel", is: "gas")),
            ("color = owner", .none), ("color != 'blue'", .none), ("color >= 'blue'", .none),
            ("color = 'blue' OR year = 2001", .none), ("NOT color = 'blue'", .none),
            ("_id.part = 1", .none), ("lower(color) = 'blue'", .none),
        ]
        for (condition, handle) in handles {
            let found = try definition("SELECT * FROM cars WHERE \(condition)").handle
            #expect(found == handle, "\(condition)")
        }
    }

    /// The properties of a view.
    private struct Form: Equatable {
        var isIncremental = true
        var limit: Int?
        var columns: [String]?
        var isPlain = true
        var reportsEachChange = false
        var isDescending: [Bool] = []
    }

    @Test func `a view is incremental without groups, DISTINCT and OFFSET`() throws {
        let forms: [(text: String, form: Form)] = [
            ("SELECT * FROM cars", Form(reportsEachChange: true)),
            (
                "SELECT * FROM cars ORDER BY year",
                Form(reportsEachChange: true, isDescending: [false])
            ),
            (
                "SELECT * FROM cars ORDER BY year DESC, color LIMIT 2",
                Form(limit: 2, isDescending: [true, false])
            ),
            ("SELECT * FROM cars LIMIT 2 OFFSET 1", Form(isIncremental: false, limit: 2)),
            ("SELECT * FROM cars LIMIT 2 OFFSET 0", Form(limit: 2)),
            ("SELECT year, color FROM cars", Form(columns: ["year", "color"])),
            (
                "SELECT COUNT(*) AS n FROM cars",
                Form(isIncremental: false, columns: ["n"])
            ),
            (
                "SELECT color FROM cars GROUP BY color",
                Form(isIncremental: false, columns: ["color"])
            ),
            ("SELECT DISTINCT color FROM cars", Form(isIncremental: false, columns: ["color"])),
            ("SELECT * FROM COLLECTION cars (n COUNTER)", Form(isPlain: false)),
        ]
        for (text, form) in forms {
            let found = try definition(text)
            let own = Form(
                isIncremental: found.isIncremental, limit: found.limit, columns: found.columns,
                isPlain: found.isPlain, reportsEachChange: found.reportsEachChange,
                isDescending: found.isDescending)
            #expect(own == form, "\(text)")
        }
    }

    /// Returns the changes of a statement without a view, as text.
    private func text(_ changes: ObservedChanges) -> String {
        switch changes {
        case .select(_, let collection): "view of \(collection)"
        case .collections(let names, let isPlain):
            names.joined(separator: " ") + (isPlain ? "" : ", any change")
        case .system: "system"
        }
    }

    @Test func `other statements follow all changes of their collections`() throws {
        let join = "JOIN owners AS o ON o._id = c.owner"
        let statements: [(text: String, changes: String, all: String)] = [
            ("SELECT * FROM cars", "view of cars", "cars, any change"),
            ("SELECT * FROM cars AS c \(join)", "cars owners", "cars owners, any change"),
            ("SELECT * FROM cars USE IDS 'c01'", "cars", "cars, any change"),
            ("SELECT * FROM cars WHERE color > clock()", "cars", "cars, any change"),
            ("SELECT color || clock() AS n FROM cars", "cars", "cars, any change"),
            (
                "SELECT * FROM COLLECTION cars (n COUNTER) AS c \(join)",
                "cars owners, any change", "cars owners, any change"
            ),
            (
                "SELECT * FROM COLLECTION cars (n COUNTER) USE IDS 'c01'", "cars, any change",
                "cars, any change"
            ),
            ("SELECT * FROM system:indexes", "system", "system:indexes, any change"),
            (
                "SELECT * FROM cars AS c JOIN system:indexes AS o ON o._id = c.owner", "system",
                "cars system:indexes, any change"
            ),
        ]
        for (text, changes, all) in statements {
            let run = try run(text)
            let found = try run.observedChanges()
            #expect(self.text(found) == changes, "\(text)")
            #expect(self.text(run.allChanges) == all, "\(text)")
        }
        let deletion = try run("DELETE FROM cars")
        #expect(text(deletion.allChanges) == "system")
    }

    @Test func `only the result of a SELECT of the present can be observed`() throws {
        func error(_ text: String) throws -> StoreError? {
            let run = try run(text)
            do throws(StoreError) { _ = try run.observedChanges() } catch { return error }
            return nil
        }
        let deletion = try error("DELETE FROM cars")
        #expect(deletion?.reason == .meaning)
        #expect(deletion?.message == "only the result of a SELECT can be observed")
        #expect(deletion?.location?.column == 1 && deletion?.excerpt?.text == "DELETE FROM cars")
        let past = try error(
            "SELECT * FROM owners AS o JOIN cars AS OF COMMIT 1 AS c ON c._id = o.a")
        #expect(past?.reason == .meaning)
        #expect(
            past?.message
                == "a state AS OF an earlier commit never changes, so it cannot be observed")
        #expect(past?.hint == "run the statement once")
        // Errors of the statement are reported, and not only when it first runs.
        #expect(try error("SELECT a FROM cars AS c JOIN system:indexes AS i ON true") != nil)
        #expect(try error("SELECT * FROM cars WHERE nothing(1)") != nil)
    }

    @Test(arguments: [
        ("SELECT * FROM cars ORDER BY year", true), ("SELECT * FROM cars LIMIT 1", false),
        ("DELETE FROM cars ORDER BY year LIMIT 1", false),
    ])
    func `only a SELECT with ORDER BY orders its rows`(
        statement: (text: String, isOrdered: Bool)
    ) throws {
        #expect(try run(statement.text).ordersRows == statement.isOrdered)
    }
}
