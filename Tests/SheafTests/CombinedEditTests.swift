import Sheaf
import SheafQuery
import SheafStore
import SheafTestSupport
import Testing

/// The changes of results that an observer has missed, combined from their edits.
@Suite struct CombinedEditTests {
    private let store: InterpolationStore

    init() throws {
        store = try InterpolationStore()
        try store.execute("INSERT INTO t DOCUMENTS ({_id: 2})")
    }

    /// Returns the changes from a result with two rows to the last one.
    private func changes(_ first: [RowEdit]?, _ second: [RowEdit]?) throws -> Diff? {
        let storage = try store.execute("SELECT 'same' AS a FROM t")
        return QueryResult(storage, edits: second).following(QueryResult(storage, edits: first))
            .changes
    }

    @Test func `an id whose row was replaced by an equal one is removed twice`() throws {
        // Between the results, row 9 replaced an equal row, which is not delivered as a change.
        let changes = try changes(
            [.remove(at: 1, id: [9]), .insert(at: 0, id: [1], isUpdated: true)],
            [.remove(at: 1, id: [9]), .insert(at: 0, id: [0], isUpdated: true)])
        #expect(changes == Diff(insertions: [0, 1], deletions: [0, 1], updates: [], moves: []))
    }

    @Test func `a row that returns is the one removed last`() throws {
        let changes = try changes(
            [.remove(at: 1, id: [9]), .insert(at: 0, id: [1], isUpdated: true)],
            [.remove(at: 1, id: [9]), .insert(at: 0, id: [9], isUpdated: false)])
        #expect(changes?.deletions == [1])
        #expect(changes?.insertions == [1])
    }

    @Test func `up to 512 edits are combined, and the changes are unknown after more`() throws {
        let edits = { (count: Int) in [RowEdit](repeating: .update(at: 1), count: count) }
        let known = Diff(updates: [1])
        #expect(try changes(edits(256), edits(256)) == known)
        #expect(try changes(edits(256), edits(257)) == nil)
        #expect(try changes(edits(512), []) == known)
        #expect(try changes([], edits(512)) == known)
        #expect(try changes([], edits(513)) == nil)
        #expect(try changes([], []) == Diff())
        #expect(try changes(nil, edits(1)) == nil)
        #expect(try changes(edits(1), nil) == nil)
    }
}
