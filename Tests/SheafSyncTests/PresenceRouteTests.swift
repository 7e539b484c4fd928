import SheafSync
import SheafTestSupport
import Testing

/// Tests of the peers that a link-state database reaches, against the routes of a plain graph.
struct PresenceRouteTests {
    private let seed = UInt64.random(in: 0..<1_000_000_000)

    init() { print("routes, seed \(seed)") }

    /// The connections that each peer lists; the local peer is the first.
    private typealias Graph = [Set<Int>]

    private func record(_ peer: Int, _ count: UInt64, _ graph: Graph) -> PeerRecord {
        PeerRecord(
            key: PresenceScene.key(peer),
            version: PeerRecord.Version(opening: 1, salt: 1, count: count),
            PeerRecord.Description(name: "\(peer)"),
            neighbors: graph[peer].map { PeerRecord.Neighbor(key: PresenceScene.key($0), kind: 2) })
    }

    /// Returns the lengths of the shortest routes over connections that both ends list.
    private func distances(_ graph: Graph) -> [Int: Int] {
        var found = [0: 0]
        var (last, distance) = ([0], 0)
        while !last.isEmpty {
            distance += 1
            let next = last.flatMap { peer in
                graph[peer].filter { graph[$0].contains(peer) && found[$0] == nil }
            }
            for peer in next { found[peer] = distance }
            last = Array(Set(next))
        }
        return found
    }

    private func check(_ database: LinkStateDatabase, _ graph: Graph, _ comment: String) {
        let expected = distances(graph)
        let reached = database.reachable.compactMap { Int($0.description.name) }
        #expect(Set(reached) == Set(expected.keys), "\(comment), seed \(seed)")
        let lengths = reached.map { expected[$0] ?? -1 }
        #expect(lengths == lengths.sorted(), "\(comment), seed \(seed)")
        #expect(reached.count == expected.count, "\(comment), seed \(seed)")
        let violation = database.violation
        #expect(violation == nil, "\(comment), seed \(seed)")
    }

    @Test func `the reachable peers are those of the graph, the nearest first`() {
        var random = SeededRandom(seed: seed, "graphs")
        for run in 0..<20 {
            let count = 4 + random.below(9)
            var graph: Graph = (0..<count).map { peer in
                Set((0..<count).filter { $0 != peer && random.chance(1, in: 2) })
            }
            // The local peer has a connection to each of the first ones, which both ends list.
            let neighbors = 1 + random.below(3)
            graph[0] = Set(1...neighbors)
            for peer in 1...neighbors { graph[peer].insert(0) }
            var database = LinkStateDatabase(
                PresenceScene.key(0), PeerRecord.Description(name: "0"), opening: 1, salt: 1)
            for peer in 1...neighbors {
                database.opened(UInt64(peer), to: PresenceScene.key(peer), kind: 2, at: 0)
            }
            let records = (1..<count).map { record($0, 1, graph) }
            for record in records.shuffled(using: &random) {
                database.receive(PresenceMessage([record]), on: 1, at: 0)
            }
            check(database, graph, "run \(run)")
            for change in 2..<6 as Range<UInt64> {
                let peer = neighbors + random.below(count - neighbors)
                guard peer > neighbors else { continue }
                graph[peer] = Set((0..<count).filter { $0 != peer && random.chance(1, in: 2) })
                database.receive(
                    PresenceMessage([record(peer, change, graph)]), on: 1, at: change)
                check(database, graph, "run \(run), change \(change)")
            }
            for peer in 1...neighbors {
                graph[0].remove(peer)
                database.closed(UInt64(peer), at: 10)
                check(database, graph, "run \(run), without \(peer)")
            }
            #expect(database.reachable.count == 1)
        }
    }

    // MARK: Several connections to a peer

    private func database() -> LinkStateDatabase {
        LinkStateDatabase(
            PresenceScene.key(0), PeerRecord.Description(name: "0"), opening: 1, salt: 1)
    }

    @Test func `of several connections to a peer, the one with the greatest number counts`() {
        var database = database()
        func kinds() -> [UInt8] { database.own.neighbors.map(\.kind) }
        let key = PresenceScene.key(1)
        database.opened(5, to: key, kind: 2, at: 0)
        database.opened(3, to: key, kind: 1, at: 0)
        #expect(kinds() == [2])
        database.opened(9, to: key, kind: 4, at: 0)
        database.opened(7, to: key, kind: 3, at: 0)
        #expect(kinds() == [4])
        database.closed(9, at: 0)
        #expect(kinds() == [3])
        let version = database.own.version
        for number in [9, 5, 100] as [UInt64] { database.closed(number, at: 0) }
        #expect(kinds() == [3] && database.own.version == version)
        database.closed(7, at: 0)
        #expect(kinds() == [1])
        #expect(database.own.version > version)
        database.closed(3, at: 0)
        #expect(kinds() == [] && database.violation == nil)
    }

    @Test func `the record that a peer sent over its newest connection counts`() {
        var database = database()
        func name() -> String? { database.reachable.last?.description.name }
        func send(_ name: String, _ count: UInt64, on number: UInt64) {
            let record = PeerRecord(
                key: PresenceScene.key(1),
                version: PeerRecord.Version(opening: 1, salt: 1, count: count),
                PeerRecord.Description(name: name),
                neighbors: [PeerRecord.Neighbor(key: PresenceScene.key(0), kind: 2)])
            database.receive(PresenceMessage([record]), on: number, at: 0)
        }
        for number in [4, 2] as [UInt64] {
            database.opened(number, to: PresenceScene.key(1), kind: 2, at: 0)
        }
        send("older", 1, on: 4)
        send("newer", 2, on: 2)
        #expect(name() == "older")
        database.closed(4, at: 0)
        #expect(name() == "newer")
        database.opened(6, to: PresenceScene.key(1), kind: 2, at: 0)
        #expect(name() == "newer")
        send("latest", 3, on: 6)
        #expect(name() == "latest")
    }

    @Test func `records from a connection that is closed or unknown are ignored`() {
        var database = database()
        database.opened(1, to: PresenceScene.key(1), kind: 2, at: 0)
        database.closed(1, at: 0)
        _ = database.drainActions(at: 0)
        let graph: Graph = [[1], [0]]
        database.receive(PresenceMessage([record(1, 1, graph)]), on: 1, at: 0)
        #expect(database.recordCount == 1 && database.deadline == nil)
        database.acknowledged(on: 7)
        let actions = database.drainActions(at: 0)
        #expect(actions.isEmpty)
    }
}
