import Sheaf
import SheafTestSupport
import Testing

/// Documents that came from a peer and are not durable yet.
struct PendingDocumentTests {
    private static let statements: [Query] = [
        "UPDATE cars SET seen = true WHERE color = 'red'",
        "UPDATE cars SET seen = true WHERE color IN ('red', 'pink') AND n >= 0",
        "UPDATE cars SET seen = true WHERE _id >= 'b'",
    ]

    /// Peers of which the second one has an index, a red car, and all that the first one has.
    private func scene() throws -> DocumentScene {
        let scene = try DocumentScene(2)
        try scene.execute(1, "CREATE INDEX by_color ON cars (color)")
        try scene.execute(1, "INSERT INTO cars DOCUMENTS ({'_id': 'x', 'color': 'red', 'n': 0})")
        // By the third one all names have numbers.
        for id in ["b", "c", "d"] { try insert(id, color: "blue", scene) }
        try scene.subscribe(1, ["SELECT * FROM cars"])
        try scene.connect(0, 1)
        try scene.run()
        return scene
    }

    private func insert(_ id: String, color: String, _ scene: DocumentScene) throws {
        try scene.execute(
            0, "INSERT INTO cars DOCUMENTS (:car)",
            ["car": ["_id": .string(id), "color": .string(color), "n": 1] as Value])
    }

    /// Which cars a statement has seen that ran before what came was durable.
    private func seen(by statement: Query, _ scene: DocumentScene) throws -> [String] {
        let device = scene.nodes[1]
        device.flushesLate = true
        try scene.run()
        let early = try scene.rows(1, "SELECT _id FROM cars WHERE color = 'red'")
        #expect(early == [#"{"_id":"x"}"#], "it is not durable yet")
        device.flushesLate = false
        try scene.execute(1, statement)
        try scene.run()
        return try scene.rows(1, "SELECT _id FROM cars WHERE seen = true ORDER BY _id")
    }

    @Test func `new ones count for the plans of whoever writes next`() throws {
        for statement in Self.statements {
            let scene = try scene()
            try insert("y", color: "red", scene)
            let found = try seen(by: statement, scene).suffix(2)
            #expect(found == [#"{"_id":"x"}"#, #"{"_id":"y"}"#], "\(statement.text)")
        }
    }

    @Test func `changed ones count for the plans of whoever writes next`() throws {
        for statement in Self.statements {
            let scene = try scene()
            try scene.execute(0, "UPDATE cars SET color = 'red' WHERE _id = 'd'")
            let found = try seen(by: statement, scene).suffix(2)
            #expect(found == [#"{"_id":"d"}"#, #"{"_id":"x"}"#], "\(statement.text)")
        }
    }
}
