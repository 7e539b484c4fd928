import Sheaf
import SheafDocument
import SheafReplication
import SheafStatements
import SheafSync
import SheafTestSupport
import Testing

/// Documents between peers, message by message, in rare situations.
@Suite struct DocumentTransferTests {
    let cars = "SELECT * FROM cars"
    let all: DQL = "SELECT * FROM cars ORDER BY _id"

    @Test func `a query or a read rule for one document selects only that document`() throws {
        for isRule in [false, true] {
            let scene = try DocumentScene(2)
            for id in ["a", "b", "c"] {
                try scene.execute(
                    0, "INSERT INTO cars DOCUMENTS (:car)", ["car": ["_id": .string(id)] as Value])
            }
            let one = "_id = 'b'"
            try scene.subscribe(1, [isRule ? cars : "\(cars) WHERE \(one)"])
            try scene.subscribe(0, [cars])
            let rights = PeerRights(read: ["cars": one], write: ["cars": one])
            try scene.connect(0, 1, rightsOfRight: isRule ? rights : nil)
            try scene.run()
            try scene.execute(0, "UPDATE cars SET n = 1")
            try scene.run()
            let received = try scene.rows(1, all)
            #expect(received == [#"{"_id":"b","n":1}"#])
            try scene.execute(1, "INSERT INTO cars DOCUMENTS ({'_id': 'd'})")
            try scene.execute(1, "UPDATE cars SET n = 2 WHERE _id = 'b'")
            try scene.run()
            let local = try scene.rows(0, all)
            #expect(local.count == (isRule ? 3 : 4))
            #expect(local.contains(#"{"_id":"b","n":2}"#))
            #expect(scene.nodes[0].closeMessages.isEmpty)
        }
    }

    /// Makes a document readable again by a delta whose base the peer never received.
    @Test func `a document that becomes readable again is sent completely`() throws {
        let scene = try DocumentScene(2)
        try scene.subscribe(1, [cars])
        let rights = PeerRights(read: ["cars": "level < 5"], write: [:])
        try scene.connect(0, 1, rightsOfRight: rights)
        try scene.run()
        // A commit is sent as a delta only if the document is long enough.
        let long = Value.string(String(repeating: "a long story ", count: 400))
        try scene.execute(
            0, "INSERT INTO cars DOCUMENTS (:car)",
            ["car": ["_id": "a", "level": 1, "story": long] as Value])
        try scene.run()
        let before = try scene.rows(1, all)
        #expect(before.count == 1)
        try scene.execute(0, "UPDATE cars SET level = 9, note = 'hidden' WHERE _id = 'a'")
        try scene.run()
        #expect(try scene.rows(1, all) == before)
        let requested = scene.nodes[1].sent.count { $0 == .subscribe }
        try scene.execute(0, "UPDATE cars SET level = 2 WHERE _id = 'a'")
        try scene.run()
        // A delta without its base would have made the peer request the document.
        #expect(scene.nodes[1].sent.count { $0 == .subscribe } == requested)
        let (local, remote) = (try scene.rows(1, all), try scene.rows(0, all))
        #expect(local == remote)
        let missing = scene.nodes[0].newestCommit - scene.nodes[0].synced(with: scene.nodes[1])
        #expect(missing == 0)
        // Later deltas apply again.
        try scene.execute(0, "UPDATE cars SET level = 3 WHERE _id = 'a'")
        try scene.run()
        let (after, source) = (try scene.rows(1, all), try scene.rows(0, all))
        #expect(after == source)
        #expect(scene.nodes[1].sent.count { $0 == .subscribe } == requested)
    }

