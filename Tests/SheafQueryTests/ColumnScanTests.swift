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

    @Test(arguments: [
        ("SELECT n, SUM(a) AS k FROM c GROUP BY n", 2),
        ("SELECT n, COUNT(*) AS k FROM c GROUP BY n", 1),
        ("SELECT n, COUNT(*) AS k FROM c WHERE a > 1 GROUP BY n", 2),
        ("SELECT SUM(a) AS k, MAX(a) AS m FROM c", 1),
    ])
    func `groups of one source are made from columns alone`(text: String, columns: Int) throws {
        let scans = try scans(text)
        let counts = scans.map { $0.paths.count }
        #expect(counts == [columns], "\(text)")
        let readsColumnsAlone = scans.allSatisfy { $0.consumeColumns != nil }
        #expect(readsColumnsAlone, "\(text)")
    }

    @Test(arguments: [
        "SELECT c.n, SUM(c.a) AS k FROM c LEFT JOIN d ON d._id = c.r GROUP BY c.n",
        "SELECT c.n, COUNT(*) AS k FROM c JOIN d ON d._id = c.r GROUP BY c.n",
        "SELECT n, COUNT(DISTINCT a) AS k FROM c GROUP BY n",
        "SELECT n, SUM(a + 1) AS k FROM c GROUP BY n",
        "SELECT a + n AS b, COUNT(*) AS k FROM c GROUP BY a + n",
    ])
    func `groups that need rows of joins, sets or computed values read documents`(text: String)
        throws
    {
        #expect(try scans(text).isEmpty, "\(text)")
    }
}
