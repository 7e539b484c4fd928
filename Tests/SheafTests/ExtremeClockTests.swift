import Sheaf
import SheafDocument
import SheafReplication
import SheafStatements
import SheafStorage
import SheafTestSupport
import Testing

/// Statements, replication and tombstone collection with clocks at extreme times.
struct ExtremeClockTests {
    private static let times: [UInt64] = [
        0, 1, 999, 1 << 31, 18_446_744_073_709, 1 << 47, (1 << 48) - 2, (1 << 48) - 1, 1 << 48,
        1 << 53, UInt64(Int64.max), UInt64(Int64.max) + 1, .max - 1, .max,
    ]
    private let all: DQL = "SELECT * FROM cars ORDER BY _id"

    private func write(_ scene: DocumentScene, _ number: Int, _ id: String) throws {
        try scene.execute(
            number, "INSERT INTO cars DOCUMENTS (:car) ON ID CONFLICT DO UPDATE",
            ["car": ["_id": .string(id), "n": 1] as Value])
        try scene.execute(number, "UPDATE cars SET n = 2 WHERE _id = :id", ["id": id])
    }

    @Test(arguments: times)
    func `statements and replication work at extreme times of both clocks`(_ time: UInt64) throws {
        for other in Self.times {
            let scene = try DocumentScene(2)
            for number in 0..<2 { try scene.subscribe(number, ["SELECT * FROM cars"]) }
            scene.nodes[0].clock.setWall(milliseconds: time)
            scene.nodes[1].clock.setWall(milliseconds: other)
            try scene.connect(0, 1)
            for number in 0..<2 {
                try write(scene, number, "a\(number)")
                try write(scene, number, "gone\(number)")
                try scene.execute(
                    number, "DELETE FROM cars WHERE _id = :id", ["id": "gone\(number)"])
                _ = try scene.rows(
                    number, "SELECT date_trunc(clock(), 'year') AS y, clock() AS c FROM cars")
            }
            try scene.run()
            for number in 0..<2 {
                let volume = scene.nodes[number].volume.processDeath()
                scene.nodes[number].clock.setWall(milliseconds: number == 0 ? other : time)
                try scene.putBack(number, to: volume)
                try scene.subscribe(number, ["SELECT * FROM cars"])
                try? write(scene, number, "late\(number)")
            }
            try scene.connect(0, 1)
            try scene.run()
            scene.nodes.forEach { $0.clock.setWall(milliseconds: 1_780_000_000_000) }
            for number in 0..<2 {
                #expect(try scene.rows(number, all).count >= 1)
                _ = scene.nodes[number].replicator.deadline
            }
            // A document that is quarantined or refused because of its time closes no connection.
            #expect(scene.nodes.allSatisfy { $0.closeMessages.isEmpty }, "\(time), \(other)")
        }
    }

    @Test(arguments: times)
    func `a store opens, collects tombstones and closes at extreme times`(_ time: UInt64)
        async throws
    {
        let clock = FakeClock(wallMilliseconds: time)
        let directory = TemporaryDirectory()
        for next in Self.times {
            var options = StoreOptions()
            options.storage.clock = clock.clock
            let store = try await Store.open(at: directory.path("store"), options: options)
            _ = try? await store.execute(
                "INSERT INTO cars DOCUMENTS ({'_id': 'a'}) ON ID CONFLICT DO UPDATE")
            try await store.execute("DELETE FROM cars WHERE _id = 'b'")
            _ = try await store.collectTombstones()
            #expect(try await store.execute("SELECT * FROM cars").items.count == 1)
            clock.setWall(milliseconds: next)
            _ = try await store.collectTombstones()
            try await store.close()
        }
    }
}
