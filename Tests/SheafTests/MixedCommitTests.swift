import Sheaf
import SheafBytes
import SheafDocument
import SheafDocumentModel
import SheafDocumentSimulations
import SheafEngine
import SheafStorage
import SheafTestSupport
import Testing

/// Changes of several stores in one commit, which random histories do not produce.
@Suite struct MixedCommitTests {
    private let name = DocumentSimulation.names[0]

    private func change(_ action: DocumentChange.Action) -> DocumentChange {
        DocumentChange(name.collection, name.id, action)
    }

    private func commit(_ simulation: DocumentSimulation, _ actions: DocumentChange.Action...)
        throws
    {
        _ = try simulation.engine.commit(actions.map(change)) { batch throws(StorageError) in
            try simulation.store.append(batch)
        }
        try simulation.flush()
    }

    /// Returns the changes since a commit, or the state, with all names spelled out.
    private func changes(_ simulation: DocumentSimulation, since commit: CommitID) throws -> [UInt8]
    {
        let snapshot = simulation.engine.snapshot()
        let key = try #require(try snapshot.key(collection: name.collection, id: name.id))
        switch try snapshot.changes(of: key, since: commit) {
        case .delta(let bytes), .state(let bytes):
            return try bytes.withUnsafeBytes {
                try EncodedDocument($0).renamed(from: snapshot.names, to: NameTable())
            }
        case .nothing, .removed: return []
        }
    }

    @Test func `an edit and a concurrent change can share one commit`() throws {
        let clock = FakeClock()
        let (one, other) = (
            try DocumentSimulation(seed: 1, clock: clock),
            try DocumentSimulation(seed: 2, clock: clock)
        )
        try commit(one, .insert(.of(("a", 1), ("b", ["x": 1]), ("c", 1))))
        try commit(other, .join(try changes(one, since: 0)))
        let seen = other.engine.snapshot().log.commit
        try commit(other, .edit([.set(path: ["b", "x"], to: 2), .unset(path: ["c"])]))
        try commit(one, .edit([.set(path: ["a"], to: 2)]))
        let before = one.engine.snapshot().log.commit
        let then = try changes(one, since: 0)
        try commit(
            one, .edit([.set(path: ["a"], to: 3)]), .join(try changes(other, since: seen)))
        let document = BytesDocument(try changes(one, since: 0))
        #expect(document.value == ["a": 3, "b": ["x": 2]])
        // The changes since a commit bring a copy of that commit up to date.
        var follower = BytesDocument(then)
        follower.join(try changes(one, since: before))
        #expect(follower == document)
    }

    @Test func `edits with and without a delta in one commit are all among its changes`() throws {
        let simulation = try DocumentSimulation(seed: 1, clock: FakeClock())
        // Names have numbers from their third occurrence on, and then edits need no delta.
        for number in 0..<4 {
            let object: Object = ["a": .integer(Int64(number)), "b": 1, "c": 1]
            try commit(simulation, .insert(object, onConflict: .merge))
        }
        let before = simulation.engine.snapshot().log.commit
        let then = try changes(simulation, since: 0)
        try commit(
            simulation, .edit([.set(path: ["a"], to: 9)]), .edit([.unset(path: ["c"])]))
        let document = BytesDocument(try changes(simulation, since: 0))
        #expect(document.value == ["a": 9, "b": 1])
        var follower = BytesDocument(then)
        follower.join(try changes(simulation, since: before))
        #expect(follower == document)
    }

    @Test func `a document that is inserted as INITIAL after its eviction keeps its other fields`()
        throws
    {
        let clock = FakeClock()
        let (one, other) = (
            try DocumentSimulation(seed: 1, clock: clock),
            try DocumentSimulation(seed: 2, clock: clock)
        )
        try commit(one, .insert(["a": 1, "b": 1]))
        try commit(other, .join(try changes(one, since: 0)))
        let site = one.engine.site
        try commit(one, .evict)
        #expect(one.engine.site == site)
        try commit(one, .insertInitial(["c": 0]))
        // Otherwise the next write would cover the evicted ones.
        #expect(one.engine.site != site)
        clock.advance(milliseconds: 1)
        try commit(one, .edit([.set(path: ["c"], to: 2)]))
        try commit(other, .join(try changes(one, since: 0)))
        let document = BytesDocument(try changes(other, since: 0))
        #expect(document.value == ["a": 1, "b": 1, "c": 2])
    }

    @Test(arguments: [true, false])
    func `a document that is inserted as INITIAL without evicted writes keeps the site`(
        isEvicted: Bool
    ) throws {
        let clock = FakeClock()
        let (one, other) = (
            try DocumentSimulation(seed: 1, clock: clock),
            try DocumentSimulation(seed: 2, clock: clock)
        )
        if isEvicted {
            // The writes of another store leave no remnant.
            try commit(one, .insert(["a": 1]))
            try commit(other, .join(try changes(one, since: 0)))
            try commit(other, .evict)
        }
        let site = other.engine.site
        try commit(other, .insertInitial(["c": 0]))
        #expect(other.engine.site == site)
        #expect(BytesDocument(try changes(other, since: 0)).value == ["c": 0])
    }
}
