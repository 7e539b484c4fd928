import SheafDocument
import SheafEngine
import SheafReplication
import SheafStorage
import SheafSync
import SheafTestSupport
import Testing

/// Tests of the check whether a reconciliation compared enough documents.
struct RankCheckTests {
    private let receiver: ReceivingStore

    init() throws {
        receiver = try ReceivingStore(SimulatedVolume(seed: 1), FakeClock())
        for id in ["a", "b", "deleted", "evicted"] as [Value] {
            try receiver.commit(id, .insert(["x": 1]))
        }
        try receiver.commit("deleted", .delete)
        try receiver.commit("evicted", .evict)
        while try receiver.store.flush() {}
    }

    private func addresses(_ ids: [String]) -> [DocumentAddress] {
        ids.map { ReceivingStore.address($0) }
    }

    private func check(compared: [String]) -> RankCheck {
        RankCheck(
            snapshot: receiver.engine.snapshot(), compared: Set(addresses(compared)),
            isAll: false)
    }

    private func commit(_ number: UInt64, _ ids: [String]) -> ShippedCommit {
        let documents = addresses(ids).map {
            ShippedDocument(collection: $0.collection, id: $0.id, .state, [])
        }
        return ShippedCommit(commit: number, stamp: nil, documents)
    }

    @Test func `a document of the snapshot that was not compared is lacking`() throws {
        let check = check(compared: ["a"])
        for (ids, isLacking) in [
            ([], false), (["a"], false), (["b"], true), (["a", "b"], true), (["b", "a"], true),
            (["deleted"], true), (["evicted"], false), (["none"], false),
            (["none", "evicted", "a", "b"], true), (["none", "evicted", "a"], false),
        ] as [([String], Bool)] {
            #expect(try check.lacks(addresses(ids)) == isLacking, "\(ids)")
        }
    }

    @Test func `received documents are compared, and the first batch makes the check due`() throws {
        var check = check(compared: [])
        #expect(!check.isDue(through: .max))
        check.recordCompared([commit(4, ["a"]), commit(7, ["none", "b"])])
        check.recordCompared([commit(9, ["deleted"])])
        #expect(try !check.lacks(addresses(["a", "b", "deleted"])))
        for (commit, isDue) in [(4, false), (6, false), (7, true), (8, true)] as [(UInt64, Bool)] {
            #expect(check.isDue(through: commit) == isDue, "\(commit)")
        }
    }
}
