import Sheaf
import SheafReplication
import SheafTestSupport
import Testing

/// The connections that an event visits, against a check of all connections.
struct ConnectionTableTests {
    @Test func `no changed connection and no deadline is missed`() throws {
        let seed = UInt64.random(in: 0..<1_000_000_000)
        print("connection table, seed \(seed)")
        var random = SeededRandom(seed: seed, "connections")
        var limits = ReplicatorLimits()
        // Evaluations need several turns.
        limits.evaluated = 200
        let scene = try ReplicatorScene(limits)
        var now: UInt64 = 1
        var peers: [ReplicatorScene.ScriptedPeer] = []
        for step in 0..<400 {
            now += UInt64(random.below(1_000)) * 1_000_000
            switch random.below(8) {
            case 0, 1:
                peers.append(scene.connect(UInt16(1 + random.below(60)), at: now))
            case 2, 3:
                guard !peers.isEmpty else { break }
                let collection = "cars\(random.below(3))"
                try scene.subscribe(
                    peers[random.below(peers.count)], ["SELECT * FROM \(collection)"], at: now)
            case 4:
                guard !peers.isEmpty else { break }
                scene.disconnect(peers.remove(at: random.below(peers.count)))
            case 5: scene.turn(at: now)
            default:
                let collection = "cars\(random.below(3))"
                try scene.execute(
                    DQL(verbatim: "INSERT INTO \(collection) DOCUMENTS ({'_id': \(step)})"),
                    at: now)
            }
            peers.removeAll { $0.closeMessage != nil }
            let violation = scene.replicator.violation
            #expect(violation == nil, "step \(step)")
            if violation != nil { return }
        }
        #expect(peers.count > 1)
    }

    @Test func `a commit reaches every subscriber among many connections`() throws {
        let scene = try ReplicatorScene()
        let peers = (1...300).map { scene.connect(UInt16($0), at: 1) }
        for (index, peer) in peers.enumerated() where index.isMultiple(of: 3) {
            try scene.subscribe(peer, ["SELECT * FROM cars"], at: 1)
        }
        scene.settle(at: 1)
        try scene.execute("INSERT INTO cars DOCUMENTS ({'_id': 1})", at: 2)
        scene.settle(at: 2)
        for (index, peer) in peers.enumerated() {
            #expect(peer.documents == (index.isMultiple(of: 3) ? 1 : 0), "peer \(index)")
        }
    }

    @Test func `a batch of a peer without a subscription is acknowledged when it is durable`()
        throws
    {
        let scene = try DocumentScene(2)
        try scene.subscribe(0, ["SELECT * FROM cars"])
        try scene.connect(0, 1)
        try scene.run()
        scene.nodes[0].flushesLate = true
        try scene.execute(1, "INSERT INTO cars DOCUMENTS ({'_id': 'a'})")
        try scene.run()
        #expect(scene.nodes[1].synced(with: scene.nodes[0]) < scene.nodes[1].newestCommit)
        scene.nodes[0].flushesLate = false
        try scene.nodes[0].store.flush()
        try scene.published(0)
        try scene.run()
        #expect(scene.nodes[1].synced(with: scene.nodes[0]) == scene.nodes[1].newestCommit)
    }

    @Test func `a later connection that sends nothing is closed before the earlier ones`() throws {
        let scene = try ReplicatorScene()
        let second: UInt64 = 1_000_000_000
        for number in UInt16(1)...20 { _ = scene.connect(number, at: 1) }
        // It has 10 seconds for its first message, and the others are asked after 30 seconds.
        scene.replicator.connect(100, at: second)
        _ = scene.replicator.drainEffects()
        #expect(scene.replicator.violation == nil)
        scene.replicator.tick(at: 11 * second)
        let closed = scene.replicator.drainEffects().compactMap { effect in
            if case .close(let number, _) = effect { number } else { nil }
        }
        #expect(closed == [100])
    }

    /// Adds and removes connections in random order; each has 10 seconds for its first message.
    @Test func `connections without a message are closed in the order of their beginnings`()
        throws
    {
        let seed: UInt64 = 11
        var random = SeededRandom(seed: seed, "deadlines")
        let replicator = try ReplicatorScene().replicator
        var ends: [UInt64: UInt64] = [:]
        for number: UInt64 in 1...200 {
            if !ends.isEmpty, random.chance(2, in: 5) {
                let gone = ends.keys.sorted()[random.below(ends.count)]
                ends[gone] = nil
                replicator.disconnect(gone)
            }
            let start = UInt64(random.below(1_000_000))
            ends[number] = start + 10_000_000_000
            replicator.connect(number, at: start)
            #expect(replicator.deadline == ends.values.min(), "seed \(seed), \(number)")
        }
        _ = replicator.drainEffects()
        #expect(ends.count > 100)
        while let deadline = ends.values.min() {
            #expect(replicator.deadline == deadline)
            replicator.tick(at: deadline - 1)
            #expect(replicator.drainEffects().isEmpty, "before \(deadline)")
            replicator.tick(at: deadline)
            var closed: [UInt64] = []
            for case .close(let number, _) in replicator.drainEffects() { closed.append(number) }
            #expect(closed == ends.filter { $0.value <= deadline }.keys.sorted(), "\(deadline)")
            ends = ends.filter { $0.value > deadline }
        }
        #expect(replicator.deadline == nil)
    }

    @Test func `each of many silent connections is closed at its own time`() throws {
        let scene = try ReplicatorScene()
        let second: UInt64 = 1_000_000_000
        let peers = (0..<50).map { scene.connect(UInt16($0 + 1), at: UInt64($0) * second + 1) }
        var closed: [Int] = []
        // A silent peer is asked for an answer, and closed when none arrives.
        for now in stride(from: 50 * second, to: 300 * second, by: Int(second)) {
            guard let deadline = scene.replicator.deadline, deadline <= now else { continue }
            scene.replicator.tick(at: now)
            for case .close(let number, _) in scene.replicator.drainEffects() {
                closed.append(Int(number))
            }
            #expect(scene.replicator.violation == nil)
        }
        #expect(closed == Array(1...peers.count))
    }
}
