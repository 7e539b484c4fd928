import SheafSync
import Testing

/// The times at which presence messages may follow each other, and the number of other hubs.
struct PresenceIntervalTests {
    private static let second: UInt64 = 1_000_000_000
    private var database = LinkStateDatabase(
        PresenceScene.key(0), PeerRecord.Description(), opening: 1, salt: 1)

    private func record(_ number: Int, _ count: UInt64) -> PeerRecord {
        PeerRecord(
            key: PresenceScene.key(number), version: .init(opening: 5, salt: 1, count: count),
            PeerRecord.Description(name: "peer"),
            neighbors: [PeerRecord.Neighbor(key: PresenceScene.key(0), kind: 0)])
    }

    /// Returns the number of broadcasts that are sent now.
    private mutating func broadcasts(at now: UInt64) -> Int {
        database.drainActions(at: now).count { action in
            if case .send(LinkStateDatabase.broadcasts, _) = action { true } else { false }
        }
    }

    @Test func `the limits are the documented ones`() {
        #expect(PresenceLimits.records == 1_024)
        #expect(PresenceLimits.recordBytes == 4_194_304)
        #expect(PresenceLimits.neighbors == 1_023)
        #expect(PresenceLimits.messageLength == 65_536)
        #expect(PresenceLimits.hubs == 256)
        #expect(PresenceLimits.retentionNanoseconds == 120 * Self.second)
        #expect(PresenceLimits.firstWaitNanoseconds == Self.second)
        #expect(PresenceLimits.longestWaitNanoseconds == 64 * Self.second)
        #expect(PresenceLimits.conflictReportInterval == 600 * Self.second)
        #expect(PresenceLimits.conflictSteps == 100)
    }

    @Test mutating func `messages of a neighbor are acknowledged 100 milliseconds apart`() {
        database.opened(1, to: PresenceScene.key(1), kind: 0, at: 0)
        database.receive(PresenceMessage([record(1, 1)]), on: 1, at: Self.second)
        let first = database.drainActions(at: Self.second)
        #expect(first.contains(.acknowledged(connection: 1)))
        database.receive(PresenceMessage([record(1, 2)]), on: 1, at: Self.second + 1)
        let early = database.drainActions(at: Self.second + 99_999_999)
        #expect(!early.contains(.acknowledged(connection: 1)))
        #expect(database.deadline == Self.second + 100_000_000)
        database.tick(at: Self.second + 100_000_000)
        let due = database.drainActions(at: Self.second + 100_000_000)
        #expect(due.contains(.acknowledged(connection: 1)))
    }

    @Test mutating func `changes of a hub are broadcast a second apart`() {
        database.setHubs([PresenceScene.key(9): 1], at: Self.second)
        let first = broadcasts(at: Self.second)
        #expect(first == 1)
        database.continueBroadcasts(at: Self.second)
        database.present(PeerRecord.Description(name: "one"), at: Self.second)
        let second = broadcasts(at: Self.second)
        #expect(second == 1)
        database.present(PeerRecord.Description(name: "two"), at: Self.second)
        var counts: [Int] = []
        for now in [Self.second, 2 * Self.second - 1, 2 * Self.second] {
            database.continueBroadcasts(at: now)
            counts.append(broadcasts(at: now))
        }
        #expect(counts == [0, 0, 1])
    }

    @Test(arguments: [(11 * second - 1, 0), (11 * second, 1)] as [(UInt64, Int)])
    mutating func `a hub repeats its records after ten seconds`(_ now: UInt64, _ count: Int) {
        database.setHubs([PresenceScene.key(9): 1], at: Self.second)
        _ = broadcasts(at: Self.second)
        database.continueBroadcasts(at: 2 * Self.second)
        let quiet = broadcasts(at: 2 * Self.second)
        #expect(quiet == 0)
        database.continueBroadcasts(at: now)
        let repeated = broadcasts(at: now)
        #expect(repeated == count)
    }

    @Test(arguments: [256, 257])
    mutating func `a hub lists 256 other hubs as neighbors`(_ count: Int) {
        let hubs = (1...count).map { (PresenceScene.key($0), UInt64(1)) }
        database.setHubs(Dictionary(uniqueKeysWithValues: hubs), at: Self.second)
        #expect(database.own.neighbors.count == 256)
        #expect(database.violation == nil)
    }

    // MARK: Conflicts

    /// Receives a record with the key of the local peer, which another peer has written.
    private mutating func receiveOwn(opening: UInt64, at now: UInt64) {
        let record = PeerRecord(
            key: PresenceScene.key(0), version: .init(opening: opening, salt: 9, count: 1),
            PeerRecord.Description(), neighbors: [])
        database.receive(PresenceMessage([record]), on: 1, at: now)
    }

    /// Begins a conflict, which is resolved at once; the opening of the local record is 11 then.
    private mutating func beginConflict(at now: UInt64) {
        database.opened(1, to: PresenceScene.key(1), kind: 0, at: 0)
        receiveOwn(opening: 10, at: now)
        #expect(database.own.version.opening == 11)
        _ = database.drainActions(at: now)
    }

    /// Whether a conflict is reported now.
    private mutating func reports(at now: UInt64) -> Bool {
        database.drainActions(at: now).contains { action in
            if case .contested = action { true } else { false }
        }
    }

    /// Receives a newer record at `now`, and checks that it is superseded after the wait.
    private mutating func expectWait(_ seconds: UInt64, from now: UInt64) {
        let opening = database.own.version.opening
        receiveOwn(opening: opening + 1, at: now)
        database.tick(at: now + seconds * Self.second - 1)
        #expect(database.own.version.opening == opening, "before \(seconds) s")
        database.tick(at: now + seconds * Self.second)
        #expect(database.own.version.opening == opening + 2, "after \(seconds) s")
    }

    @Test(arguments: [(600 * second - 1, 64), (600 * second, 1)] as [(UInt64, UInt64)])
    mutating func `records of a rival are superseded ever later, and sooner after a pause`(
        _ pause: UInt64, _ wait: UInt64
    ) {
        var now = 1_000 * Self.second
        beginConflict(at: now)
        for seconds: UInt64 in [1, 2, 4, 8, 16, 32, 64, 64] {
            expectWait(seconds, from: now)
            now += seconds * Self.second
        }
        // Another record may be superseded at once from this time on.
        now += 64 * Self.second + pause
        let opening = database.own.version.opening
        receiveOwn(opening: opening + 1, at: now)
        #expect(database.own.version.opening == opening + 2)
        expectWait(wait, from: now)
    }

    @Test mutating func `a conflict is reported once in ten minutes`() {
        let start = 1_000 * Self.second
        beginConflict(at: start)
        var reported: [Bool] = []
        for now in [start, start + 600 * Self.second - 1, start + 600 * Self.second] {
            database.tick(at: now)
            receiveOwn(opening: database.own.version.opening + 1, at: now)
            reported.append(reports(at: now))
        }
        #expect(reported == [true, false, true])
    }

    @Test(arguments: [(100, true), (101, false)] as [(UInt64, Bool)])
    mutating func `a record at most 100 openings ahead is one of another peer`(
        _ steps: UInt64, _ isReported: Bool
    ) {
        let start = 1_000 * Self.second
        beginConflict(at: start)
        receiveOwn(opening: 11 + steps, at: start)
        let isFound = reports(at: start)
        #expect(isFound == isReported)
    }
}
