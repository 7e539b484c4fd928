import Sheaf
import SheafDocument
import SheafEngine
import SheafQuery
import SheafStatements
import SheafStorage
import SheafTestSupport
import Testing

/// Statements on a store, from text to rows.
@Suite struct QueryEngineTests {
    private let store: StoreEngine
    private let queries: QueryEngine

    init() throws {
        var options = LogStoreOptions()
        options.clock = FakeClock().clock
        store = try StoreEngine(opening: SimulatedVolume(seed: 1), options: options)
        queries = QueryEngine(try DocumentEngine(store))
    }

    @discardableResult
    private func execute(
        _ text: String, _ arguments: [String: Value] = [:]
    ) throws -> ResultStorage {
        let store = store
        let (statement, values) = try queries.prepare(
            DQL(verbatim: text), QueryArguments(arguments))
        return try queries.execute(
            statement, values,
            CommitSink(
                append: { batch throws(StorageError) in try store.append(batch) },
                flush: { () throws(StorageError) in while try store.flush() {} }))
    }

    private func rows(_ text: String, _ arguments: [String: Value] = [:]) throws -> [Value] {
        let outcome = try execute(text, arguments)
        return try outcome.items.map { .object(try $0.object(outcome.names)) }
    }

    private func fill() throws {
        try execute(
            """
            INSERT INTO cars DOCUMENTS
            ({'_id': 'a', 'color': 'blue', 'mileage': 3000}),
            ({'_id': 'b', 'color': 'red', 'mileage': 10, 'features': {'trim': 'Standard'}}),
            ({'_id': 'c', 'color': 'blue', 'mileage': 9000})
            """)
    }

    @Test func `documents are found, sorted, counted and grouped`() throws {
        try fill()
        try store.flush()
        #expect(
            try rows("SELECT _id FROM cars WHERE color = 'blue' ORDER BY mileage DESC")
                == [["_id": "c"], ["_id": "a"]])
        #expect(
            try rows("SELECT * FROM cars WHERE _id = :id", ["id": "b"])
                == [
                    [
                        "_id": "b", "color": "red", "mileage": 10,
                        "features": ["trim": "Standard"],
                    ]
                ])
        #expect(
            try rows(
                "SELECT color, COUNT(*) AS n, SUM(mileage) AS m FROM cars GROUP BY color "
                    + "ORDER BY color")
                == [
                    ["color": "blue", "n": 2, "m": 12_000], ["color": "red", "n": 1, "m": 10],
                ])
        #expect(try rows("SELECT COUNT(*) FROM cars WHERE mileage > 100") == [["($1)": 2]])
    }

    @Test func `a statement sees all earlier changes, durable or not`() throws {
        try fill()
        let update = try execute("UPDATE cars SET mileage = mileage + 1 WHERE color = 'blue'")
        #expect(update.mutatedIDs == ["a", "c"])
        try execute("DELETE FROM cars WHERE mileage = 9001")
        try execute("UPDATE COLLECTION cars APPLY drives INCREMENT BY 5 WHERE _id = 'a'")
        try store.flush()
        #expect(
            try rows("SELECT _id, mileage, drives FROM cars ORDER BY _id")
                == [["_id": "a", "mileage": 3_001, "drives": 5], ["_id": "b", "mileage": 10]])
    }

    @Test func `statements that use an index return the matching rows`() throws {
        try fill()
        try execute("CREATE INDEX by_color ON cars (color, mileage DESC)")
        try store.flush()
        #expect(
            try rows("SELECT _id FROM cars WHERE color = 'blue' ORDER BY mileage DESC")
                == [["_id": "c"], ["_id": "a"]])
        #expect(
            try rows("SELECT COUNT(*) AS n FROM cars WHERE color IN ('blue', 'red')")
                == [["n": 3]])
        #expect(try rows("SELECT mileage FROM cars WHERE color = 'red'") == [["mileage": 10]])
        try execute("UPDATE cars SET color = 'green' WHERE _id = 'a' RETURNING color")
        try store.flush()
        #expect(
            try rows("SELECT _id FROM cars WHERE color = 'green' OR color = 'red' ORDER BY _id")
                == [["_id": "a"], ["_id": "b"]])
        try execute("DROP INDEX by_color ON cars")
    }

    @Test func `a large scan in the order of the log returns each document once`() throws {
        // With this many documents in random id order, record pointers are sorted.
        let count = 5_000
        var random = SeededRandom(seed: 4_096, "large scans")
        var values: [Int64: Int64] = [:]
        while values.count < count { values[Int64(random.below(1_000_000))] = 0 }
        let filler = Value.string(String(repeating: "x", count: 1_200))
        for (number, id) in values.keys.sorted().shuffled(using: &random).enumerated() {
            // Updates of large documents write delta records.
            let large: Object = number % 100 == 0 ? ["filler": filler] : [:]
            let object = Object([("n", .integer(0)), ("large", .object(large))])
            let change = DocumentChange("many", .integer(id), .insert(object))
            _ = try queries.documents.commit([change]) { batch throws(StorageError) in
                try store.append(batch)
            }
            if number % 500 == 0 { try store.flush() }
        }
        try store.flush()
        for id in values.keys.sorted() where random.chance(1, in: 10) {
            let isGone = random.chance(1, in: 3)
            try execute(
                isGone
                    ? "DELETE FROM many WHERE _id = :id"
                    : "UPDATE many SET n = :id WHERE _id = :id",
                ["id": .integer(id)])
            values[id] = isGone ? nil : id
        }
        try store.flush()
        let found = try rows("SELECT _id, n FROM many").map { row -> [Value?] in
            [row["_id"], row["n"]]
        }
        #expect(found.count == values.count)
        #expect(
            Set(found) == Set(values.map { [.integer($0.key), .integer($0.value)] as [Value?] }))
        let total = values.values.reduce(0, +)
        #expect(
            try rows("SELECT COUNT(*) AS c, SUM(n) AS s FROM many")
                == [["c": .integer(Int64(values.count)), "s": .integer(total)]])
        let greatest = values.values.sorted(by: >).prefix(3).map {
            Value.object(["n": .integer($0)])
        }
        #expect(try rows("SELECT n FROM many ORDER BY n DESC LIMIT 3") == greatest)
    }

    @Test func `rows of two collections are joined`() throws {
        try fill()
        try execute(
            "INSERT INTO owners DOCUMENTS ({'_id': 1, 'name': 'Ann', 'car': 'a'}), "
                + "({'_id': 2, 'name': 'Bob', 'car': 'x'})")
        try store.flush()
        #expect(
            try rows(
                "SELECT o.name, c.color FROM owners AS o JOIN cars AS c ON c._id = o.car")
                == [["name": "Ann", "color": "blue"]])
        #expect(
            try rows(
                "SELECT o.name, c.color FROM owners o LEFT JOIN cars c ON c._id = o.car "
                    + "ORDER BY o.name") == [["name": "Ann", "color": "blue"], ["name": "Bob"]])
    }
}
