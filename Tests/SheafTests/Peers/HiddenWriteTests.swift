import Sheaf
import SheafDocument
import SheafStatements
import SheafSync
import Testing

/// Writes of a peer to documents that it may not read.
struct HiddenWriteTests {
    /// Returns a server (0), and a device (1) that may write all cars and read those of ann.
    private func scene() throws -> DocumentScene {
        let scene = try DocumentScene(2)
        for number in 0...1 { try scene.subscribe(number, ["SELECT * FROM cars"]) }
        try scene.execute(
            0,
            """
            INSERT INTO cars DOCUMENTS
                ({'_id': 'a', 'owner': 'ann', 'n': 1}), ({'_id': 'b', 'owner': 'bob', 'n': 1})
            """)
        let rights = PeerRights(read: ["cars": "owner = 'ann'"], write: ["cars": "true"])
        try scene.connect(0, 1, rightsOfRight: rights)
        try scene.advance(milliseconds: 1_000)
        return scene
    }

    private let cars: DQL = "SELECT _id, m, n FROM cars ORDER BY _id"

    /// Writes to the document on the server between the writes of the peer.
    @Test func `a peer keeps writing to a document that it may not read`() throws {
        let scene = try scene()
        try scene.execute(
            1, "INSERT INTO cars DOCUMENTS ({'_id': 'c', 'owner': 'carl', 'n': 1})")
        try scene.advance(milliseconds: 1_000)
        let requests = scene.nodes[0].sent.count { $0 == .subscribe }
        for number in 2...4 {
            try scene.execute(
                1, "UPDATE cars SET n = :n WHERE _id = 'c'",
                ["n": Value.integer(Int64(number))])
            try scene.execute(0, "UPDATE cars SET m = 7 WHERE _id = 'c'")
            try scene.advance(milliseconds: 1_000)
        }
        let requestsAfter = scene.nodes[0].sent.count { $0 == .subscribe }
        #expect(requestsAfter == requests)
        #expect(
            try scene.rows(0, cars) == [
                #"{"_id":"a","n":1}"#, #"{"_id":"b","n":1}"#, #"{"_id":"c","m":7,"n":4}"#,
            ])
        #expect(try scene.rows(1, cars) == [#"{"_id":"a","n":1}"#, #"{"_id":"c","n":4}"#])
        #expect(scene.nodes[0].closeMessages.isEmpty && scene.nodes[1].closeMessages.isEmpty)
    }

    /// Inserts a document whose existing hidden version is unknown to the device.
    @Test func `a write under a hidden id is merged with a document that may be written`() throws {
        let scene = try scene()
        try scene.execute(
            1, "INSERT INTO cars DOCUMENTS ({'_id': 'b', 'owner': 'carl', 'm': 3})")
        try scene.advance(milliseconds: 1_000)
        try scene.execute(1, "UPDATE cars SET m = 4 WHERE _id = 'b'")
        try scene.advance(milliseconds: 1_000)
        #expect(
            try scene.rows(0, cars) == [#"{"_id":"a","n":1}"#, #"{"_id":"b","m":4,"n":1}"#])
        #expect(try scene.rows(1, cars) == [#"{"_id":"a","n":1}"#, #"{"_id":"b","m":4}"#])
        // The device may read the document from here on.
        try scene.execute(1, "UPDATE cars SET owner = 'ann' WHERE _id = 'b'")
        try scene.advance(milliseconds: 1_000)
        let rows = try scene.rows(0, cars)
        #expect(try scene.rows(1, cars) == rows)
    }

    /// Deletes a document that the device could never read.
    @Test func `a document can be written under the id of a deleted one`() throws {
        let scene = try scene()
        try scene.execute(0, "DELETE FROM cars WHERE _id = 'b'")
        try scene.execute(
            1, "INSERT INTO cars DOCUMENTS ({'_id': 'b', 'owner': 'ann', 'm': 3})")
        for number in 5...6 {
            try scene.advance(milliseconds: 1_000)
            try scene.execute(
                1, "UPDATE cars SET n = :n WHERE _id = 'b'",
                ["n": Value.integer(Int64(number))])
        }
        try scene.advance(milliseconds: 1_000)
        #expect(
            try scene.rows(0, cars) == [
                #"{"_id":"a","n":1}"#, #"{"_id":"b","m":3,"n":6}"#,
            ])
        #expect(try scene.checksums() == 1)
    }

    /// Makes the server drop the first write, because the document is locked at that time.
    @Test func `a delta is written to a hidden document that lacks its base`() throws {
        let scene = try DocumentScene(2)
        try scene.subscribe(0, ["SELECT * FROM cars"])
        try scene.execute(
            0, "INSERT INTO cars DOCUMENTS ({'_id': 'b', 'owner': 'bob', 'locked': true})")
        let rights = PeerRights(
            read: ["cars": "owner = 'ann'"], write: ["cars": "coalesce(locked, false) = false"])
        try scene.connect(0, 1, rightsOfRight: rights)
        try scene.run()
        try scene.execute(
            1, "INSERT INTO cars DOCUMENTS ({'_id': 'b', 'owner': 'carl', 'm': 3, 'n': 4})")
        try scene.advance(milliseconds: 1_000)
        let car: DQL = "SELECT _id, m, n FROM cars"
        #expect(try scene.rows(0, car) == [#"{"_id":"b"}"#])
        try scene.execute(0, "UPDATE cars SET locked = false WHERE _id = 'b'")
        let requests = scene.nodes[0].sent.count { $0 == .subscribe }
        try scene.execute(1, "UPDATE cars SET m = 5 WHERE _id = 'b'")
        try scene.advance(milliseconds: 1_000)
        #expect(try scene.rows(0, car) == [#"{"_id":"b","m":5,"n":4}"#])
        // The server has not subscribed again to request the base.
        let requestsAfter = scene.nodes[0].sent.count { $0 == .subscribe }
        #expect(requestsAfter == requests)
    }

    /// Writes a document that exceeds, with its address, the memory for hidden documents of a peer.
    @Test func `a long hidden document does not displace a shorter one`() throws {
        let scene = try scene()
        try scene.execute(
            1, "INSERT INTO cars DOCUMENTS ({'_id': 'c', 'owner': 'carl', 'n': 1})")
        try scene.advance(milliseconds: 1_000)
        let long = String(repeating: "i", count: 900)
        try scene.execute(
            1, "INSERT INTO cars DOCUMENTS (:car)",
            [
                "car": [
                    "_id": .string(long), "owner": "carl",
                    "text": .string(String(repeating: "t", count: (1 << 20) - 500)),
                ] as Value
            ])
        try scene.advance(milliseconds: 1_000)
        let requests = scene.nodes[0].sent.count { $0 == .subscribe }
        try scene.execute(1, "UPDATE cars SET n = 2 WHERE _id = 'c'")
        try scene.advance(milliseconds: 1_000)
        let requestsAfter = scene.nodes[0].sent.count { $0 == .subscribe }
        #expect(requestsAfter == requests)
        #expect(
            try scene.rows(0, "SELECT n FROM cars WHERE _id = 'c'") == [#"{"n":2}"#])
    }
}
