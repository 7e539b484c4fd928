import Sheaf
import SheafStatements
import SheafTestSupport
import Testing

/// Documents that are evicted, and written again before the replicator processes the eviction.
@Suite struct EvictionRaceTests {
    private let cars = "SELECT * FROM cars"
    private let all: DQL = "SELECT * FROM cars ORDER BY _id"

    private func settle(_ scene: DocumentScene) throws {
        for _ in 0..<8 { try scene.advance(milliseconds: 1_000) }
    }

    @Test func `an older state that arrives before an eviction is processed does not lose writes`()
        throws
    {
        let scene = try DocumentScene(3)
        for number in 0...2 { try scene.subscribe(number, [cars]) }
        let early = try scene.connect(0, 2)
        try scene.execute(0, "INSERT INTO cars DOCUMENTS ({'_id': 'a', 'n': 1})")
        try scene.run()
        try scene.disconnect(early)
        try scene.subscribe(2, [])
        try scene.connect(0, 1)
        try scene.run()
        try scene.execute(0, "UPDATE cars SET notes = 'late' WHERE _id = 'a'")
        try scene.run()
        // The batch is written after the eviction, which the replicator has not processed.
        scene.nodes[1].isBusy = true
        try scene.connect(1, 2)
        try scene.run()
        try scene.nodes[1].store.execute("EVICT FROM cars")
        scene.nodes[1].isBusy = false
        try scene.run()
        try settle(scene)
        #expect(try scene.rows(1, all) == scene.rows(0, all))
    }

    @Test func `a received document that is evicted and inserted again is merged`() throws {
        let scene = try DocumentScene(2)
        for number in 0...1 { try scene.subscribe(number, [cars]) }
        try scene.connect(0, 1)
        try scene.execute(0, "INSERT INTO cars DOCUMENTS ({'_id': 'a', 'n': 1, 'notes': 'late'})")
        try scene.run()
        try scene.nodes[1].store.execute("EVICT FROM cars")
        try scene.execute(1, "INSERT INTO cars DOCUMENTS ({'_id': 'a', 'n': 2})")
        try settle(scene)
        #expect(try scene.rows(1, all) == scene.rows(0, all))
    }

    @Test func `a local document that is evicted and inserted again is merged`() throws {
        let scene = try DocumentScene(2)
        for number in 0...1 { try scene.subscribe(number, [cars]) }
        try scene.connect(0, 1)
        try scene.execute(1, "INSERT INTO cars DOCUMENTS ({'_id': 'a', 'n': 1, 'notes': 'late'})")
        try scene.run()
        try scene.nodes[1].store.execute("EVICT FROM cars")
        try scene.execute(1, "INSERT INTO cars DOCUMENTS ({'_id': 'a', 'n': 2})")
        try settle(scene)
        #expect(try scene.rows(1, all) == scene.rows(0, all))
    }
}
