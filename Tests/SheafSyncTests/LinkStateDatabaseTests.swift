import SheafSync
import SheafTestSupport
import Testing

/// Tests of the link-state database against a simulated mesh.
struct LinkStateDatabaseTests {
    private static let second: UInt64 = 1_000_000_000
    private let seed: UInt64
    private var random: SeededRandom

    init() {
        seed = UInt64.random(in: 0..<1_000_000_000)
        random = SeededRandom(seed: seed, "maps")
        print("link states, seed \(seed)")
    }

    /// Expects that each peer knows its current component, and that no messages follow.
    private func expectQuiet(_ scene: inout PresenceScene, _ comment: String = "") {
        scene.run(until: scene.now + 60 * Self.second)
        for index in scene.databases.indices {
            let violation = scene.violation(of: index)
            #expect(violation == nil, "\(comment), seed \(seed)")
        }
        let messages = scene.messages
        scene.run(until: scene.now + 300 * Self.second)
        #expect(scene.messages == messages, "\(comment), seed \(seed): not silent")
    }

    @Test mutating func `peers of random meshes know every peer they can reach`() {
        for run in 0..<40 as Range<UInt64> {
            var scene = PresenceScene(2 + random.below(12), SeededRandom(seed: seed &+ run, "life"))
            let count = scene.databases.count
            for _ in 0..<60 {
                switch random.below(10) {
                case 0..<5: scene.connect(random.below(count), random.below(count))
                case 5..<7:
                    let pairs = scene.pairs.sorted { $0.lexicographicallyPrecedes($1) }
                    if !pairs.isEmpty { scene.disconnect(pairs[random.below(pairs.count)]) }
                case 7:
                    let index = random.below(count)
                    let name = "called \(random.below(1_000))"
                    scene.databases[index].present(
                        PeerRecord.Description(name: name), at: scene.now)
                case 8:
                    // Wall clocks may move forward or backward.
                    scene.reopen(random.below(count), opening: UInt64(random.below(2_000)))
                default: break
                }
                let pause = random.chance(1, in: 20) ? 200_000 : random.below(300)
                scene.run(until: scene.now + UInt64(pause) * 1_000_000)
                for database in scene.databases {
                    let violation = database.violation
                    #expect(violation == nil, "run \(run), seed \(seed)")
                }
            }
            expectQuiet(&scene, "run \(run)")
        }
    }

    @Test func `two partitions that reconnect exchange their changes`() {
        var scene = PresenceScene(8, random)
        for index in 1..<8 { scene.connect(index - 1, index) }
        expectQuiet(&scene)
        scene.disconnect([3, 4])
        expectQuiet(&scene)
        scene.databases[0].present(PeerRecord.Description(name: "first"), at: scene.now)
        scene.databases[7].present(PeerRecord.Description(name: "last"), at: scene.now)
        expectQuiet(&scene)
        #expect(scene.databases[0].reachable.count == 4)
        #expect(scene.databases[0].recordCount == 4, "unreachable records are removed")
        scene.connect(3, 4)
        expectQuiet(&scene)
        #expect(scene.databases[7].reachable.last?.description.name == "first")
    }

    /// Changes the record 100 times: versions that differ only in a hash would sometimes decrease.
    @Test func `each change of a peer's own record increases its version`() {
        var scene = PresenceScene(1, random)
        var version = scene.databases[0].own.version
        for number in 1...100 {
            scene.databases[0].present(PeerRecord.Description(name: "\(number)"), at: scene.now)
            #expect(scene.databases[0].own.version > version, "change \(number), seed \(seed)")
            version = scene.databases[0].own.version
        }
    }

    @Test func `a peer reopened with an earlier clock replaces its old record`() {
        var scene = PresenceScene(3, random)
        scene.connect(0, 1)
        scene.connect(1, 2)
        expectQuiet(&scene)
        scene.reopen(0, opening: 1)
        scene.connect(0, 1)
        expectQuiet(&scene)
        #expect(scene.databases[2].reachable.last?.description.name == "peer 0 anew")
        #expect(scene.databases[0].own.version.opening > 1)
    }

    @Test func `rapid changes are coalesced into the newest record`() {
        var scene = PresenceScene(3, random)
        scene.connect(0, 1)
        scene.connect(1, 2)
        expectQuiet(&scene)
        let before = scene.messages
        for number in 0..<1_000 {
            scene.databases[0].present(PeerRecord.Description(name: "\(number)"), at: scene.now)
            scene.run(until: scene.now + 1_000_000)
        }
        expectQuiet(&scene)
        // Each of two connections carries ten messages per second, plus a few at the end.
        #expect(scene.messages - before <= 2 * 14)
        #expect(scene.databases[2].reachable.last?.description.name == "999")
    }

    @Test func `a peer's own record from before its clock was set is no key conflict`() {
        var scene = PresenceScene(4, random)
        for number in 1..<4 { scene.connect(number - 1, number) }
        scene.run(until: scene.now + 10 * Self.second)
        for opening: UInt64 in [50_000, 49_950, 49_990, 8_000] {
            scene.reopen(0, opening: opening)
            scene.connect(0, 1)
            expectQuiet(&scene)
        }
        #expect(scene.contested.isEmpty)
    }

