import Sheaf
import SheafDocument
import SheafStatements
import SheafTestSupport
import Testing

/// Documents that a peer has received and that are not durable yet.
struct PendingDocumentTests {
    private static let statements: [DQL] = [
        "UPDATE cars SET seen = true WHERE color = 'red'",
        "UPDATE cars SET seen = true WHERE color IN ('red', 'pink') AND n >= 0",
        "UPDATE cars SET seen = true WHERE _id >= 'b'",
    ]

    /// Returns peers of which the second has an index, a red car, and all cars of the first.
    private func scene() throws -> DocumentScene {
        let scene = try DocumentScene(2)
        try scene.execute(1, "CREATE INDEX by_color ON cars (color)")
        try scene.execute(1, "INSERT INTO cars DOCUMENTS ({'_id': 'x', 'color': 'red', 'n': 0})")
        // The third insert uses only names that have numbers already.
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

    /// Returns the cars updated by a statement that runs before received documents are durable.
    private func seen(by statement: DQL, _ scene: DocumentScene) throws -> [String] {
        let device = scene.nodes[1]
        device.flushesLate = true
        try scene.run()
        let early = try scene.rows(1, "SELECT _id FROM cars WHERE color = 'red'")
        #expect(early == [#"{"_id":"x"}"#], "the received document is not durable")
        device.flushesLate = false
        try scene.execute(1, statement)
        try scene.run()
        return try scene.rows(1, "SELECT _id FROM cars WHERE seen = true ORDER BY _id")
    }

    @Test func `the next write sees received documents that are not durable yet`() throws {
        for statement in Self.statements {
            let scene = try scene()
            try insert("y", color: "red", scene)
            let found = try seen(by: statement, scene).suffix(2)
            #expect(found == [#"{"_id":"x"}"#, #"{"_id":"y"}"#], "\(statement.text)")
        }
    }

    @Test func `the next write sees received changes that are not durable yet`() throws {
        for statement in Self.statements {
            let scene = try scene()
            try scene.execute(0, "UPDATE cars SET color = 'red' WHERE _id = 'd'")
            let found = try seen(by: statement, scene).suffix(2)
            #expect(found == [#"{"_id":"d"}"#, #"{"_id":"x"}"#], "\(statement.text)")
        }
    }
}
