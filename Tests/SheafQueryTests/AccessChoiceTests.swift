import SheafDocument
import SheafQuery
import Testing

/// The access paths that the planner chooses by the numbers of documents and index entries.
@Suite struct AccessChoiceTests {
    private typealias Index = CountedStore.Index

    private func plan(_ text: String, _ store: CountedStore) throws -> String {
        let options = QueryOptions(now: 0, clock: { 0 }, newID: { 0 })
        return try QueryRun(try Parser.parse(text), on: store, options).planText()
    }

    /// Returns the operator of a plan that reads the documents.
    private func access(_ text: String, _ store: CountedStore) throws -> String {
        let plan = try plan(text, store)
        let scans = ["intersectScan", "unionScan", "indexScan", "idScan", "countScan"]
        return scans.first { plan.contains($0) } ?? "scan"
    }

    @Test(arguments: [(333, "indexScan"), (334, "scan")])
    func `a document found by an index costs three documents of a scan`(
        entries: Int, access: String
    ) throws {
        let store = CountedStore(1_000, Index("a", part: entries))
        #expect(try self.access("SELECT * FROM c WHERE a = 1", store) == access)
        #expect(try self.access("SELECT a, b FROM c WHERE a > 1", store) == access)
        #expect(try self.access("SELECT * FROM c WHERE a = 1 AND b = 2 LIMIT 9", store) == access)
        let limited = "SELECT DISTINCT b FROM c WHERE a = 1 LIMIT 9"
        #expect(try self.access(limited, store) == access)
        let disabled = "SELECT /*+ {\"#disable_index_scan\": true} */ * FROM c WHERE a = 1"
        #expect(try self.access(disabled, store) == "scan")
    }

    @Test(arguments: [(1_428, "indexScan"), (1_429, "scan")])
    func `an entry of a covering index costs 0.7 documents of a scan`(
        entries: Int, access: String
    ) throws {
        let store = CountedStore(1_000, Index("a", "b", count: 9_000, part: entries))
        #expect(try self.access("SELECT a FROM c WHERE a > 1", store) == access)
        #expect(try self.access("SELECT a, b FROM c WHERE a > 1", store) == access)
        #expect(try self.access("SELECT a, d FROM c WHERE a > 1", store) == "scan")
        #expect(try self.access("SELECT a FROM c WHERE a > 1 AND d = 1", store) == "scan")
    }

    @Test(arguments: [(466, "indexScan"), (467, "scan")])
    func `a document that is sorted costs 0.4 documents of a scan more`(
        count: Int, access: String
    ) throws {
        let store = CountedStore(1_000, Index("a", count: count))
        #expect(try self.access("SELECT * FROM c ORDER BY a", store) == access)
        #expect(try self.access("SELECT * FROM c ORDER BY a DESC", store) == access)
        // No more entries than the index has are visited.
        #expect(try self.access("SELECT * FROM c ORDER BY a LIMIT 5000", store) == access)
        let all = CountedStore(1_000, Index("a"))
        #expect(try self.access("SELECT * FROM c ORDER BY a LIMIT \(count)", all) == access)
        let later = "SELECT * FROM c ORDER BY a LIMIT 400 OFFSET \(count - 400)"
        #expect(try self.access(later, all) == access)
        let preferred = "SELECT /*+ {\"#prefer_order\": true} */ * FROM c ORDER BY a"
        #expect(try self.access(preferred, all) == "indexScan")
    }

    @Test(arguments: [(933, "indexScan"), (934, "scan")])
    func `half of the entries are visited until a filter has passed a limit`(
        count: Int, access: String
    ) throws {
        let store = CountedStore(1_000, Index("a", count: count))
        let text = "SELECT * FROM c WHERE b = 1 ORDER BY a LIMIT 9"
        #expect(try self.access(text, store) == access)
        #expect(try self.access("SELECT * FROM c WHERE b = 1 ORDER BY a", store) == "scan")
    }

    @Test(arguments: [(333, "indexScan"), (334, "scan")])
    func `only the documents of a limit are read if each of them matches`(
        limit: Int, access: String
    ) throws {
        let store = CountedStore(1_000, Index("a", part: 500))
        #expect(try self.access("SELECT * FROM c WHERE a = 1 LIMIT \(limit)", store) == access)
    }

    @Test func `eight times the documents of a limit are read to sort equal first terms`() throws {
        let all = CountedStore(1_000, Index("a"))
        for (limit, access) in [(51, "indexScan"), (52, "scan")] {
            let text = "SELECT * FROM c ORDER BY a, b LIMIT \(limit)"
            #expect(try self.access(text, all) == access, "\(limit)")
        }
        for (count, access) in [(823, "indexScan"), (824, "scan")] {
            let store = CountedStore(1_000, Index("a", count: count))
            let text = "SELECT * FROM c WHERE d = 1 ORDER BY a, b LIMIT 9"
            #expect(try self.access(text, store) == access, "\(count)")
        }
        #expect(try access("SELECT * FROM c ORDER BY b, a LIMIT 9", all) == "scan")
        #expect(try access("SELECT * FROM c ORDER BY a, b", all) == "scan")
    }

    @Test(arguments: [(3, "scan"), (4, "idScan")])
    func `a lookup by id costs three documents of a scan`(count: Int, access: String) throws {
        #expect(try self.access("SELECT * FROM c WHERE _id = 1", CountedStore(count)) == access)
        let pairs = CountedStore(2 * count - 1)
        let found = try self.access("SELECT * FROM c WHERE _id IN (1, 2)", pairs)
        #expect(found == (count == 3 ? "scan" : "idScan"))
    }