    @Test func `two peers with one key supersede each other at a decreasing rate`() {
        var scene = PresenceScene(4, random)
        scene.connect(0, 1)
        scene.connect(1, 2)
        scene.connect(2, 3)
        expectQuiet(&scene)
        // Replaces the last peer with a copy that has the key of the first.
        scene.databases[3] = LinkStateDatabase(
            PresenceScene.key(0), PeerRecord.Description(name: "copy"), opening: 5_000, salt: 9)
        scene.disconnect([2, 3])
        scene.run(until: scene.now + Self.second)
        scene.connect(2, 3)
        let begun = scene.now
        scene.run(until: scene.now + 10 * Self.second)
        // Each of the two reports the other once, with its neighbors.
        for (index, conflict) in [(0, "copy"), (3, "peer 0")] {
            let informed = scene.contested.filter { $0.index == index }
            #expect(informed.map(\.rival.description.name) == [conflict])
            let neighbors = informed.first?.rival.neighbors.map(\.key)
            #expect(neighbors == [PresenceScene.key(index == 0 ? 2 : 1)])
        }
        scene.run(until: begun + 600 * Self.second)
        #expect(scene.contested.count == 2)
        let before = scene.messages
        scene.run(until: scene.now + 600 * Self.second)
        #expect(scene.messages > before, "both keep superseding")
        #expect(scene.messages - before < 200)
        // A lasting conflict is reported again.
        #expect(Set(scene.contested.dropFirst(2).map(\.index)) == [0, 3])
        #expect(scene.contested.count <= 4)
    }

    private func record(
        _ index: Int, count: UInt64 = 1, opening: UInt64 = 1, name: String = "",
        metadata: Int = 0, near neighbors: [Int]
    ) -> PeerRecord {
        let text = metadata == 0 ? "" : "{\"a\":\"\(String(repeating: "a", count: metadata - 8))\"}"
        return PeerRecord(
            key: PresenceScene.key(index),
            version: PeerRecord.Version(opening: opening, salt: 1, count: count),
            PeerRecord.Description(name: name, metadata: Array(text.utf8)),
            neighbors: neighbors.map { PeerRecord.Neighbor(key: PresenceScene.key($0), kind: 0) })
    }

    @Test func `the record a neighbor sends about itself takes precedence over relayed records`() {
        var database = LinkStateDatabase(
            PresenceScene.key(0), PeerRecord.Description(), opening: 1, salt: 1)
        database.opened(1, to: PresenceScene.key(1), kind: 0, at: 0)
        database.opened(2, to: PresenceScene.key(2), kind: 0, at: 0)
        database.receive(PresenceMessage([record(1, name: "honest", near: [0])]), on: 1, at: 0)
        let falseRecord = record(1, count: 9, opening: .max, name: "lie", near: [0])
        database.receive(PresenceMessage([record(2, near: [0]), falseRecord]), on: 2, at: 0)
        #expect(database.reachable.map(\.description.name).sorted() == ["", "", "honest"])
        // The neighbor receives the false record so that it can supersede it.
        _ = database.drainActions(at: 0)
        database.acknowledged(on: 1)
        database.closed(1, at: 1)
        #expect(!database.reachable.contains { $0.description.name == "honest" })
    }

