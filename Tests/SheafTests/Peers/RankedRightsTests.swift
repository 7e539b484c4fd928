import Sheaf
import SheafDocument
import SheafStatements
import Testing

/// Subscriptions with ORDER BY and LIMIT of peers that may read a part of the documents.
struct RankedRightsTests {
    /// Returns two peers; the right one may read only red cars, and has the subscription `query`.
    private func scene(_ query: String, hidden: [String] = []) throws -> FileScene {
        let scene = try FileScene(2)
        for number in 0..<4 {
            try scene.execute(
                0, "INSERT INTO cars DOCUMENTS (:car)",
                [
                    "car": [
                        "_id": .string("r\(number)"), "color": "red", "n": .integer(Int64(number)),
                    ] as Value
                ])
        }
        for number in 0..<6 {
            try scene.execute(
                0, "INSERT INTO cars DOCUMENTS (:car)",
                [
                    "car": [
                        "_id": .string("b\(number)"), "color": "blue", "pin": 4711,
                        "n": .integer(Int64(number - 10)),
                    ] as Value
                ])
        }
        try scene.subscribe(1, [query])
        try scene.connect(
            0, 1, rightsOfRight: PeerRights(read: ["cars": "color = 'red'"], write: [:]))
        try scene.run()
        return scene
    }

    private func ids(_ scene: FileScene) throws -> [String] {
        try scene.nodes[1].rows("SELECT _id FROM cars ORDER BY _id").map {
            String($0.dropFirst(8).dropLast(2))
        }
    }

    @Test func `hidden documents do not count toward the LIMIT of a query`() throws {
        let scene = try scene("SELECT * FROM cars ORDER BY n LIMIT 2")
        let found = try ids(scene)
        #expect(found == ["r0", "r1"])
    }

    @Test(arguments: [4_710, 4_711, 4_712])
    func `a readable document is sent whatever a hidden document contains`(_ bound: Int) throws {
        let scene = try scene(
            "SELECT * FROM cars WHERE _id = 'r1' OR (_id = 'b1' AND pin > \(bound)) "
                + "ORDER BY _id LIMIT 1")
        let found = try ids(scene)
        #expect(found == ["r1"])
    }

    @Test func `a document that becomes hidden makes room for the next readable one`() throws {
        let scene = try scene("SELECT * FROM cars ORDER BY n LIMIT 2")
        try scene.execute(0, "UPDATE cars SET color = 'blue' WHERE _id = 'r0'")
        try scene.run()
        var found = try ids(scene)
        #expect(found == ["r0", "r1", "r2"])
        // The peer keeps its state of the document, and receives no changes of it.
        try scene.execute(0, "UPDATE cars SET n = 99 WHERE _id = 'r0'")
        try scene.run()
        let rows = try scene.nodes[1].rows("SELECT n, color FROM cars WHERE _id = 'r0'")
        #expect(rows == [#"{"color":"red","n":0}"#])
        // When the documents become readable, their new values decide their ranks.
        try scene.execute(0, "UPDATE cars SET color = 'red', n = 1 WHERE _id = 'r0'")
        try scene.execute(0, "UPDATE cars SET color = 'red', n = -5 WHERE _id = 'b3'")
        try scene.run()
        found = try ids(scene)
        #expect(found == ["b3", "r0", "r1", "r2"])
        let again = try scene.nodes[1].rows("SELECT n, color FROM cars WHERE _id = 'r0'")
        #expect(again == [#"{"color":"red","n":1}"#])
    }

    @Test func `a document that changed after it left the result makes room for the next one`()
        throws
    {
        let scene = try scene("SELECT * FROM cars ORDER BY n LIMIT 2")
        try scene.execute(0, "UPDATE cars SET n = -1 WHERE _id = 'r2'")
        try scene.run()
        var found = try ids(scene)
        #expect(found == ["r0", "r1", "r2"])
        // It is not in the result, so the peer keeps its former state.
        try scene.execute(0, "UPDATE cars SET n = 9 WHERE _id = 'r1'")
        try scene.run()
        let rows = try scene.nodes[1].rows("SELECT n FROM cars WHERE _id = 'r1'")
        #expect(rows == [#"{"n":1}"#])
        // By that state it would be in the result of the peer again.
        try scene.execute(0, "UPDATE cars SET n = 50 WHERE _id = 'r2'")
        try scene.run()
        // Rate-limited subscriptions are answered after a delay.
        for _ in 0..<3 { try scene.advance(seconds: 5) }
        let result = try scene.nodes[1].rows("SELECT _id, n FROM cars ORDER BY n, _id LIMIT 2")
        #expect(result == [#"{"_id":"r0","n":0}"#, #"{"_id":"r3","n":3}"#])
        found = try ids(scene)
        #expect(found == ["r0", "r1", "r2", "r3"])
    }

    @Test func `a reconciliation for a new limit omits hidden documents`() throws {
        let scene = try scene("SELECT * FROM cars ORDER BY n LIMIT 2")
        try scene.subscribe(1, ["SELECT * FROM cars ORDER BY n LIMIT 3"])
        try scene.run()
        var found = try ids(scene)
        #expect(found == ["r0", "r1", "r2"])
        try scene.subscribe(1, ["SELECT * FROM cars ORDER BY n DESC LIMIT 1"])
        try scene.run()
        found = try ids(scene)
        #expect(found == ["r0", "r1", "r2", "r3"])
    }

    @Test func `a server ranks only documents that the peer may read`() throws {
        let scene = try FileScene(2)
        for number in 0..<3 {
            try scene.execute(
                0, "INSERT INTO cars DOCUMENTS (:car)",
                [
                    "car": [
                        "_id": .string("b\(number)"), "color": "blue", "n": .integer(Int64(number)),
                    ] as Value
                ])
            try scene.execute(
                1, "INSERT INTO cars DOCUMENTS (:car)",
                [
                    "car": [
                        "_id": .string("r\(number)"), "color": "red",
                        "n": .integer(Int64(number + 10)),
                    ] as Value
                ])
        }
        try scene.subscribe(0, ["SELECT * FROM cars ORDER BY n LIMIT 3"])
        try scene.connect(
            0, 1,
            rightsOfRight: PeerRights(
                read: ["cars": "color = 'red'"], write: ["cars": "color = 'red'"]))
        try scene.run()
        let found = try scene.nodes[0].rows("SELECT _id FROM cars WHERE color = 'red'")
        #expect(found.count == 3)
    }
}
