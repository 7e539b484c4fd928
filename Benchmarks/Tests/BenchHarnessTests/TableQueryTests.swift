import BenchWorkloads
import SheafDocument
import SheafQuery
import Testing

@Suite struct TableQueryTests {
    @Test func `missing fields are null columns, and parts of an id are columns`() {
        let texts = [
            "SELECT p._id.location FROM prices p WHERE p._id.product = :id AND p.amount IS MISSING":
                "SELECT p.location FROM prices p WHERE p.product = :id AND p.amount IS NULL",
            "SELECT _id FROM films WHERE minutes IS NOT MISSING":
                "SELECT _id FROM films WHERE minutes IS NOT NULL",
            "SELECT a FROM b JOIN c ON c._id = {'x': b._id, 'y': :y} WHERE b.n = 1":
                "SELECT a FROM b JOIN c ON c.x = b._id AND c.y = :y WHERE b.n = 1",
        ]
        for (dql, sql) in texts { #expect(TableQuery.sql(of: dql) == sql) }
    }

    @Test func `parameters of DuckDB begin with a dollar sign`() {
        let query = TableQuery("q", "SELECT a FROM b WHERE c = :first AND d < :second")
        #expect(query.duckDB == "SELECT a FROM b WHERE c = $first AND d < $second")
    }

    @Test func `arguments of one table belong to one row, and the seed determines them`() throws {
        var table = FlatTable(
            "prices", key: ["product", "location"], integers: ["product", "location", "amount"])
        for number in 0..<100 {
            table.append(.integer(Int64(number)), .integer(Int64(-number)), .null)
        }
        let query = TableQuery(
            "price", "SELECT amount FROM prices",
            [
                "product": .column("product", of: "prices"),
                "location": .column("location", of: "prices"), "limit": .integer(3...5),
            ])
        let sets = query.sets([table], seed: 7)
        #expect(sets.count == 8)
        for set in sets {
            guard case .integer(let product)? = set["product"],
                case .integer(let location)? = set["location"],
                case .integer(let limit)? = set["limit"]
            else {
                Issue.record("a set lacks an argument")
                return
            }
            #expect(location == -product && (3...5).contains(limit))
        }
        let other = query.sets([table], seed: 7)
        #expect(
            sets.map { Value.object(Object($0.sorted { $0.key < $1.key }.map { ($0, $1) })).json }
                == other.map {
                    Value.object(Object($0.sorted { $0.key < $1.key }.map { ($0, $1) })).json
                })
    }

    @Test func `a document has its key in the id, and no field that is null`() {
        var table = FlatTable(
            "prices", key: ["product", "location"],
            integers: ["product", "location", "amount"], texts: ["currency"],
            indexes: [["location", "amount"]])
        table.append(1, 2, .null, "EUR")
        let document = table.document(table.rows[0])
        #expect(document["currency"]?.json == #""EUR""#)
        #expect(document["amount"] == nil && document["product"] == nil)
        #expect(
            document["_id"]?["product"]?.json == "1" && document["_id"]?["location"]?.json == "2")
        #expect(
            table.dqlIndexes == [
                "CREATE INDEX prices_0 ON prices (_id.product)",
                "CREATE INDEX prices_1 ON prices (_id.location, amount)",
            ])
        #expect(table.sqliteIndexes == ["CREATE INDEX prices_0 ON prices(location, amount)"])
        #expect(
            table.sqliteTable == "CREATE TABLE prices(product INTEGER, location INTEGER, "
                + "amount INTEGER, currency TEXT, PRIMARY KEY(product, location)) WITHOUT ROWID")
    }

    @Test func `rows are equal in any order, and a null column equals a missing one`() {
        let rows = TableRows(columns: ["b", "a"], rows: [["x", 1], [.null, 2.0]])
        let same = TableRows(columns: ["a", "b"], rows: [[2, .null], [1, "x"]])
        #expect(rows.difference(from: same) == nil)
        let other = TableRows(columns: ["a", "b"], rows: [[3, .null], [1, "x"]])
        #expect(rows.difference(from: other) == "a = 2 instead of a = 3")
        let fewer = TableRows(columns: ["a"], rows: [[1]])
        #expect(fewer.difference(from: rows) == "1 rows instead of 2")
        #expect(throws: (any Error).self) {
            let results = TableResults()
            try results.compare(rows, of: "q")
            try results.compare(same, of: "q")
            try results.compare(fewer, of: "q")
        }
    }

    @Test(arguments: TableWorkload.all.map(\.name))
    func `each query is a statement of its own name, over tables that exist`(name: String) throws {
        let workload = try #require(TableWorkload.all.first { $0.name == name })
        #expect(Set(workload.queries.map(\.name)).count == workload.queries.count)
        let tables = workload.tables(true)
        for query in workload.queries {
            _ = try Parser.parse(query.dql)
            #expect(query.dql.count > 0 && !query.sets(tables, seed: 1).isEmpty)
        }
        let again = workload.tables(true)
        for (table, other) in zip(tables, again) {
            #expect(
                table.rows.map { Value.array($0).json } == other.rows.map { Value.array($0).json })
        }
    }
}
