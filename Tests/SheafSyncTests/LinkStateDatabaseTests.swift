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
        print("maps, seed \(seed)")
    }

    /// Expects that each peer knows its current component, and that no messages follow.
    private func expectQuiet(_ scene: inout MapScene, _ comment: String = "") {
        scene.run(until: scene.now + 60 * Self.second)
        for index in scene.maps.indices {
            let violation = scene.violation(of: index)
            #expect(violation == nil, "\(comment), seed \(seed)")
        }
        let said = scene.messages
        scene.run(until: scene.now + 300 * Self.second)
        #expect(scene.messages == said, "\(comment), seed \(seed): not silent")
    }

    @Test mutating func `peers of random meshes know every peer they can reach`() {
        for life in 0..<40 as Range<UInt64> {
            var scene = MapScene(2 + random.below(12), SeededRandom(seed: seed &+ life, "life"))
            let count = scene.maps.count
            for _ in 0..<60 {
                switch random.below(10) {
                case 0..<5: scene.connect(random.below(count), random.below(count))
                case 5..<7:
                    let pairs = scene.pairs.sorted { $0.lexicographicallyPrecedes($1) }
                    if !pairs.isEmpty { scene.disconnect(pairs[random.below(pairs.count)]) }
                case 7:
                    let index = random.below(count)
                    let name = "called \(random.below(1_000))"
                    scene.maps[index].present(PeerRecord.Portrait(name: name), at: scene.now)
                case 8:
                    // Wall clocks may move forward or backward.
                    scene.reopen(random.below(count), opening: UInt64(random.below(2_000)))
                default: break
                }
                let pause = random.chance(1, in: 20) ? 200_000 : random.below(300)
                scene.run(until: scene.now + UInt64(pause) * 1_000_000)
                for map in scene.maps {
                    let violation = map.violation
                    #expect(violation == nil, "life \(life), seed \(seed)")
                }
            }
            expectQuiet(&scene, "life \(life)")
        }
    }

    @Test func `two partitions that reconnect exchange their changes`() {
        var scene = MapScene(8, random)
        for index in 1..<8 { scene.connect(index - 1, index) }
        expectQuiet(&scene)
        scene.disconnect([3, 4])
        expectQuiet(&scene)
        scene.maps[0].present(PeerRecord.Portrait(name: "first"), at: scene.now)
        scene.maps[7].present(PeerRecord.Portrait(name: "last"), at: scene.now)
        expectQuiet(&scene)
        #expect(scene.maps[0].reachable.count == 4)
        #expect(scene.maps[0].recordCount == 4, "unreachable records are removed")
        scene.connect(3, 4)
        expectQuiet(&scene)
        #expect(scene.maps[7].reachable.last?.portrait.name == "first")
    }

    @Test func `a peer reopened with an earlier clock replaces its old record`() {
        var scene = MapScene(3, random)
        scene.connect(0, 1)
        scene.connect(1, 2)
        expectQuiet(&scene)
        scene.reopen(0, opening: 1)
        scene.connect(0, 1)
        expectQuiet(&scene)
        #expect(scene.maps[2].reachable.last?.portrait.name == "peer 0 anew")
        #expect(scene.maps[0].own.version.opening > 1)
    }

    @Test func `rapid changes are coalesced into the newest record`() {
        var scene = MapScene(3, random)
        scene.connect(0, 1)
        scene.connect(1, 2)
        expectQuiet(&scene)
        let before = scene.messages
        for number in 0..<1_000 {
            scene.maps[0].present(PeerRecord.Portrait(name: "\(number)"), at: scene.now)
            scene.run(until: scene.now + 1_000_000)
        }
        expectQuiet(&scene)
        // Each of two connections carries ten messages per second, plus a few at the end.
        #expect(scene.messages - before <= 2 * 14)
        #expect(scene.maps[2].reachable.last?.portrait.name == "999")
    }

    @Test func `a peer's own record from before a clock change is no key conflict`() {
        var scene = MapScene(4, random)
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
        var scene = MapScene(4, random)
        scene.connect(0, 1)
        scene.connect(1, 2)
        scene.connect(2, 3)
        expectQuiet(&scene)
        // Replaces the last peer with a copy that has the key of the first.
        scene.maps[3] = LinkStateDatabase(
            MapScene.key(0), PeerRecord.Portrait(name: "copy"), opening: 5_000, salt: 9)
        scene.disconnect([2, 3])
        scene.run(until: scene.now + Self.second)
        scene.connect(2, 3)
        let begun = scene.now
        scene.run(until: scene.now + 10 * Self.second)
        // Each of the two reports the other once, with its neighbors.
        for (index, rival) in [(0, "copy"), (3, "peer 0")] {
            let told = scene.contested.filter { $0.index == index }
            #expect(told.map(\.rival.portrait.name) == [rival])
            let neighbors = told.first?.rival.neighbors.map(\.key)
            #expect(neighbors == [MapScene.key(index == 0 ? 2 : 1)])
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

    // MARK: False records

    private func record(
        _ index: Int, count: UInt64 = 1, opening: UInt64 = 1, name: String = "",
        metadata: Int = 0, near neighbors: [Int]
    ) -> PeerRecord {
        let text = metadata == 0 ? "" : "{\"a\":\"\(String(repeating: "a", count: metadata - 8))\"}"
        return PeerRecord(
            key: MapScene.key(index),
            version: PeerRecord.Version(opening: opening, salt: 1, count: count),
            PeerRecord.Portrait(name: name, metadata: Array(text.utf8)),
            neighbors: neighbors.map { PeerRecord.Neighbor(key: MapScene.key($0), kind: 0) })
    }

    @Test func `the record a neighbor sends about itself takes precedence over relayed records`() {
        var map = LinkStateDatabase(MapScene.key(0), PeerRecord.Portrait(), opening: 1, salt: 1)
        map.opened(1, to: MapScene.key(1), kind: 0, at: 0)
        map.opened(2, to: MapScene.key(2), kind: 0, at: 0)
        map.receive(PresenceMessage([record(1, name: "honest", near: [0])]), on: 1, at: 0)
        let lie = record(1, count: 9, opening: .max, name: "lie", near: [0])
        map.receive(PresenceMessage([record(2, near: [0]), lie]), on: 2, at: 0)
        #expect(map.reachable.map(\.portrait.name).sorted() == ["", "", "honest"])
        // The neighbor receives the false record so that it can supersede it.
        _ = map.drainActions(at: 0)
        map.acknowledged(on: 1)
        map.closed(1, at: 1)
        #expect(!map.reachable.contains { $0.portrait.name == "honest" })
    }

    /// A peer received the false record first, and the connection it came from has closed.
    @Test(arguments: 0..<8)
    func `a false record with the version of the true one is superseded`(_ number: Int) {
        var scene = MapScene(3, SeededRandom(seed: UInt64(number), "lies"))
        scene.connect(0, 1)
        scene.run(until: Self.second)
        let truth = scene.maps[0].own
        let lie = PeerRecord(
            key: truth.key, version: truth.version, truth.portrait,
            neighbors: [PeerRecord.Neighbor(key: MapScene.key(1), kind: UInt8(10 + number))])
        #expect(lie != truth && lie.version != truth.version)
        scene.maps[2].opened(99, to: MapScene.key(9), kind: 0, at: scene.now)
        scene.maps[2].receive(PresenceMessage([lie, record(9, near: [2])]), on: 99, at: scene.now)
        scene.maps[2].closed(99, at: scene.now)
        scene.connect(1, 2)
        scene.run(until: 30 * Self.second)
        for index in 0..<3 { #expect(scene.violation(of: index) == nil) }
    }

    @Test func `a connection named by one end only does not make a peer reachable`() {
        var map = LinkStateDatabase(MapScene.key(0), PeerRecord.Portrait(), opening: 1, salt: 1)
        map.opened(1, to: MapScene.key(1), kind: 0, at: 0)
        map.receive(
            PresenceMessage([
                record(1, near: [0, 2, 3]), record(2, near: [1]), record(3, near: []),
            ]),
            on: 1, at: 0)
        #expect(map.reachable.map(\.key) == [0, 1, 2].map(MapScene.key))
        #expect(map.recordCount == 4)
        map.tick(at: PresenceLimits.forgettingNanoseconds)
        #expect(map.recordCount == 3)
    }

    @Test func `a newer record is relayed even if it makes its peer unreachable`() {
        var map = LinkStateDatabase(MapScene.key(0), PeerRecord.Portrait(), opening: 1, salt: 1)
        for number in 1...2 as ClosedRange<UInt64> {
            map.opened(number, to: MapScene.key(Int(number)), kind: 0, at: 0)
        }
        map.receive(
            PresenceMessage([record(1, near: [0, 3]), record(3, near: [1])]), on: 1, at: 0)
        #expect(map.reachable.contains { $0.key == MapScene.key(3) })
        _ = map.drainActions(at: 0)
        map.acknowledged(on: 2)
        let newer = record(3, count: 2, near: [])
        map.receive(PresenceMessage([newer]), on: 1, at: 0)
        #expect(!map.reachable.contains { $0.key == MapScene.key(3) })
        // Otherwise the neighbor keeps the older record while the other end names the connection.
        let actions = map.drainActions(at: 0)
        #expect(actions.contains(.send(link: 2, PresenceMessage([newer]))))
    }

    @Test func `the record of a peer that becomes reachable again is sent again`() {
        var map = LinkStateDatabase(MapScene.key(0), PeerRecord.Portrait(), opening: 1, salt: 1)
        for number in 1...2 as ClosedRange<UInt64> {
            map.opened(number, to: MapScene.key(Int(number)), kind: 0, at: 0)
        }
        let far = record(3, near: [1])
        map.receive(PresenceMessage([record(1, near: [0, 3]), far]), on: 1, at: 0)
        for (count, near) in [(2, [0]), (3, [0, 3])] as [(UInt64, [Int])] {
            _ = map.drainActions(at: 0)
            map.acknowledged(on: 2)
            let next = record(1, count: count, near: near)
            map.receive(PresenceMessage([next]), on: 1, at: 0)
            // The other neighbor may have discarded the record in the meantime.
            let told = near.count > 1 ? [next, far] : [next]
            #expect(map.drainActions(at: 0).contains(.send(link: 2, PresenceMessage(told))))
        }
    }

    @Test func `forged records are limited, and records of nearby peers are kept`() throws {
        var map = LinkStateDatabase(MapScene.key(0), PeerRecord.Portrait(), opening: 1, salt: 1)
        map.opened(1, to: MapScene.key(1), kind: 0, at: 0)
        map.opened(2, to: MapScene.key(2), kind: 0, at: 0)
        map.receive(PresenceMessage([record(1, near: [0, 5_000])]), on: 1, at: 0)
        let crowd = Array(6..<906)
        map.receive(PresenceMessage([record(2, near: [0] + crowd)]), on: 2, at: 0)
        for start in stride(from: 0, to: crowd.count, by: 6) {
            let some = crowd[start..<min(start + 6, crowd.count)]
            let far = some.map { record($0, metadata: 4_000, near: [2, 2_000 + $0]) }
            let farther = some.map { record(2_000 + $0, metadata: 4_000, near: [$0]) }
            map.receive(PresenceMessage(far + farther), on: 2, at: 0)
            let violation = map.violation
            try #require(violation == nil)
        }
        let reached = map.reachable.count
        for number in 0..<20 {
            let strange = record(20_000 + number, metadata: 4_000, near: [])
            map.receive(PresenceMessage([strange]), on: 2, at: 0)
            let violation = map.violation
            try #require(violation == nil)
        }
        #expect(map.recordCount > 900)
        #expect(map.reachable.count == reached, "unreachable records displace no reachable peer")
        // A peer two connections away is accepted even when the table is full.
        map.receive(PresenceMessage([record(5_000, name: "near", near: [1])]), on: 1, at: 0)
        #expect(map.reachable.contains { $0.portrait.name == "near" })
        // Each neighbor gets one message at a time.
        let told = map.drainActions(at: 0).compactMap { action in
            if case .send(_, let message) = action { message.bytes.count } else { nil }
        }
        #expect(told.count == 2)
        #expect(told.allSatisfy { $0 <= PresenceLimits.messageLength })
        #expect(map.drainActions(at: 0).isEmpty)
    }

    @Test func `presence messages from a neighbor are accepted ten times a second`() {
        var map = LinkStateDatabase(MapScene.key(0), PeerRecord.Portrait(), opening: 1, salt: 1)
        map.opened(1, to: MapScene.key(1), kind: 0, at: 0)
        var (now, taken): (UInt64, Int) = (0, 0)
        var count: UInt64 = 0
        var waits = false
        while now < 10 * Self.second {
            if !waits {
                count += 1
                map.receive(PresenceMessage([record(1, count: count, near: [0])]), on: 1, at: now)
                waits = true
            }
            for action in map.drainActions(at: now) where action == .took(link: 1) {
                taken += 1
                waits = false
            }
            now += 1_000_000
            map.tick(at: now)
        }
        #expect((99...101).contains(taken))
    }
}
