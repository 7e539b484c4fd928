import SheafDocument
import SheafStatements
import Testing

/// Fields that peers write without knowing each other.
@Suite struct ConflictTests {
    private static let conflicts: DQL = "SELECT * FROM system:conflicts"

    private func objects(
        _ scene: DocumentScene, _ number: Int, _ query: DQL
    ) throws -> [Object] {
        try scene.rows(number, query).compactMap { row in
            guard case .object(let object) = try Value(json: row) else { return nil }
            return object
        }
    }

    @Test func `concurrent values are listed until a statement chooses one`() throws {
        let scene = try DocumentScene(2)
        for number in 0..<2 { try scene.subscribe(number, ["SELECT * FROM cars"]) }
        try scene.execute(
            0, "INSERT INTO cars DOCUMENTS ({'_id': 'a', 'color': 'red', 'o': {'n': 1}})")
        try scene.connectAndRun(0, 1)
        #expect(try scene.rows(0, Self.conflicts).isEmpty)
        for number in 0..<2 { try scene.disconnectAll(of: number) }
        try scene.write(0, "a", "other")
        try scene.execute(0, "UPDATE cars SET color = 'blue', o.n = 2")
        try scene.advance(milliseconds: 5)
        try scene.execute(1, "UPDATE cars SET color = 'green', o.n = 3, mine = 1")
        #expect(try scene.rows(1, Self.conflicts).isEmpty)
        try scene.connectAndRun(0, 1)
        for number in 0..<2 {
            let rows = try objects(scene, number, Self.conflicts)
            #expect(rows.map { $0["field"] } == ["color", "o.n"])
            #expect(rows.allSatisfy { $0["document"] == "a" && $0["collection"] == "cars" })
            guard case .array(let values)? = rows.first?["values"] else {
                Issue.record("a conflict has no values")
                return
            }
            let candidates = values.compactMap { value -> Object? in
                if case .object(let object) = value { object } else { nil }
            }
            #expect(candidates.map { $0["value"] } == ["green", "blue"])
            #expect(candidates.map { $0["isShown"] } == [true, false])
            #expect(Set(candidates.map { $0["site"] }).count == 2)
        }
        let before = try objects(scene, 1, "SELECT COUNT(*) AS n FROM system:log")
        try scene.execute(1, "UPDATE cars SET color = 'blue' WHERE _id = 'a'")
        #expect(try objects(scene, 1, "SELECT COUNT(*) AS n FROM system:log") != before)
        try scene.run()
        for number in 0..<2 {
            let fields = try objects(scene, number, Self.conflicts).map { $0["field"] }
            #expect(fields == ["o.n"], "peer \(number)")
        }
        let wanted = try objects(
            scene, 0, "SELECT * FROM system:conflicts WHERE collection = 'cars' AND document = 'a'")
        #expect(wanted.count == 1)
        for (name, id) in [("cars", "b"), ("vans", "a")] {
            let others = try objects(
                scene, 0,
                "SELECT * FROM system:conflicts WHERE collection = \(name) AND document = \(id)")
            #expect(others.isEmpty)
        }
        try scene.execute(0, "DELETE FROM cars WHERE _id = 'a'")
        try scene.run()
        for number in 0..<2 { #expect(try objects(scene, number, Self.conflicts).isEmpty) }
    }
}
