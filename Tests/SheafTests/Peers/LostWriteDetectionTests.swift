import SheafBytes
import SheafDocument
import SheafEngine
import SheafReplication
import SheafStorage
import SheafSync
import SheafTestSupport
import Testing

/// Tests of the writes that a store has lost, as single received documents show them.
@Suite struct LostWriteDetectionTests {
    private let clock = FakeClock()
    /// A store that was created with its site.
    private let first: ReceivingStore

    init() throws {
        first = try ReceivingStore(SimulatedVolume(seed: 1), clock)
    }

    private func time(_ number: UInt64) -> HybridTime { HybridTime(rawValue: number) }

    private func earlier(_ time: HybridTime) -> HybridTime {
        HybridTime(rawValue: time.rawValue - 1)
    }

    private func pause(_ after: HybridTime, _ before: HybridTime) throws -> WritePause {
        try #require(WritePause(after: after, before: before))
    }

    private func document(
        _ object: Object, _ time: HybridTime, _ site: Site
    ) throws -> [UInt8] {
        try Insertion.document(object, at: Stamp(time, site), NameTable())
    }

    /// Reopens a store a second later, as after the end of its process.
    private func reopen(_ old: ReceivingStore) throws -> ReceivingStore {
        try old.store.flush()
        clock.advance(milliseconds: 1_000)
        let new = try ReceivingStore(old.volume.processDeath(), clock)
        try #require(new.engine.site == old.engine.site)
        return new
    }

    /// A write of the site of the receiving store, and whether it shows a loss.
    private struct Loss {
        let id: String
        let time: HybridTime
        /// The time up to which the writes of the store are unique; nil if none was lost.
        let unique: HybridTime?

        init(_ id: String, _ time: HybridTime, _ unique: HybridTime?) {
            (self.id, self.time, self.unique) = (id, time, unique)
        }
    }

    @Test(arguments: [false, true])
    func `a write in a pause of the store is missing, and its earlier writes are unique`(
        _ maySpellNames: Bool
    ) throws {
        let marks: SpillBuffer.Marks = maySpellNames ? .maySpellNames : []
        let inserted = try #require(try first.commit("a", .insert(["x": 1])))
        let second = try reopen(first)
        try second.commit("b", .insert(["x": 1]))
        let third = try reopen(second)
        let (engine, site) = (third.engine, third.engine.site)
        let pauses = engine.pauses
        try #require(pauses.count == 2)
        let (past, last) = (pauses[0], pauses[1])
        for (number, loss) in [
            Loss("n", past.after, nil), Loss("n", past.after.next, past.after),
            Loss("n", earlier(past.before), past.after), Loss("n", past.before, nil),
            Loss("n", last.after, nil), Loss("n", last.after.next, last.after),
            // Documents that the store has written are known up to their own writes.
            Loss("a", inserted.time, nil), Loss("a", past.before, last.after),
            Loss("a", past.after.next, past.after),
        ].enumerated() {
            var transaction = engine.begin()
            let bytes = try document(["y": 2], loss.time, site)
            _ = try third.receive(bytes, loss.id, marks, in: &transaction)
            #expect(transaction.lacksOwnWrites == (loss.unique != nil), "loss \(number)")
            #expect(transaction.uniqueThrough == loss.unique, "loss \(number)")
            engine.rollBack(&transaction)
        }
        // Of several lost writes, the one after the earliest pause counts.
        for times in [
            [last.after.next, past.after.next], [past.after.next, last.after.next],
        ] {
            var transaction = engine.begin()
            for (number, time) in times.enumerated() {
                let bytes = try document(["y": 2], time, site)
                _ = try third.receive(bytes, "n\(number)", marks, in: &transaction)
            }
            #expect(transaction.uniqueThrough == past.after)
            engine.rollBack(&transaction)
        }
        // The other peers have assigned the lost writes to a derived site.
        let derived = site.derivedSite(in: past)
        let kept = try document(["y": 2], past.after.next, derived)
        let own = try document(["z": 3], past.before, site)
        for (bytes, isLost) in [(kept, false), (try ReceivingStore.joined(kept, own), true)] {
            var transaction = engine.begin()
            _ = try third.receive(bytes, "n", marks, in: &transaction)
            #expect(transaction.lacksOwnWrites == isLost)
            #expect(transaction.uniqueThrough == (isLost ? past.after : nil))
            engine.rollBack(&transaction)
        }
    }

    @Test(arguments: [false, true])
    func `a store with a write later than its clock draws another site`(
        _ maySpellNames: Bool
    ) throws {
        let marks: SpillBuffer.Marks = maySpellNames ? .maySpellNames : []
        for isLater in [false, true] {
            let store = try ReceivingStore(SimulatedVolume(seed: isLater ? 2 : 3), clock)
            try store.commit("a", .insert(["x": 1]))
            let site = store.engine.site
            var transaction = store.engine.begin()
            let latest = transaction.clock.latest
            let bytes = try document(["y": 2], isLater ? latest.next : latest, site)
            let outcome = try store.receive(bytes, "n", marks, in: &transaction)
            #expect(outcome == "accepted new")
            // A site drawn after the opening has lost no write.
            #expect(!transaction.lacksOwnWrites && transaction.uniqueThrough == nil)
            try store.commit(&transaction)
            #expect((store.engine.site != site) == isLater)
        }
    }

