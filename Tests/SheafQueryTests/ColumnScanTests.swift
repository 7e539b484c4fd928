import SheafDocument
import SheafQuery
import Testing

/// The scans of columns that a statement requests of a store.
@Suite struct ColumnScanTests {
    private func scans(_ text: String) throws -> [ColumnScan] {
        let store = EmptyStore(hasCollections: true)
        store.names = try #require(NameTable(["a", "n", "r"]))
        store.usesColumns = true
        let options = QueryOptions(now: 0, clock: { 0 }, newID: { 0 })
        _ = try QueryRun(try Parser.parse(text), on: store, options).rows()
        return store.columnScans
    }

    @Test(arguments: [
        ("SELECT a FROM c ORDER BY n LIMIT 2", true),
        ("SELECT a FROM c WHERE a > 1 ORDER BY n LIMIT 2", true),
        ("SELECT a FROM c WHERE a > 1 ORDER BY n", false), ("SELECT a FROM c WHERE a > 1", false),
        ("SELECT n, COUNT(*) AS k FROM c WHERE a > 1 GROUP BY n", false),
        ("SELECT DISTINCT a FROM c WHERE a > 1 ORDER BY a LIMIT 2", false),
        (
            "SELECT c.a FROM c LEFT JOIN d ON d._id = c.r WHERE c.a > 1 ORDER BY c.n LIMIT 2",
            false
        ),
    ])
    func `only the condition of a sorted and limited scan of one source becomes stricter`(
        text: String, isBounded: Bool
    ) throws {
        let scans = try scans(text)
        #expect(scans.count == 1, "\(text)")
        #expect(scans.first?.isBounded == isBounded, "\(text)")
    }

    @Test(arguments: [
        "SELECT a FROM c", "SELECT a FROM c WHERE a > 1 LIMIT 2", "SELECT COUNT(*) AS k FROM c",
        "SELECT a FROM c WHERE _id > 1", "SELECT a FROM c WHERE unnumbered > 1",
    ])
    func `a scan that may end early, or needs no numbered field, reads documents`(text: String)
        throws
    {
        #expect(try scans(text).isEmpty)
    }
}
