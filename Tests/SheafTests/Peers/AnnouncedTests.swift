import Sheaf
import SheafDocument
import SheafReplication
import SheafStatements
import SheafSync
import Testing

/// Received announcements.
struct AnnouncedTests {
    private let timeout: UInt64 = 300_000_000

    @Test func `the timer restarts when the documents of an announcement have arrived`() {
        var announced = Announced()
        for commit: UInt64 in 5...6 {
            let isKept = announced.add(Announce(generation: 1, commit: commit, []), at: commit)
            #expect(isKept)
        }
        #expect(announced.deadline == 5 + timeout)
        let arrived = announced.arrived(through: 9) { $0.commit == 5 }
        #expect(arrived.map(\.commit) == [5])
        announced.removeFirst(1, through: 5, at: 10)
        #expect(announced.deadline == 10 + timeout)
        announced.removeFirst(1, through: 6, at: 20)
        #expect(announced.messages.isEmpty)
        #expect(announced.deadline == nil)
    }

    @Test func `a written batch counts as arrived when its local commit is durable`() {
        var announced = Announced()
        announced.addWritten(7, localCommit: 12, generation: 1)
        #expect(announced.arrived(through: 11) { _ in true }.isEmpty)
        #expect(announced.arrived(through: 12) { _ in true }.map(\.commit) == [7])
    }

    @Test func `an announcement that follows an unwritten batch waits until that is durable`() {
        var announced = Announced()
        func add(_ commit: UInt64, followsBatch: Bool = false) {
            let message = Announce(generation: 1, commit: commit, [])
            let isKept = announced.add(message, followsBatch: followsBatch, at: 0)
            #expect(isKept)
        }
        func arrived(_ durable: UInt64) -> [UInt64] {
            announced.arrived(through: durable) { _ in true }.map(\.commit)
        }
        add(4)
        add(6, followsBatch: true)
        // The batch of commit 5 takes its place between the announcements.
        announced.addWritten(5, localCommit: 12, generation: 1)
        #expect(announced.messages.map(\.commit) == [4, 5, 6])
        #expect(arrived(11) == [4])
        #expect(arrived(12) == [4, 5, 6])
        // One job writes commits 7 and 9, of which 8 follows the first.
        announced.removeFirst(3, through: 6, at: 0)
        add(8, followsBatch: true)
        announced.addWritten(9, localCommit: 14, generation: 1)
        #expect(arrived(13) == [])
        #expect(arrived(14) == [8, 9])
        // Those batches do not delay later announcements.
        announced.removeFirst(2, through: 9, at: 0)
        add(10)
        announced.addWritten(11, localCommit: 20, generation: 1)
        #expect(arrived(19) == [10])
    }

    @Test func `too many announcements are refused`() {
        var announced = Announced()
        var count = 0
        while announced.add(Announce(generation: 1, commit: 1, []), at: 0) { count += 1 }
        #expect(count == (8 << 20) / 64 - 1)
    }

    @Test func `announcements count with their documents until none is left`() {
        // With 128 for an entry and 64 for a message, each takes 65,536 bytes.
        let address = DocumentAddress(collection: "cars", id: [UInt8](repeating: 1, count: 65_324))
        let vector = VersionVector(Stamp(HybridTime(rawValue: 1), Site(rawValue: 1)))
        let message = Announce(
            generation: 1, commit: 1, [Announce.Entry(address: address, vector: vector)])
        func fill(_ announced: inout Announced) -> Int {
            var count = 0
            while announced.add(message, at: 0) { count += 1 }
            return count
        }
        var announced = Announced()
        for _ in 0..<100 { _ = announced.add(message, at: 0) }
        // The others still count, and those removed before them, too.
        announced.removeFirst(99, through: 0, at: 0)
        let more = fill(&announced)
        #expect(more == 27 && announced.messages.count == 29)
        announced.removeFirst(29, through: 1, at: 0)
        let all = fill(&announced)
        #expect(all == 127)
    }

