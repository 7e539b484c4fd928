import Sheaf
import SheafDocument
import SheafStatements
import Testing

/// Left joins whose condition requires that a row has no match.
@Suite struct UnmatchedJoinTests {
    private let store: InterpolationStore

    init() throws {
        store = try InterpolationStore()
        try store.execute(
            "INSERT INTO t DOCUMENTS ({_id: 2, r: 'x'}), ({_id: 3, r: 'y'}), ({_id: 4, r: NULL})")
        // The pattern is invalid.
        try store.execute("INSERT INTO u DOCUMENTS ({_id: 'x', k: 'x', p: '('})")
    }

    @Test(arguments: [
        "u ON u._id = t.r WHERE ? AND u._id IS MISSING",
        "u ON u._id = t.r WHERE ? AND u IS MISSING",
        "u ON u.k = t.r WHERE ? AND u._id IS MISSING",
        "u ON u.k = t.r WHERE ? AND u.k IS MISSING",
        "u USE INDEX '' ON u.k = t.r WHERE ? AND u._id IS MISSING",
    ])
    func `a match removes a row before the rest of the condition is evaluated`(join: String)
        throws
    {
        try store.execute("CREATE INDEX by_k ON u (k)")
        let failing = "(regexp_like('a', u.p) OR u.p IS MISSING)"
        let text = "SELECT t._id FROM t LEFT JOIN " + join.replacing("?", with: failing)
        #expect(
            try store.rows(DQL(verbatim: text)).map(\.json).sorted()
                == [#"{"_id":1}"#, #"{"_id":3}"#, #"{"_id":4}"#])
    }

    @Test func `without the required absence, the condition is evaluated on each match`() throws {
        let text = "SELECT t._id FROM t LEFT JOIN u ON u._id = t.r WHERE regexp_like('a', u.p)"
        #expect(store.problem(DQL(verbatim: text)) != nil)
    }
}
