import Sheaf
import SheafReplication
import SheafStatements
import Testing

/// Commits that peers send one by one.
struct SeparateCommitTests {
    /// Returns the number of commits in which a peer writes what other statements have written.
    private func commits(_ statements: [DQL]) throws -> UInt64 {
        let scene = try DocumentScene(2)
        try scene.subscribe(1, ["SELECT * FROM cars"])
        try scene.execute(0, "INSERT INTO cars DOCUMENTS ({'_id': 'a'}), ({'_id': 'b'})")
        try scene.connect(0, 1)
        try scene.run()
        try scene.advance(milliseconds: 1_000)
        #expect(try scene.rows(1, "SELECT * FROM cars").count == 2)
        let before = scene.nodes[1].newestCommit
        // They are sent together, because the replicator is notified of all of them together.
        for statement in statements { try scene.nodes[0].store.execute(statement) }
        try scene.published(0)
        try scene.run()
        #expect(try scene.rows(1, "SELECT * FROM cars").count == 4)
        return scene.nodes[1].newestCommit - before
    }

    @Test func `an eviction does not merge the commits after it into one`() throws {
        let insertions: [DQL] = [
            "INSERT INTO cars DOCUMENTS ({'_id': 'c'})",
            "INSERT INTO cars DOCUMENTS ({'_id': 'd'})",
        ]
        let separate = try commits(insertions)
        #expect(separate >= 2)
        #expect(try commits(["EVICT FROM cars WHERE _id = 'a'"] + insertions) == separate)
    }
}
