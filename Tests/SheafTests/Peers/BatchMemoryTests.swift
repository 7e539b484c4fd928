import Sheaf
import SheafDocument
import SheafReplication
import SheafStatements
import SheafSync
import Testing

/// Tests of received batches that are moved to disk beyond the memory limit of a connection.
struct BatchMemoryTests {
    private let complete: DQL = "SELECT _id FROM cars WHERE char_length(text) = 1000"
    private let fields: Object = ["text": .string(String(repeating: "x", count: 1_000))]

    /// Returns a peer that receives batches, and does not write them yet.
    private func scene(_ limit: Int) throws -> SubscriberScene {
        var limits = ReplicatorLimits()
        limits.inMemory = limit
        let scene = try SubscriberScene(["SELECT * FROM cars"], limits)
        try scene.connect()
        scene.isBusy = true
        return scene
    }

    /// Returns the bytes in memory after each of three batches with one document.
    private func lengths(_ limit: Int) throws -> [Int] {
        let scene = try scene(limit)
        var lengths: [Int] = []
        for (commit, id) in [(5, "a"), (6, "b"), (7, "c")] as [(UInt64, String)] {
            try scene.send(commit, [(id, fields)])
            lengths.append(scene.replicator.unwrittenLength)
        }
        while scene.acknowledged.last != 7 { try scene.write() }
        #expect(scene.replicator.unwrittenLength == 0)
        #expect(try scene.store.rows(complete).count == 3)
        return lengths
    }

    @Test func `batches stay in memory up to the limit, with those that wait and are written`()
        throws
    {
        let length = try #require(try lengths(1 << 20).first)
        #expect(length > 1_000)
        for (limit, batches) in [
            (length - 1, [0, 0, 0]), (length, [1, 1, 1]), (2 * length - 1, [1, 1, 1]),
            (2 * length, [1, 2, 2]), (3 * length - 1, [1, 2, 2]), (3 * length, [1, 2, 3]),
        ] {
            let found = try lengths(limit)
            #expect(found == batches.map { $0 * length }, "\(limit)")
        }
    }

    /// Returns the bytes in memory after a batch of two parts with one document each.
    private func lengthOfParts(_ limit: Int) throws -> Int {
        let scene = try scene(limit)
        try scene.send(5, [("a", fields)], isContinued: true)
        // Only complete batches are counted.
        #expect(scene.replicator.unwrittenLength == 0)
        try scene.send(5, [("b", fields)])
        let length = scene.replicator.unwrittenLength
        try scene.write()
        #expect(scene.acknowledged == [5])
        #expect(try scene.store.rows(complete).count == 2)
        return length
    }

    @Test func `a part moves to disk before another one is decoded that would not fit`() throws {
        let first = try #require(try lengths(1 << 20).first)
        let both = try lengthOfParts(1 << 20)
        // The length of the second document as it was received.
        let received =
            try DocumentID.key(of: .string("b")).count
            + Insertion.document(fields, at: SubscriberScene.stamp(20), NameTable()).count
        // The second document then begins a block, as the first one did.
        let found = try lengthOfParts(first + received - 1)
        #expect(found == first)
        let fitting = try lengthOfParts(max(first + received, both))
        #expect(fitting == both)
    }
}
