import Sheaf
import SheafDocument
import SheafEngine
import SheafQuery
import SheafStatements
import SheafStorage
import Testing

/// Statements that a transaction refuses, and statements that it runs on its own documents.
@Suite struct TransactionStatementTests {
    private let scene: PastScene

    init() throws {
        scene = try PastScene()
        try scene.commit("INSERT INTO t DOCUMENTS ({'_id': 1, 'n': 1}), ({'_id': 2, 'n': 2})")
        try scene.commit("CREATE INDEX known ON t (n)")
    }

    private func prepare(_ text: String) throws(StoreError) -> (Statement, ArgumentValues) {
        try scene.queries.prepare(DQL(verbatim: text), [:])
    }

    /// Returns the error of a statement in a write transaction, which is then rolled back.
    private func errorOfWriting(_ text: String) -> StoreError? {
        let queries = scene.queries
        var transaction = queries.documents.begin()
        defer { queries.documents.rollBack(&transaction) }
        do throws(StoreError) {
            let (statement, values) = try prepare(text)
            _ = try queries.execute(statement, values, in: &transaction, CommitCell())
        } catch {
            return error
        }
        return nil
    }

    /// Returns the error of a statement in a read-only transaction.
    private func errorOfReading(_ text: String) -> StoreError? {
        let queries = scene.queries
        do throws(StoreError) {
            let (statement, values) = try prepare(text)
            _ = try queries.execute(statement, values, on: queries.snapshot(), CommitCell())
        } catch {
            return error
        }
        return nil
    }

    private static let outside =
        "run the statement outside of a transaction, with Store.execute"

    @Test(arguments: [
        "CREATE INDEX i ON t (a)", "DROP INDEX known ON t", "DROP INDEX IF EXISTS i ON t",
        "ADVISE AND PROVISION SELECT * FROM t WHERE a = 1",
    ])
    func `a transaction changes no indexes`(text: String) throws {
        for error in [errorOfWriting(text), errorOfReading(text)] {
            #expect(error?.reason == .meaning)
            #expect(
                error?.message == "indexes cannot be created or dropped within a transaction")
            #expect(error?.hint == Self.outside)
        }
        let rows = try scene.rows("SELECT _id FROM system:indexes")
        #expect(rows == [["_id": "t.known"]])
    }

    @Test(arguments: ["ALTER SYSTEM SET tombstone_ttl_hours = 1", "ALTER SYSTEM RESET ALL"])
    func `a transaction sets no parameters`(text: String) throws {
        for error in [errorOfWriting(text), errorOfReading(text)] {
            #expect(error?.reason == .meaning)
            #expect(error?.message == "system parameters cannot be set within a transaction")
            #expect(error?.hint == Self.outside)
        }
        #expect(try scene.rows("SHOW tombstone_ttl_hours") == [["tombstone_ttl_hours": 168]])
    }

    @Test(arguments: [
        "SHOW ALL", "EXPLAIN DELETE FROM t", "ADVISE SELECT * FROM t WHERE a = 1",
        "SELECT * FROM system:indexes", "PROFILE SELECT * FROM t", "SELECT * FROM t WHERE _id = 1",
    ])
    func `a transaction runs statements that change nothing`(text: String) {
        #expect(errorOfWriting(text) == nil)
        #expect(errorOfReading(text) == nil)
    }

    @Test(arguments: [
        "INSERT INTO t DOCUMENTS ({'_id': 3})", "UPDATE t SET n = 5 WHERE _id = 1", "DELETE FROM t",
        "DELETE FROM t WHERE _id = 1", "EVICT FROM t", "PROFILE DELETE FROM t",
    ])
    func `a read-only transaction changes no documents`(text: String) throws {
        #expect(errorOfWriting(text) == nil)
        #expect(errorOfReading(text)?.reason == .readOnly)
        #expect(try scene.rows("SELECT _id FROM t ORDER BY _id") == [["_id": 1], ["_id": 2]])
    }

    @Test func `a statement that writes needs a destination for its commit`() throws {
        for text in [
            "INSERT INTO t DOCUMENTS (:d)", "DELETE FROM t", "CREATE INDEX i ON t (a)",
            "DROP INDEX known ON t",
        ] {
            var reason: StoreError.Reason?
            do throws(StoreError) {
                let (statement, _) = try prepare(text)
                _ = try scene.queries.execute(statement, ["d": ["_id": 3]])
            } catch {
                reason = error.reason
            }
            #expect(reason == .readOnly, "\(text)")
        }
        #expect(try scene.rows("SELECT COUNT(*) AS n FROM t") == [["n": 2]])
    }

    @Test func `a statement that fails takes back its own changes only`() throws {
        let queries = scene.queries
        var transaction = queries.documents.begin()
        func run(_ text: String) throws(StoreError) -> ResultStorage {
            let (statement, values) = try prepare(text)
            return try queries.execute(statement, values, in: &transaction, CommitCell())
        }
        func ids() throws -> [Value?] {
            let found = try run("SELECT _id FROM t ORDER BY _id")
            return try found.items.map { try $0.object(found.names)["_id"] }
        }
        #expect(try run("INSERT INTO t DOCUMENTS ({'_id': 3})").mutatedIDs == [3])
        for text in [
            "INSERT INTO t DOCUMENTS ({'_id': 4}), ({'_id': 3})",
            "INSERT INTO t DOCUMENTS ({'_id': 5}), ({'_id': 5})",
            "INSERT INTO t DOCUMENTS ({'_id': 3})",
        ] {
            var reason: StoreError.Reason?
            do throws(StoreError) { _ = try run(text) } catch { reason = error.reason }
            #expect(reason == .conflict, "\(text)")
            #expect(try ids() == [1, 2, 3], "\(text)")
        }
        #expect(try run("DELETE FROM t WHERE n = 2").mutatedIDs == [2])
        #expect(try ids() == [1, 3])
        queries.documents.rollBack(&transaction)
        #expect(try scene.rows("SELECT _id FROM t ORDER BY _id") == [["_id": 1], ["_id": 2]])
    }
}
