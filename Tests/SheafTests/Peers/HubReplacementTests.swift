import Sheaf
import SheafDocument
import SheafHub
import SheafHubLog
import SheafMesh
import SheafReplication
import SheafStatements
import SheafTestSupport
import Testing

/// Hub logs that are replaced, because they contradict themselves or on request.
@Suite struct HubReplacementTests {
    private static let all = "SELECT * FROM cars"

    /// Returns two hubs, 0 and 1, with one client each, 2 and 3.
    private func scene(_ log: LogDouble) throws -> (DocumentScene, [SceneMaintenance]) {
        let scene = try DocumentScene(4)
        for number in 0..<4 { try scene.subscribe(number, [Self.all]) }
        let hubs = try scene.beginHubs(log, [0, 1])
        try scene.connect(0, 2)
        try scene.connect(1, 3)
        try scene.run()
        return (scene, hubs)
    }

    private func insert(_ scene: DocumentScene, _ number: Int, _ id: String) throws {
        try scene.execute(number, DQL(verbatim: "INSERT INTO cars DOCUMENTS ({'_id': '\(id)'})"))
    }

    /// Whether each write of the clients is acknowledged.
    private func areAcknowledged(_ scene: DocumentScene) -> Bool {
        [(2, 0), (3, 1)].allSatisfy { client, hub in
            let client = scene.nodes[client]
            return client.synced(with: scene.nodes[hub]) == client.newestCommit
        }
    }

    private func replacements(_ events: [HubMaintenance.Event]) -> Int {
        events.count { if case .replaces = $0 { true } else { false } }
    }

    @Test func `a log that lost entries is replaced, and no write is lost`() throws {
        let log = LogDouble(seed: 1)
        var (scene, hubs) = try scene(log)
        for number in 0..<10 { try insert(scene, 2, "a\(number)") }
        try scene.run(seconds: 3)
        #expect(areAcknowledged(scene))
        log.truncate(0, by: 4)
        for number in 0..<3 { try insert(scene, 3, "b\(number)") }
        try scene.run(seconds: 1)
        let events = try scene.run(seconds: 15, &hubs)
        for number in 0..<3 { try insert(scene, 2, "c\(number)") }
        try scene.run(seconds: 5, &hubs)
        #expect(replacements(events) == 1)
        #expect(try scene.configuration?.number == 2)
        #expect(try scene.configuration?.log != DocumentScene.logID)
        #expect(try scene.checksums() == 1)
        #expect(try scene.rows(1, "SELECT COUNT(*) AS n FROM cars") == ["{\"n\":16}"])
        #expect(areAcknowledged(scene))
    }

    @Test func `nothing is acknowledged while the log is replaced`() throws {
        let log = LogDouble(seed: 1)
        var (scene, hubs) = try scene(log)
        try insert(scene, 2, "a")
        try scene.run(seconds: 3)
        var before = scene.nodes[2].synced(with: scene.nodes[0])
        var seen: [LogReplacement.Step] = []
        var wasAcknowledged = false
        hubs[0].log.onReplacementStep = { step in
            seen.append(step)
            try? insert(scene, 2, "while \(step)")
            try? scene.run()
            if step == .announced { before = scene.nodes[2].synced(with: scene.nodes[0]) }
            if scene.nodes[2].synced(with: scene.nodes[0]) > before {
                wasAcknowledged = true
            }
        }
        _ = try hubs[0].replace()
        #expect(seen == LogReplacement.Step.allCases)
        #expect(!wasAcknowledged)
        try scene.run(seconds: 15, &hubs)
        #expect(try scene.checksums() == 1)
        #expect(areAcknowledged(scene))
        #expect(try scene.rows(3, "SELECT COUNT(*) AS n FROM cars") == ["{\"n\":8}"])
    }

    @Test func `documents in the first snapshot of a new log are acknowledged immediately`() throws
    {
        let log = LogDouble(seed: 1)
        let scene = try DocumentScene(2)
        for number in 0..<2 { try scene.subscribe(number, [Self.all]) }
        var hub = try scene.beginHubs(log, [0])[0]
        try scene.connect(0, 1)
        try scene.run(seconds: 3)
        hub.log.onReplacementStep = { step in
            guard step == .announced else { return }
            try? insert(scene, 1, "a")
            try? scene.run()
            // The engine stores nothing that the hub appends to the new log.
            log.isStopped = true
        }
        #expect(replacements(try hub.replace()) == 1)
        try scene.run()
        #expect(scene.nodes[1].synced(with: scene.nodes[0]) == scene.nodes[1].newestCommit)
    }

    @Test func `two hubs that begin at once replace the log once`() throws {
        let log = LogDouble(seed: 1)
        var (scene, hubs) = try scene(log)
        try insert(scene, 2, "a")
        try scene.run(seconds: 2)
        var second = hubs[1]
        // As if that hub had decided before this one announced it.
        let decided = LogReplacement(SceneHub(scene, 1), scene.file, key: scene.nodes[1].key)
        var others = 0
        var left = 0
        hubs[0].log.onReplacementStep = { step in
            guard step == .announced || step == .written else { return }
            let events = (try? second.replace()) ?? []
            others += replacements(events)
            if case .left? = try? decided.run(DocumentScene.logID) { left += 1 }
        }
        #expect(replacements(try hubs[0].replace()) == 1)
        #expect(others == 0)
        #expect(left == 2)
        hubs[0].log.onReplacementStep = { _ in }
        try scene.run(seconds: 10, &hubs)
        #expect(try scene.configuration?.number == 2)
        #expect(try scene.checksums() == 1)
    }

