import Sheaf
import SheafReplication
import SheafStorage
import SheafSync
import SheafTestSupport
import Testing

/// Long first syncs: documents as they arrive, interruptions, and commits in the meantime.
@Suite struct FirstSyncTests {
    private static let count = 200
    private let number: DQL = "SELECT COUNT(*) AS n FROM cars"

    /// Returns a peer with documents, and one that subscribes to them in batches of ten or so.
    private func scene() throws -> DocumentScene {
        var limits = ReplicatorLimits()
        (limits.part, limits.completeStep, limits.furtherStep) = (300, 2_000, 600)
        return try scene(limits)
    }

    private func scene(_ limits: ReplicatorLimits) throws -> DocumentScene {
        let scene = try DocumentScene(2, limits)
        for start in stride(from: 0, to: Self.count, by: 50) {
            let cars = (start..<start + 50).map { "({'_id': 'car \($0)', 'n': 0})" }
            try scene.execute(
                0, DQL(verbatim: "INSERT INTO cars DOCUMENTS \(cars.joined(separator: ", "))"))
        }
        try scene.subscribe(1, ["SELECT * FROM cars"])
        return scene
    }

    private func count(_ scene: DocumentScene) throws -> Int {
        let row = try #require(try scene.rows(1, number).first)
        return try #require(Int(row.dropFirst(5).dropLast()))
    }

    /// Runs single steps while a condition holds, at most 10,000.
    private func run(_ scene: DocumentScene, while condition: () throws -> Bool) throws {
        for _ in 0..<10_000 {
            guard try condition(), try scene.run(steps: 1) else { return }
        }
    }

    /// Runs until the second peer has some of the documents.
    private func runPartly(_ scene: DocumentScene, atLeast least: Int = 1) throws {
        try run(scene) { try count(scene) < least }
        #expect(try least..<Self.count ~= count(scene))
    }

    @Test func `documents are visible as they arrive`() throws {
        let scene = try scene()
        try scene.connect(0, 1)
        var counts: [Int] = []
        while counts.last != Self.count, counts.count < 10_000 {
            try scene.run(steps: 1)
            counts.append(try count(scene))
        }
        #expect(counts == counts.sorted())
        #expect(Set(counts).count > 5)
        try scene.run()
        #expect(scene.nodes[0].synced(with: scene.nodes[1]) > 0)
        #expect(try scene.checksums() == 1)
    }

    @Test func `a short sync becomes visible at once`() throws {
        var limits = ReplicatorLimits()
        (limits.part, limits.furtherStep) = (300, 600)
        let scene = try scene(limits)
        try scene.connect(0, 1)
        for _ in 0..<2_000 where try scene.run(steps: 1) {
            #expect(try [0, Self.count].contains(count(scene)))
        }
        #expect(try count(scene) == Self.count)
    }

    @Test(arguments: [1, 60, 140])
    func `an interrupted sync continues where it ended`(_ least: Int) throws {
        let scene = try scene()
        try scene.connect(0, 1)
        try runPartly(scene, atLeast: least)
        // Both stores are opened again, so that no peer knows how far the other one was.
        for number in [1, 0] {
            try scene.putBack(number, to: scene.nodes[number].volume.processDeath())
        }
        try scene.subscribe(1, ["SELECT * FROM cars"])
        let known = try count(scene)
        #expect(known > 0)
        try scene.connect(0, 1)
        try scene.run()
        #expect(try count(scene) == Self.count)
        #expect(try scene.checksums() == 1)
        let received = Int(scene.nodes[1].replicator.statistics.documentsReceived)
        // The last batch before the interruption may arrive once more.
        #expect(received <= Self.count - known + 20)
    }

    @Test func `documents that are evicted in the meantime do not end the connection`() throws {
        let scene = try scene()
        let wire = try scene.connect(0, 1)
        try runPartly(scene)
        try scene.execute(0, "UPDATE cars SET n = 2 WHERE _id = 'car 99'")
        try scene.execute(0, "EVICT FROM cars WHERE _id = 'car 99'")
        try scene.run()
        #expect(scene.isConnected(wire))
        #expect(try count(scene) >= Self.count - 1)
    }

    @Test func `a commit in the meantime arrives complete, or after the sync`() throws {
        let scene = try scene()
        try scene.connect(0, 1)
        try runPartly(scene)
        let cars = (0..<1_025).map { "({'_id': 'late \($0)', 'n': 3})" }
        try scene.execute(
            0, DQL(verbatim: "INSERT INTO cars DOCUMENTS \(cars.joined(separator: ", "))"))
        try scene.execute(0, "UPDATE cars SET n = 4 WHERE _id = 'late 7'")
        let late: DQL = "SELECT COUNT(*) AS n FROM cars WHERE n > 2"
        var counts: Set<String> = []
        for _ in 0..<5_000 where try scene.run(steps: 1) {
            counts.formUnion(try scene.rows(1, late))
        }
        #expect(counts == [#"{"n":0}"#, #"{"n":1025}"#])
        #expect(try scene.checksums() == 1)
    }