    @Test func `an evicted document that returns in an older state causes another site`() throws {
        for isOlder in [false, true] {
            let store = try ReceivingStore(SimulatedVolume(seed: isOlder ? 2 : 3), clock)
            let written = try #require(try store.commit("a", .insert(["x": 1])))
            try store.commit("a", .evict)
            var transaction = store.engine.begin()
            let time = isOlder ? earlier(written.time) : written.time
            let bytes = try document(["x": 1], time, written.site)
            let outcome = try store.receive(bytes, "a", in: &transaction)
            #expect(outcome == "accepted new")
            try store.commit(&transaction)
            #expect((store.engine.site != written.site) == isOlder)
        }
    }

    @Test func `a write that the sender has lost is reported if its document covers the write`()
        throws
    {
        let site = Site(rawValue: 5)
        try first.commit("a", .join(try document(["x": 1], time(150), site)))
        for (received, paused, after, before, lost) in [
            (149, 5, 100, 200, nil), (150, 5, 100, 200, 150), (151, 5, 100, 200, 150),
            (250, 5, 100, 200, 150), (250, 6, 100, 200, nil), (250, 5, 150, 200, nil),
            (250, 5, 149, 200, 150), (250, 5, 100, 150, nil), (250, 5, 100, 151, 150),
        ] as [(UInt64, UInt64, UInt64, UInt64, UInt64?)] {
            for id in ["a", "n"] {
                var transaction = first.engine.begin()
                let pause = try pause(time(after), time(before))
                transaction.peerPauses = (Site(rawValue: paused), [pause])
                let bytes = try document(["x": 2], time(received), site)
                _ = try first.receive(bytes, id, .maySpellNames, in: &transaction)
                // A store without the document knows no lost write.
                let expected = id == "a" ? lost.map { time($0) } : nil
                #expect(transaction.lostByPeer == expected, "\(id), \(received)")
                first.engine.rollBack(&transaction)
            }
        }
    }

    /// A received document with the stored one, and the writes that are kept.
    private struct Keeping {
        let id: String
        let bytes: [UInt8]
        var marks: SpillBuffer.Marks = .maySpellNames
        var pausedSite: Site?
        let outcome: String
        var isKept = false
        /// The version vector after the join.
        var times: [Site: HybridTime] = [:]
        var object: Object?
    }

    @Test func `writes that their store has lost are kept under the derived site`() throws {
        let site = Site(rawValue: 5)
        let pause = try pause(time(100), time(200))
        let derived = site.derivedSite(in: pause)
        let lost = try document(["x": 1], time(150), site)
        let later = try document(["y": 2], time(250), site)
        let both = try ReceivingStore.joined(lost, try document(["w": 3], time(150), derived))
        try first.commit("lost", .join(lost))
        try first.commit("later", .join(later))
        try first.commit("both", .join(both))
        let own = try #require(try first.commit("own", .insert(["x": 1])))
        try first.store.flush()
        let ownLater = HybridTime(rawValue: own.time.rawValue + 20)
        let ownPause = try self.pause(
            earlier(own.time), HybridTime(rawValue: own.time.rawValue + 10))
        let kept = [derived: time(150), site: time(250)]
        for (number, test) in [
            Keeping(
                id: "lost", bytes: later, pausedSite: site, outcome: "merged", isKept: true,
                times: kept, object: ["x": 1, "y": 2]),
            Keeping(
                id: "later", bytes: lost, pausedSite: site, outcome: "merged", isKept: true,
                times: kept, object: ["x": 1, "y": 2]),
            Keeping(
                id: "later", bytes: lost, marks: [.maySpellNames, .isPartial], pausedSite: site,
                outcome: "gap", times: [site: time(250)], object: ["y": 2]),
            Keeping(
                id: "lost", bytes: later, outcome: "accepted new", times: [site: time(250)],
                object: ["y": 2]),
            // One of the two sites does not show which removals the other one has seen.
            Keeping(
                id: "both", bytes: later, pausedSite: site, outcome: "merged before",
                times: kept, object: ["w": 3, "y": 2]),
            Keeping(
                id: "own", bytes: try document(["y": 2], ownLater, own.site),
                pausedSite: own.site, outcome: "accepted new", times: [own.site: ownLater],
                object: ["y": 2]),
        ].enumerated() {
            try check(test, "case \(number)", pause: test.pausedSite == site ? pause : ownPause)
        }
    }

    /// Receives the document of a test; `pause` is the one of the paused site.
    private func check(
        _ test: Keeping, _ comment: Comment, pause: WritePause
    ) throws {
        var transaction = first.engine.begin()
        if let paused = test.pausedSite {
            let pauses = SitePauses(site: paused, pauses: [pause])
            _ = transaction.knownPauses.add(pauses)
        }
        let outcome = try first.receive(test.bytes, test.id, test.marks, in: &transaction)
        #expect(outcome == test.outcome, comment)
        let addresses = test.isKept ? [ReceivingStore.address(test.id)] : []
        #expect(transaction.lostWrites.kept == addresses, comment)
        #expect(transaction.lostWrites.removed == [], comment)
        #expect(transaction.lostWrites.unmoved.isEmpty, comment)
        let found = try first.state(of: test.id, in: &transaction)
        let state = try #require(found)
        let names = transaction.catalog.names
        let (vector, object) = try state.withUnsafeBytes { bytes in
            let document = try EncodedDocument(bytes)
            return (try document.vector(), try document.value(names))
        }
        var times: [Site: HybridTime] = [:]
        for entry in vector.entries { times[entry.site] = entry.time }
        #expect(times == test.times && object == test.object, comment)
        first.engine.rollBack(&transaction)
    }
}
