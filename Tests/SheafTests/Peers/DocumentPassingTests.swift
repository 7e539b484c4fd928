import Sheaf
import SheafSync
import SheafTestSupport
import Testing

/// Documents between peers, message by message: what happens rarely, and has to be right each time.
@Suite struct DocumentPassingTests {
    let cars = "SELECT * FROM cars"
    let all: Query = "SELECT * FROM cars ORDER BY _id"

    @Test func `who wants one document, or may see one, gets that one alone`() throws {
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
            let got = try scene.rows(1, all)
            #expect(got == [#"{"_id":"b","n":1}"#])
            try scene.execute(1, "INSERT INTO cars DOCUMENTS ({'_id': 'd'})")
            try scene.execute(1, "UPDATE cars SET n = 2 WHERE _id = 'b'")
            try scene.run()
            let here = try scene.rows(0, all)
            #expect(here.count == (isRule ? 3 : 4))
            #expect(here.contains(#"{"_id":"b","n":2}"#))
            #expect(scene.nodes[0].farewells.isEmpty)
        }
    }

    /// The document leaves what the peer may read, and becomes readable again by a change that builds on what
    /// the peer never received.
    @Test func `a document that becomes readable again is sent whole`() throws {
        let scene = try DocumentScene(2)
        try scene.subscribe(1, [cars])
        let rights = PeerRights(read: ["cars": "level < 5"], write: [:])
        try scene.connect(0, 1, rightsOfRight: rights)
        try scene.run()
        // A commit is told by its delta where the document is long enough.
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
        let asked = scene.nodes[1].sent.count { $0 == .subscribe }
        try scene.execute(0, "UPDATE cars SET level = 2 WHERE _id = 'a'")
        try scene.run()
        // No delta was sent that the peer would have had to ask the rest of.
        #expect(scene.nodes[1].sent.count { $0 == .subscribe } == asked)
        let (here, there) = (try scene.rows(1, all), try scene.rows(0, all))
        #expect(here == there)
        let missing = scene.nodes[0].newestCommit - scene.nodes[0].synced(with: scene.nodes[1])
        #expect(missing == 0)
        // What comes then fits again.
        try scene.execute(0, "UPDATE cars SET level = 3 WHERE _id = 'a'")
        try scene.run()
        let (after, source) = (try scene.rows(1, all), try scene.rows(0, all))
        #expect(after == source)
        #expect(scene.nodes[1].sent.count { $0 == .subscribe } == asked)
    }

    /// A new document, one that is there and one that was deleted come in one step, the last of them not in the
    /// order of keys.
    @Test func `documents come in any order`() throws {
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

    /// Whole documents come in the order of their addresses, which need not be that of the numbers of their
    /// collections.
    @Test func `documents of several collections are joined with what is there`() throws {
        let scene = try DocumentScene(2)
        let collections = ["trucks", "cars"]
        try scene.subscribe(1, collections.map { "SELECT * FROM \($0)" })
        let ids = ["a", "b", "c"]
        for (number, field) in ["n", "m"].enumerated() {
            for collection in collections {
                for id in ids {
                    try scene.execute(
                        number, Query(verbatim: "INSERT INTO \(collection) DOCUMENTS (:new)"),
                        ["new": ["_id": .string(id), field: 1] as Value])
                }
            }
        }
        try scene.connect(0, 1)
        try scene.run()
        for collection in collections {
            let rows = try scene.rows(
                1, Query(verbatim: "SELECT * FROM \(collection) ORDER BY _id"))
            #expect(rows == ids.map { #"{"_id":"\#($0)","m":1,"n":1}"# }, "\(collection)")
        }
    }

    /// What was paid for and is not written any more is given back: otherwise the two would come to a
    /// standstill.
    @Test func `who subscribes anew in the middle of long steps gets everything in the end`() throws
    {
        let scene = try DocumentScene(2)
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
            let got = try scene.rows(1, "SELECT COUNT(*) AS n FROM cars")
            #expect(got == [#"{"n":0}"#], "the step is not over")
            try scene.subscribe(1, ["\(cars) WHERE n >= -\(round)"])
        }
        try scene.run()
        let got = try scene.rows(1, "SELECT COUNT(*) AS n FROM cars")
        #expect(got == [#"{"n":60}"#])
    }

    /// Documents that the other side has sent in an older state, and has not asked for as they are, are sent
    /// again where the connection breaks before they have come.
    @Test func `corrections are kept over connections that break`() throws {
        let scene = try DocumentScene(3)
        let red = "\(cars) WHERE color = 'red'"
        try scene.subscribe(0, [cars])
        try scene.subscribe(1, [red])
        try scene.subscribe(2, [cars])
        let early = try scene.connect(0, 2)
        try scene.execute(0, "INSERT INTO cars DOCUMENTS ({'_id': 'a', 'color': 'red'})")
        try scene.run()
        try scene.disconnect(early)
        // Peer 0 changes it before peer 1 knows of it, who gets the older state from peer 2.
        try scene.execute(0, "UPDATE cars SET color = 'blue' WHERE _id = 'a'")
        let wire = try scene.connect(0, 1)
        try scene.run()
        scene.hold(wire, to: 1)
        try scene.connect(1, 2)
        try scene.run()
        let older = try scene.rows(1, all)
        #expect(older == [#"{"_id":"a","color":"red"}"#])
        // What peer 0 says of it is lost.
        try scene.disconnect(wire)
        try scene.connect(0, 1)
        try scene.run()
        let newer = try scene.rows(1, all)
        #expect(newer == [#"{"_id":"a","color":"blue"}"#])
    }

    /// Both documents were set aside, and are changed before the receiver asks for them again.
    @Test func `deltas of several documents that do not fit are followed by all of them`() throws {
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
        let asked = scene.nodes[1].sent.count { $0 == .subscribe }
        scene.nodes[1].isBusy = false
        try scene.run()
        let (here, there) = (try scene.rows(1, all), try scene.rows(0, all))
        #expect(here == there)
        #expect(scene.nodes[1].sent.count { $0 == .subscribe } == asked + 2)
    }

    /// Whoever is told the same from several sides has all but one announce it, so that what all write flows
    /// through a tree.
    @Test func `in a full mesh documents come once, whoever writes them`() throws {
        let scene = try DocumentScene(6)
        for number in 0..<6 { try scene.subscribe(number, [cars]) }
        for right in 0..<6 {
            for left in 0..<right { try scene.connect(left, right) }
        }
        try scene.run()
        func counts() -> (received: UInt64, taken: UInt64) {
            scene.nodes.reduce((0, 0)) { sum, node in
                let known = node.host.statistics
                return (sum.0 + known.documentsReceived, sum.1 + known.documentsTaken)
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

    @Test func `what came from a peer is not sent back to it`() throws {
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
        // How far the log is, is said, and no document.
        #expect(scene.nodes[1].segmentLength - before < 5 * 32)
    }

    /// A document was sent, and is taken away before the other side has written it.
    @Test func `what a peer has sent and taken away comes back to it`() throws {
        let scene = try DocumentScene(2)
        for number in 0..<2 { try scene.subscribe(number, [cars]) }
        try scene.connect(0, 1)
        try scene.run()
        scene.nodes[0].isBusy = true
        try scene.execute(1, "INSERT INTO cars DOCUMENTS ({'_id': 'a', 'n': 1})")
        try scene.run()
        try scene.execute(1, "EVICT FROM cars")
        // The two compare, and the other side has not written it yet.
        try scene.run()
        #expect(try scene.rows(1, all).isEmpty)
        scene.nodes[0].isBusy = false
        try scene.run()
        #expect(try scene.rows(0, all).count == 1)
        #expect(try scene.rows(1, all).count == 1)
    }

    /// One connection announces, since another one brings the same, and that one breaks.
    @Test func `nothing is acknowledged behind what was announced and is not here`() throws {
        let scene = try DocumentScene(3)
        let (source, other, reader) = (0, 1, 2)
        for number in [other, reader] { try scene.subscribe(number, [cars]) }
        let announcedCar: Query = "SELECT * FROM cars WHERE _id = 'announced'"
        let direct = try scene.connect(source, reader)
        try scene.connect(source, other)
        let detour = try scene.connect(other, reader)
        try scene.run()
        // The direct connection brings what the other one has brought before.
        scene.hold(direct, to: reader)
        try scene.execute(source, "INSERT INTO cars DOCUMENTS ({'_id': 'first'})")
        try scene.run()
        try scene.letGo(direct, to: reader)
        #expect(scene.nodes[reader].sent.contains(.announceOnly))
        scene.hold(detour, to: reader)
        try scene.execute(source, "INSERT INTO cars DOCUMENTS ({'_id': 'announced'})")
        let announced = scene.nodes[source].newestCommit
        try scene.run()
        #expect(scene.nodes[source].sent.contains(.announce))
        // More than is announced at once is sent without a word.
        let many = (0..<300).map { "({'_id': \($0)})" }.joined(separator: ", ")
        try scene.execute(source, Query(verbatim: "INSERT INTO cars DOCUMENTS \(many)"))
        try scene.run()
        let early = try scene.rows(reader, announcedCar)
        #expect(early.isEmpty)
        let synced = scene.nodes[source].synced(with: scene.nodes[reader])
        #expect(synced < announced)
        // Both connections break, and the direct one comes again.
        try scene.disconnect(detour)
        try scene.disconnect(direct)
        try scene.connect(source, reader)
        try scene.run()
        let late = try scene.rows(reader, announcedCar)
        #expect(late.count == 1)
        #expect(try scene.rows(reader, all).count == 302)
    }

    /// A document was deleted, and comes back in an older state to somebody who has forgotten that, and who
    /// only announces what he has.
    @Test func `what was announced and is known to be deleted is told to be deleted`() throws {
        let scene = try DocumentScene(4)
        let (source, reader, other, old) = (0, 1, 2, 3)
        for number in 0..<4 { try scene.subscribe(number, [cars]) }
        let early = try scene.connect(source, old)
        try scene.execute(source, "INSERT INTO cars DOCUMENTS ({'_id': 'a'})")
        try scene.run()
        try scene.disconnect(early)
        let side = try scene.connect(source, other)
        try scene.connect(other, reader)
        try scene.run()
        let direct = try scene.connect(source, reader)
        try scene.run()
        scene.hold(direct, to: reader)
        try scene.execute(source, "INSERT INTO cars DOCUMENTS ({'_id': 'b'})")
        try scene.run()
        try scene.letGo(direct, to: reader)
        #expect(scene.nodes[reader].sent.contains(.announceOnly))
        try scene.execute(source, "DELETE FROM cars WHERE _id = 'a'")
        try scene.run()
        try scene.disconnect(side)
        try scene.forget(source, "a")
        try scene.run()
        let announced = scene.nodes[source].sent.count { $0 == .announce }
        try scene.connect(source, old)
        try scene.run()
        #expect(scene.nodes[source].sent.count { $0 == .announce } > announced)
        for number in 0..<4 {
            let rows = try scene.rows(number, all)
            #expect(rows == [#"{"_id":"b"}"#], "peer \(number)")
        }
    }

    /// A device evicts what it has written, gets an older state of it back, and goes on with that.
    @Test
    func `what a device writes to what it had forgotten is not taken for what it wrote before`()
        throws
    {
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
