import Sheaf
import SheafDocument
import SheafEngine
import SheafReplication
import SheafStatements
import SheafStorage
import SheafSync
import SheafTestSupport
import Testing

/// Stores that draw another site while documents of earlier states are in transit.
struct NewSiteTests {
    private let cars = "SELECT * FROM cars"
    private let all: DQL = "SELECT * FROM cars ORDER BY _id"
    private let rights = PeerRights(read: ["cars": "true"], write: ["cars": "true"])

    private func write(_ scene: DocumentScene, _ id: String, _ field: String) throws {
        try scene.advance(milliseconds: 1)
        try scene.execute(
            0, "INSERT INTO cars DOCUMENTS (:car) ON ID CONFLICT DO UPDATE",
            ["car": ["_id": .string(id), field: 1] as Value])
        try scene.advance(milliseconds: 1)
    }

    private func site(_ scene: DocumentScene) -> Site {
        scene.nodes[0].store.queries.documents.site
    }

    /// Connects a peer to store 0, and reconnects after each connection that a side closes.
    private func connect(
        _ scene: DocumentScene, _ other: Int, _ rights: PeerRights? = nil
    ) throws {
        var wire = try scene.connect(0, other, rightsOfRight: rights)
        try scene.run()
        for _ in 0..<4 where !scene.isConnected(wire) {
            wire = try scene.connect(0, other, rightsOfRight: rights)
            try scene.run()
        }
        #expect(scene.isConnected(wire))
    }

