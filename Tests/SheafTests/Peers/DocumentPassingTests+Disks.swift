import Sheaf
import SheafDocument
import SheafEngine
import SheafStatements
import SheafSync
import SheafTestSupport
import Testing

/// Documents between peers after a store went back to an older state of its disk.
extension DocumentTransferTests {
    /// Uses commit IDs again that the other side has already acknowledged.
    @Test func `writes made after a restore are sent`() throws {
        let scene = try DocumentScene(2)
        try scene.subscribe(1, [cars])
        try scene.connect(0, 1)
        let backup = scene.nodes[0].volume.copy(identity: 9)
        for id in ["a", "b"] {
            try scene.execute(
                0, "INSERT INTO cars DOCUMENTS (:car)", ["car": ["_id": .string(id)] as Value])
        }
        try scene.run()
        let acknowledged = scene.nodes[0].newestCommit
        #expect(scene.nodes[0].synced(with: scene.nodes[1]) == acknowledged)
        try scene.putBack(0, to: backup)
        for id in ["c", "d", "e"] {
            try scene.execute(
                0, "INSERT INTO cars DOCUMENTS (:car)", ["car": ["_id": .string(id)] as Value])
        }
        #expect(scene.nodes[0].newestCommit > acknowledged)
        try scene.connect(0, 1)
        try scene.run()
        let rows = try scene.rows(1, all)
        #expect(rows == ["a", "b", "c", "d", "e"].map { #"{"_id":"\#($0)"}"# })
    }
}

/// File system snapshots that replace the newest state, undetectable from the files.
extension DocumentTransferTests {
    private func insert(_ scene: DocumentScene, _ id: String, _ field: String) throws {
        try scene.execute(
            0, "INSERT INTO cars DOCUMENTS (:car) ON ID CONFLICT DO UPDATE",
            ["car": ["_id": .string(id), field: 1] as Value])
    }

    @Test func `a store that learns of its lost writes draws another site`() throws {
        let scene = try DocumentScene(3)
        for number in 0..<3 { try scene.subscribe(number, [cars]) }
        try insert(scene, "a", "first")
        try scene.connect(0, 1)
        try scene.run()
        let backup = scene.nodes[0].volume.processDeath()
        // The log records to the millisecond when it was last written.
        try scene.advance(milliseconds: 1)
        try insert(scene, "a", "lost")
        try insert(scene, "b", "lost")
        try scene.run()
        let site = scene.nodes[0].store.queries.documents.site
        try scene.putBack(0, to: backup.rolledBack(seed: 7))
        try scene.subscribe(0, [cars])
        try scene.advance(milliseconds: 1)
        try insert(scene, "a", "new")
        try insert(scene, "b", "new")
        #expect(scene.nodes[0].store.queries.documents.site == site)
        // The first message reveals the lost writes; the relay knows of them in no other way.
        try scene.connect(1, 2)
        try scene.run()
        try scene.subscribe(2, [])
        try scene.connect(2, 0)
        try scene.run()
        #expect(scene.nodes[0].store.queries.documents.site != site)
        try scene.subscribe(2, [cars])
        try scene.run()
        let rows = try scene.rows(0, all)
        #expect(
            rows == [
                #"{"_id":"a","first":1,"lost":1,"new":1}"#, #"{"_id":"b","lost":1,"new":1}"#,
            ])
        #expect(try scene.rows(1, all) == rows)
        #expect(try scene.rows(2, all) == rows)
    }

    @Test func `two peers with one key connect alternately, and all documents arrive`() throws {
        let scene = try DocumentScene(3, keyOfSecond: 0)
        for number in 0..<3 { try scene.subscribe(number, [cars]) }
        try insert(scene, "a", "first")
        try scene.execute(1, "INSERT INTO cars DOCUMENTS ({'_id': 'b'})")
        var wires = [UInt64](repeating: 0, count: 2)
        var ended = 0
        for round in 0..<40 {
            if round == 20 {
                for number in 0..<2 {
                    try scene.execute(
                        number, "INSERT INTO cars DOCUMENTS (:car)",
                        ["car": ["_id": .string("late\(number)")] as Value])
                }
            }
            // Each peer reconnects as soon as its connection has ended.
            for number in 0..<2 where !scene.isConnected(wires[number]) {
                wires[number] = try scene.connect(number, 2)
                ended += 1
                try scene.run(steps: 6)
            }
            try scene.advance(milliseconds: 500)
        }
        let rows = try scene.rows(2, all)
        #expect(rows.count == 4)
        #expect(try scene.rows(0, all) == rows)
        #expect(try scene.rows(1, all) == rows)
        let reasons = Set(scene.nodes[2].closeMessages.map(\.text))
        #expect(reasons.contains("another peer with the same key is connected"))
        print("\(ended) connections")
    }
}
