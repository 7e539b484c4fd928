import Sheaf
import SheafDocument
import SheafQuery
import SheafStatements
import SheafStorage
import SheafTestSupport
import Testing

/// Statements on a store that is opened for reading only.
@Suite struct QueryReaderTests {
    private let volume = SimulatedVolume(seed: 4)

    private func fill() throws {
        let store = try StoreEngine(opening: volume)
        let queries = try QueryEngine(opening: store)
        let sink = CommitSink(
            append: { batch throws(StorageError) in try store.append(batch) },
            flush: { () throws(StorageError) in while try store.flush() {} })
        for text in [
            "INSERT INTO cars DOCUMENTS ({'_id': 'a', 'color': 'blue'}), ({'_id': 'b'})",
            "CREATE INDEX by_color ON cars (color)",
            "INSERT INTO cars DOCUMENTS ({'_id': 'c', 'color': 'red'})",
        ] { _ = try queries.execute(try Parser.parse(text), ArgumentValues(), sink) }
        try store.close()
    }

    private func rows(_ text: String, _ queries: QueryEngine) throws -> [Value] {
        let outcome = try queries.execute(try Parser.parse(text))
        let newest = Int64(queries.snapshot().log.commit)
        #expect(outcome.commit.value == newest && outcome.mutatedIDs.isEmpty)
        return try outcome.items.map { .object(try $0.object(outcome.names)) }
    }

    @Test func `rows are found with and without an index`() throws {
        try fill()
        let reader = try LogReader(ReadOnlyVolume(volume))
        let queries = try QueryEngine(reading: reader)
        #expect(
            try rows("SELECT _id FROM cars USE INDEX 'by_color' WHERE color = 'red'", queries)
                == [["_id": "c"]])
        #expect(
            try rows("SELECT color FROM cars ORDER BY _id", queries)
                == [["color": "blue"], [:], ["color": "red"]])
        #expect(
            try rows("SELECT name, documents FROM system:collections", queries)
                == [["name": "cars", "documents": 3]])
    }

    @Test func `only system parameters can be changed`() throws {
        try fill()
        let before = volume.snapshotFiles()
        let reader = try LogReader(ReadOnlyVolume(volume))
        let queries = try QueryEngine(reading: reader)
        #expect(
            try rows("ALTER SYSTEM SET DQL_STRICT_MODE = true", queries)
                == [["dql_strict_mode": true]])
        #expect(try rows("SHOW dql_strict_mode", queries) == [["dql_strict_mode": true]])
        for text in [
            "DELETE FROM cars", "CREATE INDEX x ON cars (x)", "DROP INDEX by_color ON cars",
            "ADVISE AND PROVISION SELECT * FROM cars WHERE x = 1",
            "INSERT INTO cars DOCUMENTS ({})", "UPDATE cars SET x = 1",
        ] {
            let statement = try Parser.parse(text)
            do throws(StoreError) {
                _ = try queries.execute(statement)
                Issue.record("\(text) was run")
            } catch {
                #expect(error.reason == .readOnly && error.message.contains("for reading only"))
            }
        }
        #expect(volume.snapshotFiles() == before)
    }

    @Test func `a statement that needs a damaged index fails with the reason`() throws {
        try fill()
        let store = try StoreEngine(opening: volume)
        var batch = WriteBatch()
        let key = StoreKey.document(collection: 0, id: try DocumentID.key(of: "d"))
        try batch.put(key.bytes, [1, 2, 3, 4, 5, 6])
        _ = try store.append(batch)
        while try store.flush() {}
        try store.close()
        let reader = try LogReader(ReadOnlyVolume(volume))
        let queries = try QueryEngine(reading: reader)
        for text in [
            "SELECT a._id FROM cars AS a JOIN cars AS b ON b.color = a._id",
            "SELECT _id FROM cars USE INDEX 'by_color' WHERE color = 'red'",
            "ADVISE SELECT _id FROM cars WHERE color = 'red'",
        ] {
            let statement = try Parser.parse(text)
            do throws(StoreError) {
                _ = try queries.execute(statement)
                Issue.record("\(text) was run")
            } catch {
                #expect(error.reason == .damaged && error.message.contains("is damaged"))
            }
        }
        #expect(try rows("SELECT color FROM cars WHERE _id = 'c'", queries) == [["color": "red"]])
        #expect(
            try rows("SELECT _id FROM system:indexes", queries) == [["_id": "cars.by_color"]])
    }

    @Test func `an empty store has no rows`() throws {
        try StoreEngine(opening: volume).close()
        let reader = try LogReader(ReadOnlyVolume(volume))
        #expect(try rows("SELECT * FROM cars", try QueryEngine(reading: reader)).isEmpty)
    }
}
