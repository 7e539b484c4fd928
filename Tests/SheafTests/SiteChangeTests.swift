import SheafDocument
import SheafEngine
import SheafStorage
import SheafTestSupport
import Testing

/// Tests of transactions that write documents again that their store has evicted.
@Suite struct SiteChangeTests {
    private let clock = FakeClock()
    private let store: ReceivingStore
    private let site: Site

    /// Opens a store for the second time, with evicted cars and a pause before its last write.
    init() throws {
        let first = try ReceivingStore(SimulatedVolume(seed: 1), clock)
        for id in ["e", "seed"] as [Value] {
            try first.commit(id, .insert(["x": 1]))
            try first.commit(id, .evict)
        }
        try first.store.flush()
        clock.advance(milliseconds: 1_000)
        store = try ReceivingStore(first.volume.processDeath(), clock)
        site = store.engine.site
        try #require(site == first.engine.site)
        try store.commit("a", .insert(["x": 1]))
        try store.store.flush()
        try #require(store.engine.pauses.count == 1)
    }

    private func apply(
        _ id: Value, _ action: DocumentChange.Action, in transaction: inout DocumentTransaction
    ) throws(EngineError) -> Stamp? {
        try transaction.apply(DocumentChange("cars", id, action)).stamp
    }

    @Test func `an evicted document is written with another site, and so are those after it`()
        throws
    {
        var transaction = store.engine.begin()
        let stamps = [
            try apply("n", .insert(["x": 1]), in: &transaction),
            try apply("e", .insert(["x": 2]), in: &transaction),
        ]
        let (first, again) = (try #require(stamps[0]), try #require(stamps[1]))
        let later = try apply("m", .insert(["x": 1]), in: &transaction)
        #expect(first.site == site && again.site != site && later == again)
        #expect(again.time == first.time.next)
        #expect(transaction.clock.site == again.site && transaction.stamp == again)
        try store.commit(&transaction)
        #expect(store.engine.site == again.site)
        // The new site has no pauses; those of the former one are known like those of a peer.
        #expect(store.engine.pauses == [])
        #expect(store.engine.knownPauses.map(\.site) == [site])
        while try store.store.flush() {}
        #expect(store.engine.ownSites == [site, again.site])
    }

    @Test func `an evicted document is inserted as seeds with another site`() throws {
        var transaction = store.engine.begin()
        let stamp = try apply("seed", .insertInitial(["x": 2]), in: &transaction)
        #expect(stamp == Stamp.initial && transaction.clock.site != site)
        try store.commit(&transaction)
        #expect(store.engine.site != site)
    }

    @Test func `a statement that is rolled back does not change the site`() throws {
        let pauses = store.engine.pauses
        var transaction = store.engine.begin()
        transaction.beginStatement()
        let first = try apply("n", .insert(["x": 1]), in: &transaction)
        transaction.beginStatement()
        let again = try apply("e", .insert(["x": 2]), in: &transaction)
        #expect(again?.site != site && transaction.clock.site != site)
        transaction.rollBackStatement()
        #expect(transaction.clock.site == site && transaction.stamp == first)
        let later = try apply("m", .insert(["x": 1]), in: &transaction)
        #expect(later == first)
        try store.commit(&transaction)
        #expect(store.engine.site == site && store.engine.pauses == pauses)
        #expect(store.engine.knownPauses.isEmpty)
    }

    @Test func `a transaction that is rolled back does not change the site`() throws {
        var transaction = store.engine.begin()
        _ = try apply("e", .insert(["x": 2]), in: &transaction)
        store.engine.rollBack(&transaction)
        #expect(store.engine.site == site && store.engine.pauses.count == 1)
        #expect(try store.commit("n", .insert(["x": 1]))?.site == site)
    }
}