    @Test func `an acknowledged batch does not delay announcements of its commit`() {
        var announced = Announced()
        announced.addWritten(7, localCommit: 30, generation: 1)
        announced.addWritten(9, localCommit: 20, generation: 1)
        #expect(announced.arrived(through: 29) { _ in true }.isEmpty)
        #expect(announced.arrived(through: 30) { $0.commit == 7 }.map(\.commit) == [7])
        #expect(announced.deadline == nil)
        announced.removeFirst(1, through: 7, at: 5)
        #expect(announced.deadline == 5 + timeout)
        let isKept = announced.add(Announce(generation: 1, commit: 7, []), at: 9)
        #expect(isKept && announced.deadline == 5 + timeout)
        #expect(announced.arrived(through: 19) { _ in true }.isEmpty)
        #expect(announced.arrived(through: 20) { _ in true }.map(\.commit) == [9, 7])
    }

    @Test func `a written batch precedes the announcements of later commits`() {
        var announced = Announced()
        for commit: UInt64 in [4, 6, 8] {
            let isKept = announced.add(Announce(generation: 1, commit: commit, []), at: 0)
            #expect(isKept)
        }
        for (commit, localCommit) in [(5, 30), (6, 31), (9, 32)] as [(UInt64, UInt64)] {
            announced.addWritten(commit, localCommit: localCommit, generation: 1)
        }
        for (durable, commits) in [
            (29, [4]), (30, [4, 5]), (31, [4, 5, 6, 6, 8]), (32, [4, 5, 6, 6, 8, 9]),
        ] as [(UInt64, [UInt64])] {
            let arrived = announced.arrived(through: durable) { $0.generation == 1 }
            #expect(arrived.map(\.commit) == commits, "\(durable)")
        }
    }

    /// Announces a write to a deleted document, from a peer that has lost the deletion.
    @Test func `an announced state that lacks local writes is repaired before it arrives`() throws {
        let all: DQL = "SELECT * FROM cars ORDER BY _id"
        let (source, reader) = (0, 1)
        let scene = try DocumentScene.announcing(
            "{'_id': 'a', 'n': 1}", after: "UPDATE cars SET m = 1")
        let merged = [#"{"_id":"a","m":1}"#, #"{"_id":"b"}"#]
        #expect(try scene.rows(reader, all) == [#"{"_id":"b"}"#])
        #expect(try scene.rows(source, all) == merged)
        // The announced document is requested after a timeout.
        for _ in 0..<3 { try scene.advance(milliseconds: 500) }
        for number in 0..<4 { #expect(try scene.rows(number, all) == merged, "peer \(number)") }
    }

    @Test(arguments: [(256, 1), (257, 0)])
    func `a commit of 256 documents is announced, and a longer one is sent`(
        _ count: Int, _ announcements: Int
    ) throws {
        let scene = try DocumentScene(3)
        for number in 0..<3 { try scene.subscribe(number, ["SELECT * FROM cars"]) }
        try scene.connect(0, 2)
        try scene.connect(2, 1)
        let direct = try scene.connect(0, 1)
        try scene.run()
        // Peer 1 gets the first document from peer 2 first.
        scene.hold(direct, to: 1)
        try scene.execute(0, "INSERT INTO cars DOCUMENTS ({'_id': 'first'})")
        try scene.run()
        try scene.letGo(direct, to: 1)
        #expect(scene.nodes[1].sent.contains(.announceOnly))
        let before = scene.nodes[0].sent.count { $0 == .announce }
        let cars = (0..<count).map { "({'_id': \($0)})" }.joined(separator: ", ")
        try scene.execute(0, DQL(verbatim: "INSERT INTO cars DOCUMENTS \(cars)"))
        try scene.run()
        #expect(scene.nodes[0].sent.count { $0 == .announce } - before == announcements)
        #expect(try scene.rows(1, "SELECT _id FROM cars").count == count + 1)
    }
}
