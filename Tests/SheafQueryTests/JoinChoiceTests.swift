import SheafDocument
import SheafQuery
import Testing

/// The order of two joined collections that the planner chooses by their numbers of documents.
@Suite struct JoinChoiceTests {
    private typealias Index = CountedStore.Index

    /// Returns the name of the collection that a plan reads first.
    private func outer(
        _ text: String, t: Int, _ indexes: Index..., u: Int
    ) throws -> String? {
        let store = CountedStore()
        store.add("t", t, indexes)
        store.add("u", u, [])
        let options = QueryOptions(now: 0, clock: { 0 }, newID: { 0 })
        let plan = try QueryRun(try Parser.parse(text), on: store, options).planText()
        // The sources follow the join in their order.
        return plan.firstMatch(of: /(?:scan|Scan \w+ on) (t|u)\b/).map { String($0.1) }
    }

    private static let byID = "SELECT * FROM t JOIN u ON u._id = t.k"

    @Test(arguments: [
        // Four for each document of t, or five for each of u, by the index.
        (1_000, 533, "u"), (1_000, 534, "t"),
        // An order is not changed where that saves little.
        (250, 1, "u"), (249, 1, "t"),
    ])
    func `a join by an index begins with the other collection if that is 1.5 times cheaper`(
        t: Int, u: Int, first: String
    ) throws {
        #expect(try outer(Self.byID, t: t, Index("k"), u: u) == first)
        #expect(try outer(Self.byID + " LIMIT 9", t: t, Index("k"), u: u) == "t")
    }

    @Test(arguments: [
        // The filter may leave no document of t to join, so only its scan is counted.
        (1_000, 133, "u"), (1_000, 134, "t"), (999, 1, "t"),
    ])
    func `a filter on the first collection may save all of its lookups`(
        t: Int, u: Int, first: String
    ) throws {
        let text = Self.byID + " WHERE t.n = 2"
        #expect(try outer(text, t: t, Index("k"), u: u) == first)
    }

    @Test(arguments: [(777, "u"), (778, "t")])
    func `a hash table costs 1.5 documents for each of its rows, and half of one for a search`(
        u: Int, first: String
    ) throws {
        #expect(try outer(Self.byID, t: 1_000, u: u) == first)
    }

    @Test(arguments: [(399, "u"), (400, "t")])
    func `documents that an index finds cost three of a scan before they are joined`(
        u: Int, first: String
    ) throws {
        let text = Self.byID + " WHERE t.a = 1"
        let index = Index("a", count: 100_000, part: 1_000)
        #expect(try outer(text, t: 100_000, Index("k", count: 100_000), index, u: u) == first)
    }

    @Test func `a join by hash is not replaced by one by an index`() throws {
        let text = "SELECT * FROM t JOIN u ON u.b = t.k"
        #expect(try outer(text, t: 1_000, Index("k"), u: 1) == "t")
        // Neither order has an index.
        #expect(try outer(text, t: 1_000, u: 1) == "t")
    }
}