    @Test func `commits in the meantime arrive before the sync ends`() throws {
        let scene = try scene()
        try scene.connect(0, 1)
        try runPartly(scene)
        try scene.execute(0, "INSERT INTO cars DOCUMENTS ({'_id': 'new', 'n': 1})")
        try scene.execute(0, "UPDATE cars SET n = 2 WHERE _id = 'car 99'")
        try scene.execute(0, "DELETE FROM cars WHERE _id = 'car 98'")
        let early: DQL = "SELECT _id, n FROM cars WHERE n > 0 ORDER BY n"
        try run(scene) { try scene.rows(1, early).count < 2 }
        let expected = [#"{"_id":"new","n":1}"#, #"{"_id":"car 99","n":2}"#]
        #expect(try scene.rows(1, early) == expected)
        #expect(try count(scene) < Self.count - 50)
        try scene.run()
        #expect(try scene.rows(1, early) == expected)
        #expect(try count(scene) == Self.count)
        #expect(try scene.checksums() == 1)
    }

    // MARK: Progress

    /// The progress that each peer shows: of receiving, and of sending.
    private func progress(_ scene: DocumentScene) -> [(SyncProgress?, SyncProgress?)] {
        [0, 1].map { number in
            let status = scene.nodes[number].replicator.allStatuses.values.first
            return (status?.receiving, status?.sending)
        }
    }

    /// Runs to the end, and returns each progress that the second peer has shown.
    private func received(_ scene: DocumentScene) throws -> [SyncProgress] {
        var received: [SyncProgress] = []
        for _ in 0..<10_000 {
            guard try count(scene) < Self.count, try scene.run(steps: 1) else { break }
            if let progress = progress(scene)[1].0, progress != received.last {
                received.append(progress)
            }
        }
        try scene.run()
        #expect(progress(scene).allSatisfy { $0 == (nil, nil) })
        return received
    }

    @Test func `both peers show the progress of a long sync`() throws {
        let scene = try scene()
        try scene.connect(0, 1)
        try runPartly(scene, atLeast: 40)
        let shown = progress(scene)
        let (receiving, sending) = (try #require(shown[1].0), try #require(shown[0].1))
        #expect(shown[0].0 == nil && shown[1].1 == nil)
        for progress in [receiving, sending] {
            #expect(progress.documents + (progress.remaining ?? 0) == Self.count)
        }
        #expect(try receiving.documents >= count(scene))
        #expect(sending.documents >= receiving.documents)
        try scene.disconnectAll(of: 0)
        #expect(progress(scene).allSatisfy { $0 == (nil, nil) })
        try scene.connect(0, 1)
        let rest = try received(scene)
        // After the interruption, only the documents that are missing count.
        #expect(try #require(rest.first).documents + #require(rest.first?.remaining) < 180)
    }

    @Test func `the progress of a sync counts each document once`() throws {
        let scene = try scene()
        try scene.connect(0, 1)
        let received = try received(scene)
        #expect(received.count > 10)
        #expect(received.map(\.documents) == received.map(\.documents).sorted())
        #expect(received.allSatisfy { $0.documents + ($0.remaining ?? 0) == Self.count })
        #expect(try #require(received.last?.remaining) <= 20)
    }

    /// Replaces all batches that the second peer receives by one that claims to precede more.
    private func forge(_ wire: UInt64, _ scene: DocumentScene, remaining: UInt64) {
        var segments = ShippedSegmentWriter()
        scene.forge(wire, to: 1) { frame in
            guard frame.type == .segment else { return frame }
            var commits = CommitWriter()
            for _ in 0..<3 {
                commits.begin(9, stamp: nil, isCut: true, remaining: remaining)
                commits.end(isContinued: false)
            }
            return Frame(.segment, [1, 0] + segments.bytes(of: [0] + commits.bytes))
        }
    }

    @Test(arguments: [1 << 20, UInt64(Int.max), .max])
    func `an estimate of a peer is shown up to a bound`(_ remaining: UInt64) throws {
        let scene = try scene()
        let wire = try scene.connect(0, 1)
        forge(wire, scene, remaining: remaining)
        try scene.run()
        let shown = try #require(progress(scene)[1].0)
        #expect(shown.documents == 0 && shown.remaining == Int(min(remaining, 1 << 48)))
    }

    @Test func `without a count the number of received documents is shown`() throws {
        let scene = try scene()
        try scene.subscribe(1, ["SELECT * FROM cars WHERE n = 0"])
        try scene.connect(0, 1)
        let received = try received(scene)
        #expect(received.count > 10)
        #expect(received.allSatisfy { $0.remaining == nil })
        #expect(try #require(received.last).documents > 180)
    }

    /// Changes of another collection count, too, and are not sent.
    @Test(arguments: [(1_023, true), (1_024, false)])
    func `1,024 changes in the meantime are sent early, and more follow the sync`(
        _ others: Int, _ isEarly: Bool
    ) throws {
        let scene = try scene()
        try scene.connect(0, 1)
        try runPartly(scene)
        let boats = (0..<others).map { "({'_id': \($0)})" }.joined(separator: ", ")
        try scene.nodes[0].store.execute(DQL(verbatim: "INSERT INTO boats DOCUMENTS \(boats)"))
        try scene.nodes[0].store.execute("INSERT INTO cars DOCUMENTS ({'_id': 'new', 'n': 1})")
        try scene.published(0)
        let new: DQL = "SELECT _id FROM cars WHERE n > 0"
        try run(scene) { try scene.rows(1, new).isEmpty }
        #expect(try scene.rows(1, new).count == 1)
        let found = try count(scene)
        #expect((found < Self.count - 50) == isEarly, "\(found) documents")
    }
}
