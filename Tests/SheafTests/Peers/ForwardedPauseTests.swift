import Sheaf
import SheafDocument
import SheafEngine
import SheafStatements
import SheafSync
import SheafTestSupport
import Testing

/// Writes that a store has lost, at peers that receive from it through relays.
struct ForwardedPauseTests {
    private let cars = "SELECT * FROM cars"
    private let all: DQL = "SELECT * FROM cars ORDER BY _id"

    /// Returns a scene in which store 0 lost writes that peer 2 has, and peer 1 has later ones.
    private func relayedScene() throws -> DocumentScene {
        let scene = try DocumentScene(4)
        for number in 0...3 { try scene.subscribe(number, [cars]) }
        try scene.write(0, "a", "first")
        try scene.write(0, "b", "first")
        for number in 1...3 { try scene.connectAndRun(0, number) }
        let backup = scene.nodes[0].volume.processDeath()
        for number in [1, 3] { try scene.disconnectAll(of: number) }
        try scene.write(0, "a", "lost")
        try scene.execute(0, "UPDATE cars UNSET first WHERE _id = 'b'")
        try scene.run()
        try scene.putBack(0, to: backup.rolledBack(seed: 7))
        try scene.write(0, "a", "new")
        try scene.write(0, "b", "new")
        try scene.connectAndRun(0, 1)
        return scene
    }

    private let relayed = [
        #"{"_id":"a","first":1,"lost":1,"new":1}"#, #"{"_id":"b","new":1}"#,
    ]

