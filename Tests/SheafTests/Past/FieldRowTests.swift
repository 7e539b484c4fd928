import SheafDocument
import SheafStatements
import SheafStorage
import SheafTestSupport
import Testing

/// The rows of `system:fields`.
@Suite struct FieldRowTests {
    private func insert(_ objects: [Value], into name: String, _ scene: PastScene) throws {
        try scene.commit("INSERT INTO \(name) DOCUMENTS (:all)", ["all": .array(objects)])
    }

    private func count(_ field: String, of name: String, _ scene: PastScene) throws -> Value? {
        let rows = try scene.rows(
            "SELECT * FROM system:fields WHERE collection = :name AND field = :field",
            ["name": .string(name), "field": .string(field)])
        guard case .object(let row)? = rows.first else { return nil }
        return row["count"]
    }

    @Test func `fields have their types and numbers of documents`() throws {
        let scene = try PastScene()
        try insert(
            [
                ["_id": 1, "a": 1, "o": ["p": "x", "q q": true]], ["_id": 2, "a": "text"],
                ["_id": 3, "a": 2.5, "o": ["p": .null]], ["_id": 4, "gone": 1],
            ], into: "cars", scene)
        try insert([["_id": 1, "a": [1]]], into: "vans", scene)
        try scene.commit("DELETE FROM cars WHERE _id = 4")
        try scene.commit("UPDATE cars SET late = 1 WHERE _id = 1")
        let rows = try scene.rows(
            "SELECT collection AS c, field AS f, count AS n, sampled AS s FROM system:fields "
                + "ORDER BY c, f")
        let expected: [(String, String, Int64, Int64)] = [
            ("cars", "a", 3, 3), ("cars", "late", 1, 3), ("cars", "o", 2, 3),
            ("cars", "o.`q q`", 1, 3), ("cars", "o.p", 2, 3), ("vans", "a", 1, 1),
        ]
        let wanted = expected.map { name, field, count, sampled -> Value in
            [
                "c": .string(name), "f": .string(field), "n": .integer(count),
                "s": .integer(sampled),
            ]
        }
        #expect(rows == wanted)
        let types = try scene.rows(
            "SELECT types FROM system:fields WHERE collection = 'cars' AND field = 'a'")
        guard case .object(let row)? = types.first, case .object(let found)? = row["types"] else {
            Issue.record("no types")
            return
        }
        #expect(found.map(\.value) == [1, 1, 1])
        #expect(Set(found.map(\.name)).isSuperset(of: ["string"]), "\(found)")
        #expect(try scene.rows("SELECT * FROM system:fields WHERE collection = 'none'") == [])
        #expect(
            try scene.rows(
                "SELECT DISTINCT collection FROM system:fields WHERE 'vans' = collection")
                == [["collection": "vans"]])
    }

    @Test(arguments: [999, 1_000, 1_001, 1_500, 1_999, 2_500])
    func `at most a thousand documents are read, evenly distributed`(count: Int) throws {
        let scene = try PastScene()
        let objects = (0..<count).map { number -> Value in
            ["_id": .integer(Int64(number)), "t\(number * 10 / count)": true]
        }
        try insert(objects, into: "cars", scene)
        let rows = try scene.rows("SELECT field, count, sampled FROM system:fields ORDER BY field")
        #expect(rows.count == 10)
        let sampled = min(count, 1_000)
        for case .object(let row) in rows {
            #expect(row["sampled"] == .integer(Int64(sampled)))
            guard case .integer(let found)? = row["count"] else { continue }
            #expect(abs(Int(found) - sampled / 10) <= 1, "\(row)")
        }
    }

    @Test func `at most 500 fields of a collection are listed`() throws {
        let scene = try PastScene()
        for (name, count) in [("many", 600), ("few", 500)] {
            var object: Object = ["_id": 1]
            for number in 0..<count { object["f\(number)"] = 1 }
            try insert([.object(object)], into: name, scene)
            let rows = try scene.rows("SELECT * FROM system:fields WHERE collection = '\(name)'")
            #expect(rows.count == 500)
        }
    }

    @Test func `fields of embedded objects are listed up to a path of four names`() throws {
        let scene = try PastScene()
        try insert([["_id": 1, "a": ["b": ["c": ["d": ["e": ["f": 1]]]]]]], into: "cars", scene)
        let rows = try scene.rows("SELECT field FROM system:fields ORDER BY field")
        #expect(rows == ["a", "a.b", "a.b.c", "a.b.c.d"].map { ["field": .string($0)] })
        #expect(try count("a.b.c.d", of: "cars", scene) == 1)
    }
}
