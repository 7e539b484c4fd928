import Sheaf
import SheafMesh
import SheafStatements
import SheafTestSupport
import Testing

/// Random histories of three peers that subscribe to all collections, against a set of documents.
@Suite struct AllCollectionsModelTests {
    private static let names = ["cars", "boats", "planes", "größe 1", "Z", "cars2", "car"]

    private func documents(_ scene: DocumentScene, _ number: Int) throws -> Set<String> {
        let store = scene.nodes[number].store
        var found: Set<String> = []
        for name in store.queries.documents.snapshot().catalog.collections {
            for row in try scene.rows(number, DQL(verbatim: "SELECT _id FROM `\(name)`")) {
                found.insert("\(name) \(row)")
            }
        }
        return found
    }

    @Test func `all documents of all collections reach all peers`() throws {
        let seed = UInt64.random(in: 0..<1_000_000_000)
        print("all collections, seed \(seed)")
        for number in 0..<12 {
            try run(SeededRandom(seed: seed + UInt64(number), "all collections"), seed)
        }
    }

    private func run(_ seeded: SeededRandom, _ seed: UInt64) throws {
        var random = seeded
        let older: Set<Int> = random.chance(1, in: 2) ? [random.below(3)] : []
        let scene = try DocumentScene(3, olderNodes: older)
        // A connection of version 3 needs the names.
        let named = Self.names.map { "SELECT * FROM `\($0)` WHERE n = 1" }
        for node in 0..<3 { try scene.subscribe(node, (older.isEmpty ? [] : named) + ["*"]) }
        var expected: Set<String> = []
        for step in 0..<80 {
            let node = random.below(3)
            let name = Self.names[random.below(Self.names.count)]
            switch random.below(10) {
            case 0..<5:
                try scene.execute(
                    node, DQL(verbatim: "INSERT INTO `\(name)` DOCUMENTS ({'_id': 'd\(step)'})"))
                expected.insert("\(name) {\"_id\":\"d\(step)\"}")
            case 5..<7:
                // A deletion that has seen the document removes it from all peers.
                expected.subtract(try documents(scene, node).filter { $0.hasPrefix(name + " ") })
                try scene.execute(node, DQL(verbatim: "DELETE FROM `\(name)`"))
            case 7: try scene.disconnectAll(of: node)
            case 8:
                let other = (node + 1) % 3
                let known = Set(scene.connections(of: node))
                guard known.isDisjoint(with: scene.connections(of: other)) else { continue }
                try scene.connect(node, other)
            default: try scene.advance(milliseconds: UInt64(random.below(3_000)))
            }
            if random.chance(1, in: 2) { try scene.run() }
        }
        for node in 0..<3 { try scene.disconnectAll(of: node) }
        for node in 0..<2 { try scene.connect(node, node + 1) }
        for _ in 0..<40 { try scene.advance(milliseconds: 1_000) }
        for node in 0..<3 {
            let found = try documents(scene, node)
            #expect(found == expected, "peer \(node), older \(older), seed \(seed)")
        }
    }
}