    /// Fills the pauses that a peer stores, so that it evicts those of store 0.
    ///
    /// With them, the peer would keep lost writes whatever the order of documents and sites.
    private func fillPauses(of number: Int, _ scene: DocumentScene) throws {
        let last = try #require(
            WritePause(
                after: HybridTime(rawValue: .max - 2), before: HybridTime(rawValue: .max)))
        for site in 1...UInt64(KnownPauses.maximumSites) {
            _ = scene.nodes[number].store.queries.documents.addPauses(
                SitePauses(site: Site(rawValue: site), pauses: [last]))
        }
    }

    /// Returns a scene in which store 0 lost a write that two peers have, then wrote if `writes`.
    private func forgetfulScene(
        _ limits: ReplicatorLimits = ReplicatorLimits(), transactionLength: Int = 1 << 30,
        writes: Bool = true
    ) throws -> DocumentScene {
        let scene = try DocumentScene(3, limits, transactionLengthOfFirst: transactionLength)
        for number in 1...2 { try scene.subscribe(number, [cars]) }
        try write(scene, "a", "first")
        for number in 1...2 {
            try connect(scene, number)
            try fillPauses(of: number, scene)
        }
        let backup = scene.nodes[0].volume.processDeath()
        try write(scene, "a", "lost")
        try scene.run()
        try scene.putBack(0, to: backup.rolledBack(seed: 7))
        if writes { try write(scene, "a", "new") }
        return scene
    }

    private let merged = #"{"_id":"a","first":1,"lost":1,"new":1}"#

    @Test func `a new site does not overtake the response to a rate-limited subscription`() throws {
        let scene = try forgetfulScene()
        try scene.subscribe(2, [])
        let wire = try scene.connect(0, 2)
        try scene.run()
        scene.hold(wire, to: 0)
        for turn in 0..<SyncLimits.subscriptionsAtOnce + 3 {
            try scene.subscribe(2, [cars + " WHERE n = \(turn)"])
            if turn >= SyncLimits.subscriptionsAtOnce { try scene.advance(milliseconds: 500) }
        }
        try scene.subscribe(2, [cars])
        try scene.advance(milliseconds: 500)
        // More subscriptions arrive together than may be answered at the same time.
        try scene.letGo(wire, to: 0)
        let old = site(scene)
        try connect(scene, 1)
        #expect(site(scene) != old)
        #expect(scene.isConnected(wire))
        for _ in 0..<6 { try scene.advance(milliseconds: 500) }
        try connect(scene, 2)
        #expect(try scene.rows(2, all) == [merged])
    }

    /// Returns a report of the lost write, or nil if the store has drawn another site.
    private func report(_ scene: DocumentScene) -> Frame? {
        guard let pause = scene.nodes[0].store.queries.documents.pauses.last else { return nil }
        let time = HybridTime(rawValue: pause.after.rawValue + 1)
        return Frame(.lostWrite, LostWrite(site: site(scene), time: time).bytes)
    }

    /// Reports a lost write after each number of steps in which documents are selected and sent.
    @Test(arguments: [false, true])
    func `a new site overtakes no document that is selected or sent`(_ isLimited: Bool) throws {
        var limits = ReplicatorLimits()
        limits.evaluated = 51
        let rights = isLimited ? rights : nil
        var count = 0
        for steps in 0..<24 {
            let scene = try forgetfulScene(limits, writes: false)
            try scene.subscribe(2, [cars + " WHERE new = 1"])
            let wire = try scene.connect(0, 2, rightsOfRight: rights)
            scene.forge(wire, to: 0)
            try scene.run()
            let ids = (0..<6).map { "{'_id': 'b\($0)', 'new': 1}" }.joined(separator: "), (")
            try scene.execute(
                0,
                DQL(
                    verbatim: "INSERT INTO cars DOCUMENTS ({'_id': 'a', 'new': 1}), (\(ids)) "
                        + "ON ID CONFLICT DO UPDATE"))
            try scene.run(steps: steps)
            // The peer itself may have reported the write already.
            guard let report = report(scene) else { continue }
            count += 1
            try scene.deliver(report, on: wire, to: 0)
            try scene.run()
            try connect(scene, 2, rights)
            #expect(try scene.rows(2, all).first == merged, "after \(steps) steps")
        }
        #expect(count > 8)
    }

    @Test(arguments: [false, true])
    func `a new site does not overtake a document that waits for credit`(_ isLimited: Bool) throws {
        let seed: UInt64 = 11
        var random = SeededRandom(seed: seed)
        var text = ""
        while text.utf8.count < 4_800_000 { text += String(random.below(1 << 40), radix: 36) }
        let scene = try forgetfulScene(writes: false)
        try scene.subscribe(2, [cars + " WHERE new = 1"])
        let rights = isLimited ? rights : nil
        let wire = try scene.connect(0, 2, rightsOfRight: rights)
        scene.forge(wire, to: 0)
        try scene.run()
        scene.hold(wire, to: 0)
        try scene.execute(
            0, "UPDATE cars SET new = 1, text = :text WHERE _id = 'a'", ["text": text])
        try scene.run()
        let old = site(scene)
        try scene.deliver(try #require(report(scene)), on: wire, to: 0)
        try scene.run()
        #expect(site(scene) != old)
        try scene.letGo(wire, to: 0)
        try connect(scene, 2, rights)
        let query: DQL = "SELECT _id, first, lost, new FROM cars"
        #expect(try scene.rows(2, query) == [merged], "seed \(seed)")
    }

    @Test func `an unreadable document does not keep the other documents at the old site`() throws {
        let scene = try forgetfulScene()
        let store = scene.nodes[0].store
        try scene.execute(0, "INSERT INTO boats DOCUMENTS ({'_id': 'x'})")
        let number = try #require(
            store.queries.documents.snapshot().catalog.number(ofCollection: "boats"))
        var batch = WriteBatch()
        try batch.put(
            StoreKey.bytes(ofDocument: "x", collection: number), [1, 0xFF, 0xFF, 0xFF])
        _ = try store.engine.append(batch)
        try store.flush()
        let old = site(scene)
        try connect(scene, 1)
        #expect(site(scene) != old)
        #expect(try scene.rows(1, all) == [merged])
        try connect(scene, 2)
        #expect(try scene.rows(2, all) == [merged])
        let errors = store.errors.filter { $0.contains(" collection=boats documents=1 id=\"x\" ") }
        #expect(errors.count == 1, "\(store.errors)")
        #expect(errors.first?.contains("sheaf salvage") == true)
    }

    /// Inserts documents of 900 bytes, with ids that begin with `prefix`.
    private func insert(_ count: Int, _ prefix: String, _ scene: DocumentScene) throws {
        let text = String(repeating: "x", count: 900)
        for number in 0..<count {
            try scene.execute(
                0, "INSERT INTO cars DOCUMENTS (:car)",
                ["car": ["_id": "\(prefix)\(number)", "text": .string(text)] as Value])
        }
    }

    @Test func `writes too long for one transaction are moved in several`() throws {
        let scene = try forgetfulScene(transactionLength: 32_000)
        try insert(50, "b", scene)
        let store = scene.nodes[0].store
        let (old, commit) = (site(scene), scene.nodes[0].newestCommit)
        try connect(scene, 1)
        #expect(site(scene) != old)
        #expect(scene.nodes[0].newestCommit > commit + 10)
        #expect(store.errors.filter { !$0.contains("a peer has writes") } == [])
        try connect(scene, 2)
        for number in 1...2 {
            #expect(try scene.rows(number, all).first == merged)
            #expect(try scene.rows(number, all).count == 51)
        }
        // The new site is in the log, and no peer has a write that the store lacks.
        let new = site(scene)
        try scene.putBack(0, to: scene.nodes[0].volume.processDeath())
        #expect(site(scene) == new)
        for number in 1...2 { try connect(scene, number) }
        #expect(site(scene) == new)
    }

    /// Tries each state after some of the commits that move writes.
    @Test func `a store that cannot move all of its writes keeps the old site`() throws {
        var part = 0
        var isMoved = false
        while !isMoved {
            let scene = try forgetfulScene(transactionLength: 32_000)
            try insert(12, "0b", scene)
            let (store, old) = (scene.nodes[0].store, site(scene))
            let pauses = store.queries.documents.pauses
            var count = 0
            isMoved = true
            let time = try #require(pauses.last).after
            do throws(EngineError) {
                _ = try store.queries.documents.separate(after: time) {
                    (batch) throws(StorageError) in
                    count += 1
                    guard count <= part else { throw .closed }
                    return try store.engine.append(batch)
                }
            } catch {
                isMoved = false
                #expect(error == .storage(.closed))
            }
            try store.flush()
            #expect((site(scene) != old) == isMoved)
            #expect(store.queries.documents.pauses == (isMoved ? [] : pauses))
            try scene.putBack(0, to: scene.nodes[0].volume.processDeath())
            #expect((site(scene) != old) == isMoved)
            for number in 1...2 {
                try connect(scene, number)
                #expect(try scene.rows(number, all).last == merged, "after \(part) commits")
            }
            #expect(site(scene) != old)
            part += 1
        }
        #expect(part > 5)
    }
}