    @Test(arguments: [false, true])
    func `a peer keeps writes lost by a store that it reaches through relays`(_ isReopened: Bool)
        throws
    {
        let scene = try relayedScene()
        try scene.disconnectAll(of: 0)
        // The relay recovers the received pauses from its log.
        if isReopened { try scene.putBack(1, to: scene.nodes[1].volume.processDeath()) }
        if isReopened { try scene.subscribe(1, [cars]) }
        try scene.connectAndRun(1, 3)
        try scene.disconnectAll(of: 1)
        try scene.connectAndRun(3, 2)
        for number in 2...3 {
            #expect(try scene.rows(number, all) == relayed, "peer \(number)")
        }
        let warnings = scene.nodes[2].store.messages(.warning)
        #expect(
            warnings.contains {
                $0.hasPrefix("documents have kept writes that their store has lost: ")
                    && $0.hasSuffix(" collection=cars documents=2 id=\"a\"")
            }, "\(warnings)")
        try scene.connectAndRun(3, 1)
        try scene.subscribe(0, [cars])
        try scene.connectAndRun(3, 0)
        for number in 0...3 {
            #expect(try scene.rows(number, all) == relayed, "peer \(number)")
        }
    }

    @Test func `lost writes are kept when the later writes arrive first`() throws {
        let scene = try relayedScene()
        try scene.subscribe(2, [])
        try scene.disconnectAll(of: 0)
        try scene.connectAndRun(1, 3)
        try scene.connectAndRun(3, 2)
        #expect(try scene.rows(3, all) == relayed)
        try scene.connectAndRun(3, 1)
        #expect(try scene.rows(1, all) == relayed)
        try scene.subscribe(2, [cars])
        try scene.run()
        #expect(try scene.rows(2, all) == relayed)
    }

    @Test func `lost writes that a peer has removed stay removed`() throws {
        let scene = try DocumentScene(4)
        for number in 1...3 { try scene.subscribe(number, [cars]) }
        try scene.write(0, "a", "first")
        for number in 1...3 { try scene.connectAndRun(0, number) }
        let backup = scene.nodes[0].volume.processDeath()
        try scene.disconnectAll(of: 1)
        try scene.execute(0, "UPDATE cars APPLY n INCREMENT BY 3 SET lost = 1, kept = 1")
        try scene.run()
        for number in 2...3 { try scene.disconnectAll(of: number) }
        try scene.execute(3, "UPDATE cars UNSET lost, n")
        try scene.putBack(0, to: backup.rolledBack(seed: 7))
        try scene.write(0, "a", "new")
        try scene.connectAndRun(0, 1)
        try scene.disconnectAll(of: 0)
        try scene.connectAndRun(1, 2)
        #expect(
            try scene.rows(2, all) == [#"{"_id":"a","first":1,"kept":1,"lost":1,"n":3,"new":1}"#])
        try scene.disconnectAll(of: 1)
        try scene.connectAndRun(2, 3)
        for number in 2...3 {
            #expect(
                try scene.rows(number, all) == [#"{"_id":"a","first":1,"kept":1,"new":1}"#],
                "peer \(number)")
        }
    }

    @Test func `two peers that report different pauses of a site then know both`() throws {
        let scene = try DocumentScene(2)
        try scene.subscribe(1, [cars])
        let site = Site(rawValue: 7)
        func pause(_ before: UInt64) throws -> WritePause {
            try #require(
                WritePause(after: HybridTime(rawValue: 10), before: HybridTime(rawValue: before)))
        }
        for number in 0...1 {
            let documents = scene.nodes[number].store.queries.documents
            _ = documents.addPauses(
                SitePauses(site: site, pauses: [try pause(UInt64(20 + number))]))
        }
        try scene.subscribe(0, [cars])
        try scene.write(1, "a", "first")
        try scene.connectAndRun(0, 1)
        try scene.write(0, "b", "first")
        try scene.write(1, "c", "first")
        for number in 0...1 {
            let known = scene.nodes[number].store.queries.documents.knownPauses
            #expect(
                Set(known.filter { $0.site == site }.flatMap(\.pauses))
                    == [try pause(20), try pause(21)], "peer \(number)")
        }
    }

    /// Covers pauses that both begin at the end of the backup.
    @Test func `the writes lost in two restores of one backup are kept`() throws {
        let scene = try DocumentScene(5)
        for number in 0...4 { try scene.subscribe(number, [cars]) }
        try scene.write(0, "a", "first")
        for number in 1...4 { try scene.connectAndRun(0, number) }
        let backup = scene.nodes[0].volume.processDeath()
        for (number, field) in [(1, "one"), (2, "two"), (3, "three")] {
            for number in 1...4 { try scene.disconnectAll(of: number) }
            try scene.putBack(0, to: backup.rolledBack(seed: UInt64(number)))
            try scene.write(0, "a", field)
            try scene.connectAndRun(0, number)
        }
        try scene.disconnectAll(of: 0)
        for (left, right) in [(3, 4), (4, 2), (4, 1), (2, 1)] {
            try scene.connectAndRun(left, right)
        }
        for _ in 0..<3 { try scene.advance(milliseconds: 500) }
        for number in 1...4 {
            #expect(
                try scene.rows(number, all)
                    == [#"{"_id":"a","first":1,"one":1,"three":1,"two":1}"#], "peer \(number)")
        }
    }

    @Test func `pauses are relayed over open connections`() throws {
        let scene = try relayedScene()
        try scene.connectAndRun(2, 3)
        try scene.connectAndRun(1, 3)
        #expect(!scene.nodes[2].store.queries.documents.knownPauses.isEmpty)
    }

    @Test(arguments: [false, true])
    func `lost writes are kept when the store has drawn another site on its own`(_ isReopened: Bool)
        throws
    {
        let scene = try DocumentScene(2)
        try scene.subscribe(1, [cars])
        try scene.write(0, "a", "first")
        try scene.write(0, "b", "first")
        try scene.connectAndRun(0, 1)
        let backup = scene.nodes[0].volume.processDeath()
        try scene.write(0, "a", "lost")
        try scene.run()
        try scene.putBack(0, to: backup.rolledBack(seed: 7))
        try scene.write(0, "a", "new")
        let site = scene.nodes[0].store.queries.documents.site
        try scene.execute(0, "EVICT FROM cars WHERE _id = 'b'")
        try scene.write(0, "b", "new")
        #expect(scene.nodes[0].store.queries.documents.site != site)
        if isReopened { try scene.putBack(0, to: scene.nodes[0].volume.processDeath()) }
        try scene.connectAndRun(0, 1)
        #expect(
            try scene.rows(1, all) == [
                #"{"_id":"a","first":1,"lost":1,"new":1}"#, #"{"_id":"b","first":1,"new":1}"#,
            ])
    }

    @Test func `pauses of a peer that may not write everything are not accepted`() throws {
        let scene = try relayedScene()
        try scene.disconnectAll(of: 0)
        let rights = PeerRights(read: ["cars": "true"], write: ["cars": "true"])
        _ = try scene.connect(1, 2, rightsOfLeft: rights)
        try scene.run()
        #expect(scene.nodes[2].store.queries.documents.knownPauses.isEmpty)
        #expect(!scene.nodes[1].store.queries.documents.knownPauses.isEmpty)
    }

    @Test func `pauses of at most 256 sites are kept, those that ended last`() throws {
        let scene = try DocumentScene(1)
        let documents = scene.nodes[0].store.queries.documents
        let pause = try #require(
            WritePause(after: HybridTime(rawValue: 1), before: HybridTime(rawValue: 9)))
        for number in 1...300 {
            _ = documents.addPauses(
                SitePauses(site: Site(rawValue: UInt64(number)), pauses: [pause]))
        }
        let sites = (45...300).map { Site(rawValue: UInt64($0)) }
        #expect(documents.knownPauses.map(\.site) == sites)
        let early = try #require(
            WritePause(after: HybridTime(rawValue: 1), before: HybridTime(rawValue: 5)))
        #expect(documents.addPauses(SitePauses(site: Site(rawValue: 999), pauses: [early])) == nil)
        try scene.write(0, "a", "first")
        _ = documents.addPauses(SitePauses(site: Site(rawValue: 301), pauses: [pause]))
        try scene.write(0, "a", "second")
        try scene.putBack(0, to: scene.nodes[0].volume.processDeath())
        let known = scene.nodes[0].store.queries.documents.knownPauses
        #expect(known.map(\.site) == sites.dropFirst() + [Site(rawValue: 301)])
        #expect(known.allSatisfy { $0.pauses == [pause] })
    }

    @Test func `pauses with the same start are kept separately`() throws {
        let documents = try DocumentScene(1).nodes[0].store.queries.documents
        func learn(_ after: UInt64, _ before: UInt64) throws -> [UInt64]? {
            let pause = try #require(
                WritePause(
                    after: HybridTime(rawValue: after), before: HybridTime(rawValue: before)))
            return documents.addPauses(SitePauses(site: Site(rawValue: 7), pauses: [pause]))?
                .pauses.flatMap { [$0.after.rawValue, $0.before.rawValue] }
        }
        #expect(try learn(10, 20) == [10, 20])
        #expect(try learn(10, 20) == nil)
        #expect(try learn(10, 15) == [10, 20, 10, 15])
        #expect(try learn(30, 40) == [10, 20, 10, 15, 30, 40])
        #expect(try learn(30, 40) == nil)
        for length: UInt64 in 10...22 { _ = try learn(50, 50 + length) }
        #expect(try learn(10, 15) == nil)
        // Only the 16 longest pauses are kept.
        #expect(try learn(70, 80)?.count == 32)
        #expect(try learn(70, 75) == nil)
    }

    @Test func `a lost write of the same millisecond as the last kept one is detected`() throws {
        let scene = try DocumentScene(2)
        try scene.subscribe(1, [cars])
        let insert: DQL = "INSERT INTO cars DOCUMENTS ({'_id': 'a', 'first': 1})"
        try scene.execute(0, insert)
        try scene.connectAndRun(0, 1)
        let backup = scene.nodes[0].volume.processDeath()
        // The clock does not advance between the writes.
        try scene.execute(0, "UPDATE cars SET lost = 1")
        try scene.run()
        try scene.putBack(0, to: backup.rolledBack(seed: 7))
        try scene.write(0, "a", "new")
        try scene.connectAndRun(0, 1)
        #expect(scene.nodes[1].closeMessages.map(\.code) == [.lostWrite])
        #expect(try scene.rows(1, all) == [#"{"_id":"a","first":1,"lost":1,"new":1}"#])
    }

    @Test func `a store that is opened again has lost no write of its last millisecond`() throws {
        let scene = try DocumentScene(2)
        try scene.subscribe(1, [cars])
        try scene.execute(0, "INSERT INTO cars DOCUMENTS ({'_id': 'a', 'first': 1})")
        try scene.execute(0, "UPDATE cars SET second = 1")
        try scene.connectAndRun(0, 1)
        try scene.putBack(0, to: scene.nodes[0].volume.processDeath())
        let site = scene.nodes[0].store.queries.documents.site
        try scene.write(0, "a", "third")
        try scene.connectAndRun(0, 1)
        #expect(scene.nodes[1].closeMessages.isEmpty)
        #expect(scene.nodes[0].store.queries.documents.site == site)
        #expect(try scene.rows(1, all) == [#"{"_id":"a","first":1,"second":1,"third":1}"#])
    }

    @Test func `a pause that ends while the store is connected is reported before the write`()
        throws
    {
        let scene = try DocumentScene(2)
        try scene.subscribe(1, [cars])
        try scene.write(0, "a", "first")
        try scene.connectAndRun(0, 1)
        let backup = scene.nodes[0].volume.processDeath()
        try scene.write(0, "a", "lost")
        try scene.run()
        try scene.putBack(0, to: backup.rolledBack(seed: 7))
        try scene.connectAndRun(0, 1)
        try scene.write(0, "a", "new")
        try scene.run()
        #expect(scene.nodes[1].closeMessages.map(\.code) == [.lostWrite])
        try scene.connectAndRun(0, 1)
        #expect(try scene.rows(1, all) == [#"{"_id":"a","first":1,"lost":1,"new":1}"#])
    }
}