    @Test(arguments: [[true], [false], [true, true], [false, true], [true, false]])
    func `a replacement of which the engine reports nothing is made once`(
        _ areStored: [Bool]
    ) throws {
        let log = LogDouble(seed: 1)
        var (scene, hubs) = try scene(log)
        try insert(scene, 2, "a")
        try scene.run(seconds: 3)
        // The first change is the announcement, and the last one opens the new log.
        for opens in [false, true] {
            let number = try scene.configuration?.number ?? 0
            hubs[0].log.onReplacementStep = { step in
                if opens, step == .verified { log.objects.silenceReplacements(areStored) }
            }
            if !opens { log.objects.silenceReplacements(areStored) }
            #expect(replacements(try hubs[0].replace()) == 1)
            log.objects.silenceReplacements([])
            let configuration = try #require(try scene.configuration)
            #expect(configuration.number == number + 1 && configuration.replacement == nil)
            #expect(log.objects.created.contains(configuration.log))
            try scene.run(seconds: 15, &hubs)
            #expect(try scene.checksums() == 1)
            #expect(areAcknowledged(scene))
        }
    }

    @Test(arguments: LogReplacement.Step.allCases, [true, false])
    func `a hub that dies while it replaces the log loses nothing`(
        _ last: LogReplacement.Step, _ returns: Bool
    ) throws {
        let log = LogDouble(seed: 1)
        var (scene, hubs) = try scene(log)
        for number in 0..<5 { try insert(scene, 2, "a\(number)") }
        for number in 0..<5 { try insert(scene, 3, "b\(number)") }
        try scene.run(seconds: 2)
        try scene.execute(2, "DELETE FROM cars WHERE _id = 'b1'")
        try scene.run(seconds: 3)
        #expect(areAcknowledged(scene))
        log.truncate(0, by: 2)
        hubs[0].log.onReplacementStep = { (step) throws(SnapshotFailure) in
            try? insert(scene, 3, "c \(step)")
            _ = try? scene.run(steps: 20)
            if step == last { throw .stopped }
        }
        #expect(throws: SnapshotFailure.self) { try hubs[0].replace() }
        log.disconnect(0)
        log.isolate(0)
        try scene.putBack(0, to: scene.nodes[0].volume.processDeath())
        try scene.subscribe(0, [Self.all])
        if returns {
            log.rejoin(0)
            hubs[0] = scene.maintenance(0)
        } else {
            hubs.removeFirst()
        }
        try scene.run(seconds: 90, &hubs)
        if !returns {
            log.rejoin(0)
            hubs.append(scene.maintenance(0))
        }
        try scene.run(seconds: 10, &hubs)
        try scene.connect(0, 2)
        try insert(scene, 2, "last")
        try scene.run(seconds: 15, &hubs)
        #expect(try scene.configuration?.replacement == nil)
        #expect(try scene.configuration?.log != DocumentScene.logID)
        #expect(try scene.checksums() == 1, "after \(last)")
        #expect(areAcknowledged(scene))
        #expect(try scene.rows(1, "SELECT * FROM cars WHERE _id = 'b1'") == [])
        let kept = try scene.rows(0, "SELECT COUNT(*) AS n FROM cars WHERE _id LIKE 'a%'")
        #expect(kept == ["{\"n\":5}"])
    }

    @Test func `a hub that was closed joins the new log with what only it has`() throws {
        let log = LogDouble(seed: 1)
        var (scene, hubs) = try scene(log)
        for number in 0..<6 { try insert(scene, 2, "a\(number)") }
        try scene.run(seconds: 3)
        log.isolate(1)
        // Both are in the log of no hub, and in one store.
        try insert(scene, 3, "only here")
        try scene.execute(3, "UPDATE cars SET n = 7 WHERE _id = 'a2'")
        try scene.run(seconds: 2)
        log.disconnect(1)
        try scene.putBack(1, to: scene.nodes[1].volume.processDeath())
        try scene.subscribe(1, [Self.all])
        hubs = [hubs[0]]
        _ = try hubs[0].replace()
        try scene.run(seconds: 5, &hubs)
        log.rejoin(1)
        hubs.append(scene.maintenance(1))
        try scene.run(seconds: 15, &hubs)
        #expect(try scene.states(of: 0) == scene.states(of: 1))
        #expect(try scene.rows(2, "SELECT n FROM cars WHERE _id = 'a2'") == ["{\"n\":7}"])
        #expect(try scene.rows(2, "SELECT COUNT(*) AS n FROM cars") == ["{\"n\":7}"])
    }

    @Test(arguments: 1...10)
    func `whatever is written while logs are replaced, all agree`(_ seed: UInt64) throws {
        let log = LogDouble(seed: seed, .transient)
        var (scene, hubs) = try scene(log)
        var random = SeededRandom(seed: seed, "replacements")
        var inserted = 0
        for _ in 0..<40 {
            let writer = random.below(4)
            if random.chance(1, in: 4) {
                let id = random.below(max(inserted, 1))
                try scene.execute(
                    writer, DQL(verbatim: "DELETE FROM cars WHERE _id = 'car \(id)'"))
            } else {
                try insert(scene, writer, "car \(inserted)")
                inserted += 1
            }
            try scene.run(steps: random.below(20))
            if random.chance(1, in: 10) { log.truncate(0, by: random.below(2)) }
            // It is refused at a hub that has not read the log.
            if random.chance(1, in: 12) { _ = try? hubs[random.below(2)].replace() }
            if random.chance(1, in: 3) { try scene.run(seconds: 1, &hubs) }
        }
        log.faults = LogDouble.Faults()
        try scene.run(seconds: 80, &hubs)
        #expect(try scene.checksums() == 1, "seed \(seed)")
        #expect(areAcknowledged(scene), "seed \(seed)")
    }
}