    @Test(arguments: [(999, true), (1_000, false)])
    func `a range of ids is scanned if it has fewer documents than the collection`(
        part: Int, isRange: Bool
    ) throws {
        let plan = try plan("SELECT * FROM c WHERE _id > 5", CountedStore(1_000, part: part))
        #expect(plan.contains("scan c: _id > 5 (rows 999)") == isRange, "\(plan)")
        #expect(plan.contains("scan c (rows 1000)") == !isRange, "\(plan)")
    }

    @Test func `USE INDEX chooses an index whatever it costs`() throws {
        let store = CountedStore(10, Index("a", part: 1), Index("b", part: 900))
        let condition = "WHERE a = 1 AND b = 2"
        let free = try plan("SELECT * FROM c \(condition)", store)
        #expect(free.contains("indexScan a on c"), "\(free)")
        let forced = try plan("SELECT * FROM c USE INDEX 'b' \(condition)", store)
        #expect(forced.contains("indexScan b on c"), "\(forced)")
        let either = try plan("SELECT * FROM c USE INDEX ('b', 'a') \(condition)", store)
        #expect(either.contains("indexScan a on c"), "\(either)")
    }

    @Test(arguments: [
        (1_001, 1_001, "intersectScan"), (1_000, 1_000, "indexScan"), (1_000, 5_000, "indexScan"),
        (1_200, 2_228, "intersectScan"), (1_200, 2_229, "indexScan"),
        (2_228, 1_200, "intersectScan"), (2_229, 1_200, "indexScan"),
    ])
    func `two indexes with more than 1,000 entries each are intersected if that is cheaper`(
        first: Int, second: Int, access: String
    ) throws {
        let store = CountedStore(
            10_000, Index("a", part: first), Index("b", part: second), Index("d", part: 9_000))
        let text = "* FROM c WHERE a = 1 AND b = 2"
        #expect(try self.access("SELECT " + text, store) == access)
        let never = "SELECT /*+ {\"#intersects\": false} */ " + text
        #expect(try self.access(never, store) == "indexScan")
        let always = "SELECT /*+ {\"#intersects\": true} */ " + text
        #expect(try self.access(always, store) == "intersectScan")
    }

    @Test(arguments: [(33, "unionScan"), (34, "scan")])
    func `a union costs as much as the lookups of its parts`(part: Int, access: String) throws {
        let store = CountedStore(1_000, Index("a", part: 300), Index("b", part: part))
        #expect(try self.access("SELECT * FROM c WHERE a = 1 OR b = 2", store) == access)
        let filtered = "SELECT * FROM c WHERE (a = 1 OR b = 2) AND d = 3"
        #expect(try self.access(filtered, store) == access)
        for (count, allowed) in [(1, "scan"), (2, access)] {
            let text = "SELECT /*+ {\"#max_scans\": \(count)} */ * FROM c WHERE a = 1 OR b = 2"
            #expect(try self.access(text, store) == allowed, "\(count)")
        }
    }

    @Test(arguments: [
        (2_001, 3, 221, "indexScan"), (2_001, 3, 222, "scan"), (2_000, 3, 1, "scan"),
        (2_001, 32, 1, "indexScan"), (2_001, 33, 1, "scan"),
    ])
    func `a skip scan reads up to 32 first values if another path costs more than 2,000`(
        count: Int, values: Int, part: Int, access: String
    ) throws {
        let index = Index("a", "b", count: count, part: part, values: Array(0..<values))
        let store = CountedStore(count, index)
        #expect(try self.access("SELECT * FROM c WHERE b = 1", store) == access)
        #expect(try self.access("SELECT * FROM c WHERE d = 1", store) == "scan")
    }

    @Test func `a scan has at most 256 ranges`() throws {
        let store = CountedStore(1_000_000, Index("a", "b", part: 1))
        func list(_ count: Int) -> String {
            (0..<count).map { "'v\(1_000 + $0)'" }.joined(separator: ", ")
        }
        let most = try plan("SELECT * FROM c WHERE a IN (\(list(256)))", store)
        #expect(most.contains("or 248 more (rows 256)"), "\(most)")
        #expect(try access("SELECT * FROM c WHERE a IN (\(list(257)))", store) == "scan")
        let text = "SELECT * FROM c WHERE a IN (\(list(16))) AND b IN "
        let both = try plan(text + "(\(list(16)))", store)
        #expect(both.contains("or 248 more (rows 256)"), "\(both)")
        let first = try plan(text + "(\(list(17)))", store)
        #expect(first.contains("or 8 more (rows 16)"), "\(first)")
    }

    @Test func `entries with truncated values are read as well, and have no order`() throws {
        for (irregular, access) in [(33, "indexScan"), (34, "scan")] {
            let store = CountedStore(1_000, Index("a", part: 300, irregular: irregular))
            #expect(try self.access("SELECT * FROM c WHERE a = 1", store) == access)
        }
        let store = CountedStore(1_000, Index("a", count: 9, part: 9, irregular: 1))
        #expect(try access("SELECT * FROM c ORDER BY a", store) == "scan")
        #expect(try access("SELECT a FROM c", store) == "scan")
        let plan = try plan("SELECT a FROM c WHERE a = 1", store)
        #expect(plan.contains("filter on bytes: a = 1"), "\(plan)")
        let regular = CountedStore(1_000, Index("a", count: 9, part: 9))
        #expect(try access("SELECT * FROM c ORDER BY a", regular) == "indexScan")
        #expect(try access("SELECT a FROM c", regular) == "indexScan")
    }
}