    /// A peer received the false record first, and the connection it came from has closed.
    @Test(arguments: 0..<8)
    func `a false record with the version numbers of the true one is superseded`(_ number: Int) {
        var scene = PresenceScene(3, SeededRandom(seed: UInt64(number), "lies"))
        scene.connect(0, 1)
        scene.run(until: Self.second)
        let truth = scene.databases[0].own
        let falseRecord = PeerRecord(
            key: truth.key, version: truth.version, truth.description,
            neighbors: [PeerRecord.Neighbor(key: PresenceScene.key(1), kind: UInt8(10 + number))])
        #expect(falseRecord != truth && falseRecord.version != truth.version)
        scene.databases[2].opened(99, to: PresenceScene.key(9), kind: 0, at: scene.now)
        scene.databases[2].receive(
            PresenceMessage([falseRecord, record(9, near: [2])]), on: 99, at: scene.now)
        scene.databases[2].closed(99, at: scene.now)
        scene.connect(1, 2)
        scene.run(until: 30 * Self.second)
        for index in 0..<3 { #expect(scene.violation(of: index) == nil) }
    }

    @Test func `a connection named by one end only does not make a peer reachable`() {
        var database = LinkStateDatabase(
            PresenceScene.key(0), PeerRecord.Description(), opening: 1, salt: 1)
        database.opened(1, to: PresenceScene.key(1), kind: 0, at: 0)
        database.receive(
            PresenceMessage([
                record(1, near: [0, 2, 3]), record(2, near: [1]), record(3, near: []),
            ]),
            on: 1, at: 0)
        #expect(database.reachable.map(\.key) == [0, 1, 2].map(PresenceScene.key))
        #expect(database.recordCount == 4)
        database.tick(at: PresenceLimits.retentionNanoseconds)
        #expect(database.recordCount == 3)
    }

    @Test func `a newer record is relayed even if it makes its peer unreachable`() {
        var database = LinkStateDatabase(
            PresenceScene.key(0), PeerRecord.Description(), opening: 1, salt: 1)
        for number in 1...2 as ClosedRange<UInt64> {
            database.opened(number, to: PresenceScene.key(Int(number)), kind: 0, at: 0)
        }
        database.receive(
            PresenceMessage([record(1, near: [0, 3]), record(3, near: [1])]), on: 1, at: 0)
        #expect(database.reachable.contains { $0.key == PresenceScene.key(3) })
        _ = database.drainActions(at: 0)
        database.acknowledged(on: 2)
        let newer = record(3, count: 2, near: [])
        database.receive(PresenceMessage([newer]), on: 1, at: 0)
        #expect(!database.reachable.contains { $0.key == PresenceScene.key(3) })
        // Otherwise the neighbor keeps the older record while the other end names the connection.
        let actions = database.drainActions(at: 0)
        #expect(actions.contains(.send(connection: 2, PresenceMessage([newer]))))
    }

    @Test func `the record of a peer that becomes reachable again is sent again`() {
        var database = LinkStateDatabase(
            PresenceScene.key(0), PeerRecord.Description(), opening: 1, salt: 1)
        for number in 1...2 as ClosedRange<UInt64> {
            database.opened(number, to: PresenceScene.key(Int(number)), kind: 0, at: 0)
        }
        let far = record(3, near: [1])
        database.receive(PresenceMessage([record(1, near: [0, 3]), far]), on: 1, at: 0)
        for (count, near) in [(2, [0]), (3, [0, 3])] as [(UInt64, [Int])] {
            _ = database.drainActions(at: 0)
            database.acknowledged(on: 2)
            let next = record(1, count: count, near: near)
            database.receive(PresenceMessage([next]), on: 1, at: 0)
            // The other neighbor may have discarded the record in the meantime.
            let informed = near.count > 1 ? [next, far] : [next]
            #expect(
                database.drainActions(at: 0).contains(
                    .send(connection: 2, PresenceMessage(informed))))
        }
    }

    @Test func `forged records are limited, and records of nearby peers are kept`() throws {
        var database = LinkStateDatabase(
            PresenceScene.key(0), PeerRecord.Description(), opening: 1, salt: 1)
        database.opened(1, to: PresenceScene.key(1), kind: 0, at: 0)
        database.opened(2, to: PresenceScene.key(2), kind: 0, at: 0)
        database.receive(PresenceMessage([record(1, near: [0, 5_000])]), on: 1, at: 0)
        let manyKeys = Array(6..<906)
        database.receive(PresenceMessage([record(2, near: [0] + manyKeys)]), on: 2, at: 0)
        for start in stride(from: 0, to: manyKeys.count, by: 6) {
            let some = manyKeys[start..<min(start + 6, manyKeys.count)]
            let far = some.map { record($0, metadata: 4_000, near: [2, 2_000 + $0]) }
            let farther = some.map { record(2_000 + $0, metadata: 4_000, near: [$0]) }
            database.receive(PresenceMessage(far + farther), on: 2, at: 0)
            let violation = database.violation
            try #require(violation == nil)
        }
        let reached = database.reachable.count
        for number in 0..<20 {
            let strange = record(20_000 + number, metadata: 4_000, near: [])
            database.receive(PresenceMessage([strange]), on: 2, at: 0)
            let violation = database.violation
            try #require(violation == nil)
        }
        #expect(database.recordCount > 900)
        #expect(
            database.reachable.count == reached, "unreachable records displace no reachable peer")
        // A peer two connections away is accepted even when the table is full.
        database.receive(PresenceMessage([record(5_000, name: "near", near: [1])]), on: 1, at: 0)
        #expect(database.reachable.contains { $0.description.name == "near" })
        // Each neighbor gets one message at a time.
        let informed = database.drainActions(at: 0).compactMap { action in
            if case .send(_, let message) = action { message.bytes.count } else { nil }
        }
        #expect(informed.count == 2)
        #expect(informed.allSatisfy { $0 <= PresenceLimits.messageLength })
        #expect(database.drainActions(at: 0).isEmpty)
    }

    @Test func `presence messages from a neighbor are accepted ten times a second`() {
        var database = LinkStateDatabase(
            PresenceScene.key(0), PeerRecord.Description(), opening: 1, salt: 1)
        database.opened(1, to: PresenceScene.key(1), kind: 0, at: 0)
        var (now, taken): (UInt64, Int) = (0, 0)
        var count: UInt64 = 0
        var waits = false
        while now < 10 * Self.second {
            if !waits {
                count += 1
                database.receive(
                    PresenceMessage([record(1, count: count, near: [0])]), on: 1, at: now)
                waits = true
            }
            for action in database.drainActions(at: now)
            where action == .acknowledged(connection: 1) {
                taken += 1
                waits = false
            }
            now += 1_000_000
            database.tick(at: now)
        }
        #expect((99...101).contains(taken))
    }
}
