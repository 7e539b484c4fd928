import SheafDocument
import SheafEngine
import SheafStatements
import Testing

/// The history of changes that peers sent.
@Suite struct HistoryPeerTests {
    private func objects(
        _ scene: DocumentScene, _ number: Int, _ query: DQL
    ) throws -> [Object] {
        try scene.rows(number, query).compactMap { row in
            guard case .object(let object) = try Value(json: row) else { return nil }
            return object
        }
    }

    @Test func `a forwarded change has the site that wrote it, and is not local`() throws {
        let scene = try DocumentScene(3)
        for number in 1..<3 { try scene.subscribe(number, ["SELECT * FROM cars"]) }
        try scene.execute(0, "INSERT INTO cars DOCUMENTS ({'_id': 'a', 'color': 'red'})")
        try scene.execute(0, "UPDATE cars SET color = 'blue', o.n = 2")
        try scene.connectAndRun(0, 1)
        try scene.disconnectAll(of: 0)
        try scene.advance(milliseconds: 50)
        try scene.connectAndRun(1, 2)
        try scene.execute(2, "UPDATE cars SET color = 'green'")
        let sites = scene.nodes.map { Value.string($0.store.queries.documents.site.text) }
        #expect(Set(sites).count == 3)
        let history: DQL = "SELECT * FROM system:history WHERE collection = 'cars'"
        for number in 0..<2 {
            for row in try objects(scene, number, history) {
                #expect(row["site"] == sites[0] && row["isLocal"] == .bool(number == 0))
            }
        }
        let rows = try objects(scene, 2, history)
        #expect(rows.map { $0["action"] } == ["insert", "update"])
        #expect(rows.map { $0["site"] } == [sites[0], sites[2]])
        #expect(rows.map { $0["isLocal"] } == [false, true])
        // The time of the write is that of its store, the time of the commit that of this one.
        let written = try objects(scene, 0, history).last?["writtenAt"]
        #expect(rows[0]["writtenAt"] == written && rows[0]["time"] != written)
        let log = try objects(
            scene, 2, "SELECT * FROM system:log WHERE documents > 0 ORDER BY commit")
        #expect(log.map { $0["isLocal"] } == [false, true])
        #expect(log.map { $0["site"] } == [sites[1], sites[2]])
    }

    @Test func `an earlier state is that of the commits of this store`() throws {
        let scene = try DocumentScene(2)
        try scene.subscribe(1, ["SELECT * FROM cars"])
        for n in 0..<5 {
            try scene.execute(
                0, "INSERT INTO cars DOCUMENTS ({'_id': 'a', 'n': \(n)}) ON ID CONFLICT DO UPDATE")
        }
        try scene.execute(1, "INSERT INTO cars DOCUMENTS ({'_id': 'b', 'n': 9})")
        let before = scene.nodes[1].newestCommit
        try scene.connectAndRun(0, 1)
        let after = scene.nodes[1].newestCommit
        #expect(after > before)
        func ids(_ commit: UInt64) throws -> [Value?] {
            let text = "SELECT * FROM cars AS OF COMMIT \(commit) ORDER BY _id"
            return try objects(scene, 1, DQL(verbatim: text)).map { $0["_id"] }
        }
        #expect(try ids(before) == ["b"])
        #expect(try ids(after) == ["a", "b"])
        #expect(
            try scene.rows(1, DQL(verbatim: "SELECT n FROM cars AS OF COMMIT \(after)")).sorted()
                == [#"{"n":4}"#, #"{"n":9}"#])
    }
}