    /// Sends an inserted, a changed and a deleted document in one batch, out of key order.
    @Test func `a batch with documents out of key order is applied`() throws {
        let scene = try DocumentScene(3)
        for number in 0..<3 { try scene.subscribe(number, [cars]) }
        let wire = try scene.connect(0, 1)
        try scene.connect(1, 2)
        try scene.execute(1, "INSERT INTO cars DOCUMENTS ({'_id': 'b'}), ({'_id': 'c'})")
        try scene.run()
        try scene.disconnect(wire)
        try scene.execute(0, "INSERT INTO cars DOCUMENTS ({'_id': 'a'})")
        try scene.execute(0, "UPDATE cars SET n = 1 WHERE _id = 'c'")
        try scene.execute(0, "DELETE FROM cars WHERE _id = 'b'")
        try scene.connect(0, 1)
        try scene.run()
        let expected = [#"{"_id":"a"}"#, #"{"_id":"c","n":1}"#]
        for number in 0..<3 {
            let rows = try scene.rows(number, all)
            #expect(rows == expected, "peer \(number)")
        }
    }

    /// Sends complete documents in address order, which is not the order of the collection numbers.
    @Test func `documents of several collections are merged with local ones`() throws {
        let scene = try DocumentScene(2)
        let collections = ["trucks", "cars"]
        try scene.subscribe(1, collections.map { "SELECT * FROM \($0)" })
        let ids = ["a", "b", "c"]
        for (number, field) in ["n", "m"].enumerated() {
            for collection in collections {
                for id in ids {
                    try scene.execute(
                        number, DQL(verbatim: "INSERT INTO \(collection) DOCUMENTS (:new)"),
                        ["new": ["_id": .string(id), field: 1] as Value])
                }
            }
        }
        try scene.connect(0, 1)
        try scene.run()
        for collection in collections {
            let rows = try scene.rows(
                1, DQL(verbatim: "SELECT * FROM \(collection) ORDER BY _id"))
            #expect(rows == ids.map { #"{"_id":"\#($0)","m":1,"n":1}"# }, "\(collection)")
        }
    }

    /// Checks that credit for batches that are dropped unwritten is returned.
    @Test func `a peer that resubscribes during long batches eventually receives everything`()
        throws
    {
        var limits = ReplicatorLimits()
        // All documents are one batch, visible when it is complete.
        limits.completeStep = limits.step
        let scene = try DocumentScene(2, limits)
        var random = SeededRandom(seed: 7, "long steps")
        for number in Int64(0)..<60 {
            try scene.execute(
                0, "INSERT INTO cars DOCUMENTS (:car)",
                [
                    "car": [
                        "_id": .integer(number), "n": 0, "noise": .bytes(random.bytes(100_000)),
                    ] as Value
                ])
        }
        try scene.subscribe(1, [cars])
        try scene.connect(0, 1)
        for round in 1...8 {
            try scene.run(steps: 60)
            let rows = try scene.rows(1, "SELECT COUNT(*) AS n FROM cars")
            #expect(rows == [#"{"n":0}"#], "the batch is complete")
            try scene.subscribe(1, ["\(cars) WHERE n >= -\(round)"])
        }
        try scene.run()
        let rows = try scene.rows(1, "SELECT COUNT(*) AS n FROM cars")
        #expect(rows == [#"{"n":60}"#])
    }

    /// Without the returned credit, the sender could send nothing after four rounds.
    @Test func `a batch that waits for a write returns its credit when the peer resubscribes`()
        throws
    {
        let scene = try DocumentScene(2)
        var random = SeededRandom(seed: 11, "waiting batches")
        try scene.subscribe(1, [cars])
        try scene.connect(0, 1)
        try scene.run()
        for round in 1...8 {
            scene.nodes[1].isBusy = true
            for _ in 0..<2 {
                try scene.execute(
                    0, "INSERT INTO cars DOCUMENTS (:car)",
                    ["car": ["n": 0, "noise": .bytes(random.bytes(1_000_000))] as Value])
                try scene.run()
            }
            try scene.subscribe(1, ["\(cars) WHERE n >= -\(round)"])
            scene.nodes[1].isBusy = false
            try scene.run()
            try scene.advance(milliseconds: 10_000)
            try scene.run()
            let rows = try scene.rows(1, "SELECT COUNT(*) AS n FROM cars")
            #expect(rows == ["{\"n\":\(2 * round)}"])
        }
    }

    /// Drops the connection before the repair of an older state arrives.
    @Test func `read repairs survive a dropped connection`() throws {
        let scene = try DocumentScene(3)
        let red = "\(cars) WHERE color = 'red'"
        try scene.subscribe(0, [cars])
        try scene.subscribe(1, [red])
        try scene.subscribe(2, [cars])
        let early = try scene.connect(0, 2)
        try scene.execute(0, "INSERT INTO cars DOCUMENTS ({'_id': 'a', 'color': 'red'})")
        try scene.run()
        try scene.disconnect(early)
        // Peer 0 changes the car before peer 1 gets it, so peer 2 sends an older state to peer 1.
        try scene.execute(0, "UPDATE cars SET color = 'blue' WHERE _id = 'a'")
        let wire = try scene.connect(0, 1)
        try scene.run()
        scene.hold(wire, to: 1)
        try scene.connect(1, 2)
        try scene.run()
        let older = try scene.rows(1, all)
        #expect(older == [#"{"_id":"a","color":"red"}"#])
        // The disconnect loses the repair of peer 0.
        try scene.disconnect(wire)
        try scene.connect(0, 1)
        try scene.run()
        let newer = try scene.rows(1, all)
        #expect(newer == [#"{"_id":"a","color":"blue"}"#])
    }

    /// Changes two quarantined documents before the receiver requests them again.
    @Test func `deltas of two documents without their bases are followed by both documents`()
        throws
    {
        let scene = try DocumentScene(2)
        try scene.subscribe(1, [cars])
        try scene.connect(0, 1)
        scene.nodes[0].clock.advance(milliseconds: 1_000_000)
        let long = Value.string(String(repeating: "a long story ", count: 400))
        for id in ["a", "b"] {
            try scene.execute(
                0, "INSERT INTO cars DOCUMENTS (:car)",
                ["car": ["_id": .string(id), "level": 1, "story": long] as Value])
        }
        try scene.run()
        try #require(try scene.rows(1, all).isEmpty)
        scene.nodes[1].clock.advance(milliseconds: 1_000_000)
        scene.nodes[1].isBusy = true
        for id in ["a", "b"] {
            try scene.execute(
                0, "UPDATE cars SET level = 2 WHERE _id = :id", ["id": Value.string(id)])
            try scene.run()
        }
        let requested = scene.nodes[1].sent.count { $0 == .subscribe }
        scene.nodes[1].isBusy = false
        try scene.run()
        let (local, remote) = (try scene.rows(1, all), try scene.rows(0, all))
        #expect(local == remote)
        #expect(scene.nodes[1].sent.count { $0 == .subscribe } == requested + 2)
    }

    /// Peers let all but one sender announce, so documents travel along a tree.
    @Test func `in a full mesh a document reaches each peer about once from any writer`() throws {
        let scene = try DocumentScene(6)
        for number in 0..<6 { try scene.subscribe(number, [cars]) }
        for right in 0..<6 {
            for left in 0..<right { try scene.connect(left, right) }
        }
        try scene.run()
        func counts() -> (received: UInt64, taken: UInt64) {
            scene.nodes.reduce((0, 0)) { sum, node in
                let known = node.replicator.statistics
                return (sum.0 + known.documentsReceived, sum.1 + known.documentsApplied)
            }
        }
        var id: Int64 = 0
        func write(_ count: Int) throws -> Double {
            let before = counts()
            for _ in 0..<count {
                id += 1
                try scene.execute(
                    Int(id) % 6, "INSERT INTO cars DOCUMENTS ({'_id': :id})",
                    ["id": Value.integer(id)])
                try scene.run()
            }
            let after = counts()
            #expect(after.taken - before.taken == UInt64(count) * 5)
            return Double(after.received - before.received) / Double(count * 5)
        }
        _ = try write(12)
        let redundancy = try write(60)
        #expect(redundancy <= 1.3, "\(redundancy)")
    }

    @Test func `documents from a peer are not sent back to it`() throws {
        let scene = try DocumentScene(2)
        for number in 0..<2 { try scene.subscribe(number, [cars]) }
        try scene.connect(0, 1)
        try scene.run()
        let before = scene.nodes[1].segmentLength
        let notes = ["one of five", "another", "the third", "what is left", "the last of all"]
        for number in Int64(0)..<5 {
            try scene.execute(
                0, "INSERT INTO cars DOCUMENTS (:car)",
                ["car": ["_id": .integer(number), "note": .string(notes[Int(number)])] as Value])
            try scene.run()
        }
        #expect(try scene.rows(1, all).count == 5)
        // The log position is sent, and no document.
        #expect(scene.nodes[1].segmentLength - before < 5 * 32)
    }

    /// Evicts a document after sending it, and before the other side has written it.
    @Test func `a document that its writer evicts is received again after a remote write`() throws {
        let scene = try DocumentScene(2)
        for number in 0..<2 { try scene.subscribe(number, [cars]) }
        try scene.connect(0, 1)
        try scene.run()
        scene.nodes[0].isBusy = true
        try scene.execute(1, "INSERT INTO cars DOCUMENTS ({'_id': 'a', 'n': 1})")
        try scene.run()
        try scene.execute(1, "EVICT FROM cars")
        // The peers reconcile before the other side has written the document.
        try scene.run()
        #expect(try scene.rows(1, all).isEmpty)
        scene.nodes[0].isBusy = false
        try scene.run()
        #expect(try scene.rows(0, all).count == 1)
        #expect(try scene.rows(1, all).count == 1)
    }

    /// Drops the connection that delivers documents which another one only announces.
    @Test func `an announced document that is missing is not acknowledged with later ones`() throws
    {
        let scene = try DocumentScene(3)
        let (source, other, reader) = (0, 1, 2)
        for number in [other, reader] { try scene.subscribe(number, [cars]) }
        let announcedCar: DQL = "SELECT * FROM cars WHERE _id = 'announced'"
        let direct = try scene.connect(source, reader)
        try scene.connect(source, other)
        let relayConnection = try scene.connect(other, reader)
        try scene.run()
        // The direct connection repeats a document that the other one has delivered.
        scene.hold(direct, to: reader)
        try scene.execute(source, "INSERT INTO cars DOCUMENTS ({'_id': 'first'})")
        try scene.run()
        try scene.letGo(direct, to: reader)
        #expect(scene.nodes[reader].sent.contains(.announceOnly))
        scene.hold(relayConnection, to: reader)
        try scene.execute(source, "INSERT INTO cars DOCUMENTS ({'_id': 'announced'})")
        let announced = scene.nodes[source].newestCommit
        try scene.run()
        #expect(scene.nodes[source].sent.contains(.announce))
        // A commit with more documents than may be announced is sent without an announcement.
        let many = (0..<300).map { "({'_id': \($0)})" }.joined(separator: ", ")
        try scene.execute(source, DQL(verbatim: "INSERT INTO cars DOCUMENTS \(many)"))
        try scene.run()
        let early = try scene.rows(reader, announcedCar)
        #expect(early.isEmpty)
        let synced = scene.nodes[source].synced(with: scene.nodes[reader])
        #expect(synced < announced)
        // Both connections drop, and the direct one is established again.
        try scene.disconnect(relayConnection)
        try scene.disconnect(direct)
        try scene.connect(source, reader)
        try scene.run()
        let late = try scene.rows(reader, announcedCar)
        #expect(late.count == 1)
        #expect(try scene.rows(reader, all).count == 302)
    }

    /// Returns a deleted document to a peer that lost the tombstone and only announces.
    @Test func `an announced document that the receiver has deleted is deleted at the sender`()
        throws
    {
        let scene = try DocumentScene.announcing("{'_id': 'a'}")
        for number in 0..<4 {
            let rows = try scene.rows(number, all)
            #expect(rows == [#"{"_id":"b"}"#], "peer \(number)")
        }
    }

    /// Evicts a document on its device, which then updates an older state of it.
    @Test func `a write after an eviction is not confused with an evicted one`() throws {
        let scene = try DocumentScene(3)
        let (device, old, new) = (0, 1, 2)
        for number in 0..<3 { try scene.subscribe(number, [cars]) }
        let first = try scene.connect(device, old)
        let second = try scene.connect(device, new)
        try scene.execute(device, "INSERT INTO cars DOCUMENTS ({'_id': 'a', 'n': 1})")
        try scene.run()
        try scene.disconnect(first)
        try scene.execute(device, "UPDATE cars SET notes = 'late' WHERE _id = 'a'")
        try scene.run()
        try scene.disconnect(second)
        try scene.subscribe(device, [])
        try scene.execute(device, "EVICT FROM cars")
        try scene.subscribe(device, [cars])
        try scene.connect(device, old)
        try scene.run()
        try scene.execute(device, "UPDATE cars SET n = 2 WHERE _id = 'a'")
        try scene.connect(device, new)
        try scene.run()
        for number in 0..<3 {
            let rows = try scene.rows(number, all)
            #expect(rows == [#"{"_id":"a","n":2,"notes":"late"}"#], "peer \(number)")
        }
    }
}
