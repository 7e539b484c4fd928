import SheafSync
import SheafTestSupport
import Testing

/// What each peer knows of a mesh, against the mesh.
struct MeshMapTests {
    private static let second: UInt64 = 1_000_000_000
    private let seed: UInt64
    private var random: SeededRandom

    init() {
        seed = UInt64.random(in: 0..<1_000_000_000)
        random = SeededRandom(seed: seed, "maps")
        print("maps, seed \(seed)")
    }

    /// All peers know all that they can reach, as it is; then nobody says a word.
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

    @Test mutating func `peers of random meshes know all whom they can reach`() {
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
                    // Clocks are put forward, and back.
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

    @Test func `two halves that meet again tell each other what has changed`() {
        var scene = MapScene(8, random)
        for index in 1..<8 { scene.connect(index - 1, index) }
        expectQuiet(&scene)
        scene.disconnect([3, 4])
        expectQuiet(&scene)
        scene.maps[0].present(PeerRecord.Portrait(name: "first"), at: scene.now)
        scene.maps[7].present(PeerRecord.Portrait(name: "last"), at: scene.now)
        expectQuiet(&scene)
        #expect(scene.maps[0].reachable.count == 4)
        #expect(scene.maps[0].recordCount == 4, "those who are gone are forgotten")
        scene.connect(3, 4)
        expectQuiet(&scene)
        #expect(scene.maps[7].reachable.last?.portrait.name == "first")
    }

    @Test func `a peer whose clock was put back is known as it is`() {
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

    @Test func `what changes often goes as the newest only`() {
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
        // Over each of two connections ten in the second that this took, and some behind it.
        #expect(scene.messages - before <= 2 * 14)
        #expect(scene.maps[2].reachable.last?.portrait.name == "999")
    }

    @Test func `what a peer was before its clock was put back is no other peer`() {
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

    @Test func `two peers with one key quarrel ever more seldom`() {
        var scene = MapScene(4, random)
        scene.connect(0, 1)
        scene.connect(1, 2)
        scene.connect(2, 3)
        expectQuiet(&scene)
        // The last one is a copy of the first one from now on.
        scene.maps[3] = MeshMap(
            MapScene.key(0), PeerRecord.Portrait(name: "copy"), opening: 5_000, salt: 9)
        scene.disconnect([2, 3])
        scene.run(until: scene.now + Self.second)
        scene.connect(2, 3)
        let begun = scene.now
        scene.run(until: scene.now + 10 * Self.second)
        // Each of the two hears of the other one, and where it is, soon and once.
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
        #expect(scene.messages > before, "neither gives in")
        #expect(scene.messages - before < 200)
        // For as long as they quarrel they are told again.
        #expect(Set(scene.contested.dropFirst(2).map(\.index)) == [0, 3])
        #expect(scene.contested.count <= 4)
    }

    // MARK: One who lies

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

    @Test func `a neighbor speaks for itself, whatever others tell of it`() {
        var map = MeshMap(MapScene.key(0), PeerRecord.Portrait(), opening: 1, salt: 1)
        map.opened(1, to: MapScene.key(1), kind: 0, at: 0)
        map.opened(2, to: MapScene.key(2), kind: 0, at: 0)
        map.heard(PresenceMessage([record(1, name: "honest", near: [0])]), on: 1, at: 0)
        let lie = record(1, count: 9, opening: .max, name: "lie", near: [0])
        map.heard(PresenceMessage([record(2, near: [0]), lie]), on: 2, at: 0)
        #expect(map.reachable.map(\.portrait.name).sorted() == ["", "", "honest"])
        // It hears of the lie, so that it can overtake it.
        _ = map.takeActions(at: 0)
        map.taken(on: 1)
        map.closed(1, at: 1)
        #expect(!map.reachable.contains { $0.portrait.name == "honest" })
    }

    /// Somebody heard the lie before the truth, and nobody is there any more who told it.
    @Test(arguments: 0..<8)
    func `a lie with the numbers of the truth is overtaken`(_ number: Int) {
        var scene = MapScene(3, SeededRandom(seed: UInt64(number), "lies"))
        scene.connect(0, 1)
        scene.run(until: Self.second)
        let truth = scene.maps[0].own
        let lie = PeerRecord(
            key: truth.key, version: truth.version, truth.portrait,
            neighbors: [PeerRecord.Neighbor(key: MapScene.key(1), kind: UInt8(10 + number))])
        #expect(lie != truth && lie.version != truth.version)
        scene.maps[2].opened(99, to: MapScene.key(9), kind: 0, at: scene.now)
        scene.maps[2].heard(PresenceMessage([lie, record(9, near: [2])]), on: 99, at: scene.now)
        scene.maps[2].closed(99, at: scene.now)
        scene.connect(1, 2)
        scene.run(until: 30 * Self.second)
        for index in 0..<3 { #expect(scene.violation(of: index) == nil) }
    }

    @Test func `nobody is reached over a connection that one end does not name`() {
        var map = MeshMap(MapScene.key(0), PeerRecord.Portrait(), opening: 1, salt: 1)
        map.opened(1, to: MapScene.key(1), kind: 0, at: 0)
        map.heard(
            PresenceMessage([
                record(1, near: [0, 2, 3]), record(2, near: [1]), record(3, near: []),
            ]),
            on: 1, at: 0)
        #expect(map.reachable.map(\.key) == [0, 1, 2].map(MapScene.key))
        #expect(map.recordCount == 4)
        map.tick(at: PresenceLimits.forgettingNanoseconds)
        #expect(map.recordCount == 3)
    }

    @Test func `who is out of reach by what it says now is told of all the same`() {
        var map = MeshMap(MapScene.key(0), PeerRecord.Portrait(), opening: 1, salt: 1)
        for number in 1...2 as ClosedRange<UInt64> {
            map.opened(number, to: MapScene.key(Int(number)), kind: 0, at: 0)
        }
        map.heard(PresenceMessage([record(1, near: [0, 3]), record(3, near: [1])]), on: 1, at: 0)
        #expect(map.reachable.contains { $0.key == MapScene.key(3) })
        _ = map.takeActions(at: 0)
        map.taken(on: 2)
        let newer = record(3, count: 2, near: [])
        map.heard(PresenceMessage([newer]), on: 1, at: 0)
        #expect(!map.reachable.contains { $0.key == MapScene.key(3) })
        // Otherwise it would believe the older one for as long as the other end names the connection.
        let actions = map.takeActions(at: 0)
        #expect(actions.contains(.tell(link: 2, PresenceMessage([newer]))))
    }

    @Test func `who comes back unchanged is told of again`() {
        var map = MeshMap(MapScene.key(0), PeerRecord.Portrait(), opening: 1, salt: 1)
        for number in 1...2 as ClosedRange<UInt64> {
            map.opened(number, to: MapScene.key(Int(number)), kind: 0, at: 0)
        }
        let far = record(3, near: [1])
        map.heard(PresenceMessage([record(1, near: [0, 3]), far]), on: 1, at: 0)
        for (count, near) in [(2, [0]), (3, [0, 3])] as [(UInt64, [Int])] {
            _ = map.takeActions(at: 0)
            map.taken(on: 2)
            let next = record(1, count: count, near: near)
            map.heard(PresenceMessage([next]), on: 1, at: 0)
            // Meanwhile the other neighbor may have forgotten it.
            let told = near.count > 1 ? [next, far] : [next]
            #expect(map.takeActions(at: 0).contains(.tell(link: 2, PresenceMessage(told))))
        }
    }

    @Test func `a neighbor that makes up peers is bounded, and those near stay known`() throws {
        var map = MeshMap(MapScene.key(0), PeerRecord.Portrait(), opening: 1, salt: 1)
        map.opened(1, to: MapScene.key(1), kind: 0, at: 0)
        map.opened(2, to: MapScene.key(2), kind: 0, at: 0)
        map.heard(PresenceMessage([record(1, near: [0, 5_000])]), on: 1, at: 0)
        let crowd = Array(6..<906)
        map.heard(PresenceMessage([record(2, near: [0] + crowd)]), on: 2, at: 0)
        for start in stride(from: 0, to: crowd.count, by: 6) {
            let some = crowd[start..<min(start + 6, crowd.count)]
            let far = some.map { record($0, metadata: 4_000, near: [2, 2_000 + $0]) }
            let farther = some.map { record(2_000 + $0, metadata: 4_000, near: [$0]) }
            map.heard(PresenceMessage(far + farther), on: 2, at: 0)
            let violation = map.violation
            try #require(violation == nil)
        }
        let reached = map.reachable.count
        for number in 0..<20 {
            let strange = record(20_000 + number, metadata: 4_000, near: [])
            map.heard(PresenceMessage([strange]), on: 2, at: 0)
            let violation = map.violation
            try #require(violation == nil)
        }
        #expect(map.recordCount > 900)
        #expect(map.reachable.count == reached, "whom nobody reaches keeps nobody out")
        // Somebody at two connections comes in, however many there are.
        map.heard(PresenceMessage([record(5_000, name: "near", near: [1])]), on: 1, at: 0)
        #expect(map.reachable.contains { $0.portrait.name == "near" })
        // All that anybody is told at a time is one message.
        let told = map.takeActions(at: 0).compactMap { action in
            if case .tell(_, let message) = action { message.bytes.count } else { nil }
        }
        #expect(told.count == 2)
        #expect(told.allSatisfy { $0 <= PresenceLimits.messageLength })
        #expect(map.takeActions(at: 0).isEmpty)
    }

    @Test func `what a neighbor says is taken ten times in a second`() {
        var map = MeshMap(MapScene.key(0), PeerRecord.Portrait(), opening: 1, salt: 1)
        map.opened(1, to: MapScene.key(1), kind: 0, at: 0)
        var (now, taken): (UInt64, Int) = (0, 0)
        var count: UInt64 = 0
        var waits = false
        while now < 10 * Self.second {
            if !waits {
                count += 1
                map.heard(PresenceMessage([record(1, count: count, near: [0])]), on: 1, at: now)
                waits = true
            }
            for action in map.takeActions(at: now) where action == .took(link: 1) {
                taken += 1
                waits = false
            }
            now += 1_000_000
            map.tick(at: now)
        }
        #expect((99...101).contains(taken))
    }
}
