import SheafSync
import Testing

/// Tests of the actions that follow from each event of a link-state database.
struct PresenceActionTests {
    private static let second: UInt64 = 1_000_000_000

    /// A database with two neighbors, the first of which has connections to a third peer.
    private var database = LinkStateDatabase(
        PresenceScene.key(0), PeerRecord.Description(), opening: 1, salt: 1)
    private var now: UInt64 = 0

    init() {
        for number in 1...2 as ClosedRange<UInt64> {
            database.opened(number, to: PresenceScene.key(Int(number)), kind: 2, at: now)
            receive([record(Int(number), near: number == 1 ? [0, 3] : [0])], on: number)
        }
        receive([record(3, near: [1])], on: 1)
        settle()
    }

    private func record(
        _ index: Int, _ count: UInt64 = 1, near neighbors: [Int], metadata: Int = 0
    ) -> PeerRecord {
        PeerRecord(
            key: PresenceScene.key(index),
            version: PeerRecord.Version(opening: 1, salt: 1, count: count),
            PeerRecord.Description(metadata: [UInt8](repeating: 32, count: metadata)),
            neighbors: neighbors.map { PeerRecord.Neighbor(key: PresenceScene.key($0), kind: 2) })
    }

    private mutating func receive(_ records: [PeerRecord], on number: UInt64) {
        database.receive(PresenceMessage(records), on: number, at: now)
    }

    /// Lets the neighbors acknowledge all messages, and a second pass.
    private mutating func settle() {
        while true {
            now += Self.second
            database.tick(at: now)
            let actions = database.drainActions(at: now)
            if actions.isEmpty { return }
            for case .send(let number, _) in actions { database.acknowledged(on: number) }
        }
    }

    private mutating func actions() -> [LinkStateDatabase.Action] {
        database.drainActions(at: now)
    }

    @Test mutating func `a newer record is sent to the other neighbors, and reported`() {
        #expect(database.reachable.count == 4 && database.deadline == nil)
        let newer = record(3, 2, near: [1], metadata: 5)
        receive([newer], on: 1)
        let found = actions()
        #expect(
            found == [
                .acknowledged(connection: 1), .send(connection: 2, PresenceMessage([newer])),
                .changed,
            ])
        let none = actions()
        #expect(none.isEmpty)
    }

    @Test mutating func `a record that is known is only acknowledged`() {
        receive([record(3, near: [1])], on: 1)
        let first = actions()
        #expect(first == [.acknowledged(connection: 1)])
        now += Self.second
        receive([record(3, near: [1])], on: 2)
        let second = actions()
        #expect(second == [.acknowledged(connection: 2)])
    }

    @Test mutating func `a neighbor with an older record gets the newer one`() {
        let newer = record(3, 5, near: [1])
        receive([newer], on: 1)
        settle()
        for number in [1, 2] as [UInt64] {
            receive([record(3, 4, near: [])], on: number)
            let found = actions()
            #expect(
                found == [
                    .acknowledged(connection: number),
                    .send(connection: number, PresenceMessage([newer])),
                ])
            database.acknowledged(on: number)
            now += Self.second
        }
        #expect(database.reachable.count == 4)
    }

    @Test mutating func `a neighbor with an older record of this peer gets the own one`() {
        let own = database.own
        let older = PeerRecord(
            key: own.key, version: PeerRecord.Version(opening: 1, salt: 0, count: 9),
            PeerRecord.Description(name: "older"), neighbors: [])
        receive([older, own], on: 2)
        let found = actions()
        #expect(
            found == [
                .acknowledged(connection: 2), .send(connection: 2, PresenceMessage([own])),
            ])
        #expect(database.own == own)
    }

    @Test mutating func `records of peers without a route are kept for two minutes`() {
        let end = now + PresenceLimits.retentionNanoseconds
        receive([record(7, near: [8])], on: 1)
        let first = actions()
        #expect(first == [.acknowledged(connection: 1), .changed])
        now += Self.second
        receive([record(7, 2, near: [8], metadata: 5)], on: 1)
        let second = actions()
        #expect(second == [.acknowledged(connection: 1)])
        #expect(database.recordCount == 5 && database.deadline == end)
        database.tick(at: end - 1)
        #expect(database.recordCount == 5)
        database.tick(at: end)
        #expect(database.recordCount == 4 && database.violation == nil)
        now = end
        let removed = actions()
        #expect(removed.isEmpty && database.deadline == nil)
        // The next new record is not taken for the removed one.
        let (changed, other) = (record(2, 2, near: [0, 9]), record(9, near: [2]))
        receive([changed, other], on: 2)
        let last = actions()
        #expect(
            last == [
                .send(connection: 1, PresenceMessage([changed, other])),
                .acknowledged(connection: 2), .changed,
            ])
    }

    @Test mutating func `a peer that is not reached any more is reported, and removed later`() {
        let end = now + PresenceLimits.retentionNanoseconds
        receive([record(1, 2, near: [0])], on: 1)
        let lost = actions()
        #expect(lost.last == .changed && database.reachable.count == 3)
        #expect(database.deadline == end)
        settle()
        // A newer record of the peer is reported, since its addresses may differ, and not sent.
        receive([record(3, 2, near: [1])], on: 1)
        let changed = actions()
        #expect(changed == [.acknowledged(connection: 1), .changed])
        now = end
        database.tick(at: now)
        let removed = actions()
        #expect(removed == [.changed] && database.recordCount == 3)
    }

    @Test mutating func `only a changed description is sent to all neighbors`() {
        database.present(PeerRecord.Description(), at: now)
        let none = actions()
        #expect(none.isEmpty)
        let version = database.own.version
        database.present(PeerRecord.Description(name: "new"), at: now)
        #expect(database.own.version > version && database.own.version.count == version.count + 1)
        #expect(database.description.name == "new")
        let found = actions()
        let message = PresenceMessage([database.own])
        #expect(
            found == [
                .send(connection: 1, message), .send(connection: 2, message), .changed,
            ])
        // The neighbors have not acknowledged it yet.
        database.present(PeerRecord.Description(name: "newer"), at: now)
        let waiting = actions()
        #expect(waiting == [.changed])
        database.acknowledged(on: 2)
        let next = actions()
        #expect(next == [.send(connection: 2, PresenceMessage([database.own]))])
    }

    @Test mutating func `a new neighbor gets all reachable records, the nearest first`() {
        receive([record(7, near: [8])], on: 1)
        settle()
        database.opened(4, to: PresenceScene.key(4), kind: 2, at: now)
        var sent: [UInt64: [[UInt8]]] = [:]
        for case .send(let number, let message) in actions() {
            sent[number] = message.records.map(\.key)
        }
        let keys = (0...3).map(PresenceScene.key)
        #expect(sent == [1: [keys[0]], 2: [keys[0]], 4: keys])
    }

    /// The own record has 227 bytes, those of the neighbors 194 and 161, and the other one 161
    /// without metadata; each message has 8 bytes besides them.
    @Test(arguments: [(64_785, 4), (64_786, 3)])
    mutating func `a message has records of at most 65,536 bytes`(
        _ length: Int, _ count: Int
    ) {
        receive([record(3, 2, near: [1], metadata: length)], on: 1)
        settle()
        database.opened(4, to: PresenceScene.key(4), kind: 2, at: now)
        var counts: [Int] = []
        for _ in 0..<2 {
            for case .send(4, let message) in actions() { counts.append(message.records.count) }
            database.acknowledged(on: 4)
        }
        #expect(counts == (count == 4 ? [4] : [3, 1]))
    }
}
