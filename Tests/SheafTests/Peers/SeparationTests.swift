import SheafBytes
import SheafDocument
import SheafEngine
import SheafStorage
import SheafTestSupport
import Testing

/// Tests of stores that continue as another site, without peers.
@Suite struct SeparationTests {
    private let clock = FakeClock()

    /// Returns a store with cars a to f, one commit each, and the times of these commits.
    private func filled(
        transactionLength: Int = 1 << 30
    ) throws -> (store: ReceivingStore, times: [HybridTime]) {
        let store = try ReceivingStore(
            SimulatedVolume(seed: 1), clock, transactionLength: transactionLength)
        var times: [HybridTime] = []
        for id in ["a", "b", "c", "d", "e", "f"] as [Value] {
            clock.advance(milliseconds: 1)
            times.append(try #require(try store.commit(id, .insert(["x": 1]))).time)
        }
        while try store.store.flush() {}
        return (store, times)
    }

    @discardableResult
    private func separate(
        _ store: ReceivingStore, from site: Site? = nil, after time: HybridTime? = nil,
        commits: Int = .max
    ) throws(EngineError) -> Separation? {
        var count = 0
        return try store.engine.separate(from: site, after: time) {
            (batch) throws(StorageError) in
            guard count < commits else { throw .closed }
            count += 1
            return try store.store.append(batch)
        }
    }

    private func vector(_ id: Value, in store: ReceivingStore) throws -> [Site: HybridTime] {
        let snapshot = store.engine.snapshot()
        let key = try #require(try snapshot.key(collection: "cars", id: id))
        let document = try #require(try snapshot.document(key))
        var times: [Site: HybridTime] = [:]
        for entry in try document.read({ try EncodedDocument($0).vector() }).entries {
            times[entry.site] = entry.time
        }
        return times
    }

    @Test func `the writes after a time are moved to a new site`() throws {
        let (store, times) = try filled()
        let old = store.engine.site
        let foreign = Stamp(times[4], Site(rawValue: 5))
        try store.commit("foreign", .join(Insertion.document(["x": 1], at: foreign, NameTable())))
        // This document is not durable yet.
        let pending = try #require(try store.commit("pending", .insert(["x": 1]))).time
        let isRefused = try separate(store, from: foreign.site, after: times[2]) == nil
        #expect(isRefused && store.engine.site == old)
        let separation = try #require(try separate(store, from: old, after: times[2]))
        #expect(separation.commit == 9 && separation.unmoved.isEmpty)
        let new = store.engine.site
        #expect(new != old)
        while try store.store.flush() {}
        #expect(store.engine.snapshot().log.commit == 9)
        for (number, id) in (["a", "b", "c"] as [Value]).enumerated() {
            #expect(try vector(id, in: store) == [old: times[number]], "\(number)")
        }
        for (number, id) in (["d", "e", "f"] as [Value]).enumerated() {
            let expected = [old: times[2], new: times[3 + number]]
            #expect(try vector(id, in: store) == expected, "\(number)")
        }
        #expect(try vector("pending", in: store) == [old: times[2], new: pending])
        #expect(try vector("foreign", in: store) == [foreign.site: foreign.time])
        // Later writes are those of the new site.
        #expect(try store.commit("later", .insert(["x": 1]))?.site == new)
    }

    @Test func `without a time the writes since the opening are moved`() throws {
        let (first, times) = try filled()
        clock.advance(milliseconds: 1_000)
        let store = try ReceivingStore(first.volume.processDeath(), clock)
        let opened = try #require(store.engine.pauses.last).after
        let old = store.engine.site
        let written = try #require(try store.commit("g", .insert(["x": 1]))).time
        try separate(store)
        while try store.store.flush() {}
        #expect(try vector("f", in: store) == [old: times[5]])
        #expect(try vector("g", in: store) == [old: opened, store.engine.site: written])
    }

    @Test func `a commit moves documents up to a sixteenth of a transaction`() throws {
        let (model, times) = try filled()
        let names = model.engine.newestCatalog.names
        let snapshot = model.engine.snapshot()
        var lengths: Set<Int> = []
        for id in ["d", "e", "f"] as [Value] {
            let key = try #require(try snapshot.key(collection: "cars", id: id))
            let document = try #require(try snapshot.document(key))
            // The length does not depend on the order of the sites.
            for site in [9, .max - 9] as [UInt64] {
                let moved = try document.read {
                    try EncodedDocument($0).movingWrites(
                        of: model.engine.site, after: times[2], to: Site(rawValue: site), names)
                }
                lengths.insert(try #require(moved).count)
            }
        }
        try #require(lengths.count == 1)
        let length = try #require(lengths.first)
        for (limit, commits) in [
            (length, 3), (length + 1, 2), (2 * length, 2), (2 * length + 1, 1),
        ] {
            let (store, times) = try filled(transactionLength: 16 * limit)
            let separation = try #require(try separate(store, after: times[2]))
            #expect(separation.commit == CommitID(6 + commits), "limit \(limit)")
        }
    }

    @Test func `a separation that fails leaves the site, and the documents moved before`() throws {
        let (probe, _) = try filled()
        let key = try #require(try probe.engine.snapshot().key(collection: "cars", id: "d"))
        let length = try #require(try probe.engine.snapshot().document(key)).bytes.count
        for commits in 0...2 {
            let (store, times) = try filled(transactionLength: 16 * length)
            let old = store.engine.site
            var found: EngineError?
            do throws(EngineError) {
                try separate(store, after: times[2], commits: commits)
            } catch {
                found = error
            }
            #expect(found == EngineError.storage(.closed))
            #expect(store.engine.site == old && store.engine.pauses == [])
            let report = store.engine.siteReport(through: 6)
            #expect(report.site == old && report.pauses == [])
            while try store.store.flush() {}
            // Documents are moved in the order of their keys.
            for (number, id) in (["d", "e", "f"] as [Value]).enumerated() {
                let isMoved = number < commits
                #expect(try vector(id, in: store).count == (isMoved ? 2 : 1), "\(number)")
            }
            #expect(try store.commit("later", .insert(["x": 1]))?.site == old)
        }
    }

    @Test func `the former site applies to the documents before the move is durable`() throws {
        for isDurable in [false, true] {
            let (store, _) = try filled()
            let first = store.engine.site
            try separate(store)
            let second = store.engine.site
            for (commit, site) in [(6, first), (7, second), (8, second)] as [(CommitID, Site)] {
                #expect(store.engine.siteReport(through: commit).site == site, "\(commit)")
            }
            if isDurable { while try store.store.flush() {} }
            try separate(store)
            let third = store.engine.site
            #expect(Set([first, second, third]).count == 3)
            let before = store.engine.siteReport(through: 7)
            #expect(before.site == (isDurable ? second : first))
            #expect(store.engine.siteReport(through: 8).site == third)
        }
    }

    @Test func `documents that cannot be read are reported, and the others are moved`() throws {
        let (store, times) = try filled()
        let number = try #require(
            store.engine.newestCatalog.number(ofCollection: "cars"))
        var batch = WriteBatch()
        let damaged: [UInt8] = [1, 0xFF, 0xFF, 0xFF]
        try batch.put(StoreKey.bytes(ofDocument: "bad", collection: number), damaged)
        try batch.put(StoreKey.bytes(ofDocument: "bad", collection: number + 7), damaged)
        _ = try store.store.append(batch)
        while try store.store.flush() {}
        let separation = try #require(try separate(store, after: times[2]))
        let addresses = separation.unmoved.map(\.address)
        #expect(addresses == [ReceivingStore.address("bad"), nil])
        while try store.store.flush() {}
        #expect(try vector("f", in: store).count == 2)
    }
}
