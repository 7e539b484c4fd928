import SheafQuery
import Testing

/// Recognition of the statements that the fast path runs.
@Suite struct FastPathRecognitionTests {
    @Test(arguments: [
        "SELECT * FROM t WHERE _id = :id", "SELECT * FROM t WHERE :id = _id",
        "SELECT * FROM t WHERE t._id = 'a'", "SELECT * FROM t AS q WHERE q._id = 1",
        "SELECT * FROM COLLECTION t WHERE (_id = true)", "UPDATE t SET a = :a WHERE _id = :id",
        "UPDATE t SET a = a + 1 WHERE _id = :id", "DELETE FROM t WHERE _id = :id RETURNING *",
        "EVICT FROM t WHERE _id = :id", "INSERT INTO t DOCUMENTS (:a), (:b)",
        "INSERT INTO t DOCUMENTS (:a) ON ID CONFLICT DO UPDATE RETURNING *",
        "INSERT INTO t DOCUMENTS (deserialize_json(:a))",
        "INSERT INTO t DOCUMENTS (:a), (deserialize_json('{}'))",
    ])
    func `a statement for one id or an insertion of parameters takes the fast path`(_ text: String)
        throws
    {
        #expect(try Parser.parse(text).fastPath != nil)
    }

    @Test(arguments: [
        "SELECT * FROM t", "SELECT _id FROM t WHERE _id = :id",
        "SELECT *, a FROM t WHERE _id = :id", "SELECT a, * FROM t WHERE _id = :id",
        "SELECT q.* FROM t AS q WHERE _id = 1",
        "SELECT DISTINCT * FROM t WHERE _id = 1", "SELECT * FROM t WHERE _id = 1 LIMIT 1",
        "SELECT * FROM t WHERE _id = 1 ORDER BY a", "SELECT * FROM t WHERE _id != 1",
        "SELECT * FROM t WHERE _id = 1.0", "SELECT * FROM t WHERE _id = NULL",
        "SELECT * FROM t WHERE _id = [1]", "SELECT * FROM t WHERE _id.a = 1",
        "SELECT * FROM t WHERE u._id = 1", "SELECT * FROM t WHERE _id = 1 OR _id = 2",
        "SELECT * FROM t WHERE _id = a", "SELECT * FROM t WHERE a = 1",
        "SELECT * FROM t USE IDS (1) WHERE _id = 1", "SELECT * FROM _id AS _id WHERE _id = 1",
        "SELECT * FROM t USE INDEX 'i' WHERE _id = 1",
        "SELECT * FROM system:indexes WHERE _id = 'a'", "SELECT * FROM __collections WHERE _id = 1",
        "SELECT * FROM COLLECTION t (o MAP) WHERE _id = 1",
        "SELECT * FROM t /*+ {\"#index\": \"i\"} */ WHERE _id = 1",
        "SELECT /*+ {\"#index\": \"i\"} */ * FROM t WHERE _id = 1",
        "SELECT * FROM t JOIN u ON u._id = t.a WHERE t._id = 1",
        "EXPLAIN SELECT * FROM t WHERE _id = 1", "PROFILE SELECT * FROM t WHERE _id = 1",
        "DELETE FROM t WHERE _id = 1 LIMIT 1", "DELETE FROM t",
        "UPDATE COLLECTION t (c COUNTER) APPLY c INCREMENT BY 1 WHERE _id = 1",
        "INSERT INTO t DOCUMENTS ({'a': 1})",
        "INSERT INTO t DOCUMENTS (:a), (object_concat(:b, :a))",
        "INSERT INTO t DOCUMENTS (serialize_json(:a))",
        "INSERT INTO t DOCUMENTS (deserialize_json(:a, :b))",
        "INSERT INTO t DOCUMENTS (deserialize_json(DISTINCT :a))",
        "INSERT INTO t DOCUMENTS (deserialize_json(upper(:a)))",
        "INSERT INTO COLLECTION t (c COUNTER) DOCUMENTS (:a)", "INSERT INTO __t DOCUMENTS (:a)",
        "UPDATE __t SET a = 1 WHERE _id = 1", "DELETE FROM __t WHERE _id = 1",
        "EVICT FROM __t WHERE _id = 1",
        "INSERT INTO t SELECT * FROM t WHERE _id = 1",
    ])
    func `a statement without a fast-path form is planned`(_ text: String) throws {
        #expect(try Parser.parse(text).fastPath == nil)
    }
}
