import Sheaf
import SheafBytes
import SheafDocument
import SheafMesh
import SheafQuery
import SheafReplication
import SheafStatements
import SheafStorage
import SheafSync
import SheafTestSupport
import Testing

/// Tests of the queries of subscriptions: which are refused, and what is sent of them.
struct SubscriptionQueryTests {
    private static let wall: UInt64 = 1_780_000_000_000

    private func store() throws -> SceneStore {
        try SceneStore(SimulatedVolume(seed: 1), LogStoreOptions())
    }

    /// Returns the error of a query, or "accepted".
    private func outcome(_ body: () throws -> SubscriptionQuery) -> String {
        do {
            _ = try body()
            return "accepted"
        } catch {
            return "\(error)"
        }
    }

    @Test(arguments: [
        ("SELECT DISTINCT * FROM cars", "DISTINCT is not allowed"),
        ("SELECT n FROM cars", "the select list must be *"),
        ("SELECT *, n FROM cars", "the select list must be *"),
        ("SELECT * FROM cars JOIN boats ON cars.n = boats.n", "JOIN is not allowed"),
        ("SELECT * FROM cars GROUP BY n", "GROUP BY is not allowed"),
        ("SELECT * FROM cars HAVING n > 1", "HAVING is not allowed"),
        ("SELECT * FROM cars LIMIT 1 OFFSET 2", "OFFSET is not allowed"),
        ("DELETE FROM cars", "a subscription must be a SELECT statement"),
        ("SELECT * FROM system:collections", "is a system collection, which is not replicated"),
        ("SELECT * FROM cars WHERE at > clock()", "cannot depend on the current time"),
        ("SELECT * FROM cars WHERE n > 1", "accepted"), ("SELECT * FROM cars", "accepted"),
        ("SELECT * FROM cars ORDER BY n DESC LIMIT 3", "accepted"),
    ])
    func `a subscription selects complete documents of one collection`(
        _ text: String, _ error: String
    ) throws {
        let queries = try store().queries
        let outcome = outcome { try SubscriptionQuery(text, queries) }
        #expect(outcome.contains(error), "\(outcome)")
    }

    @Test func `a peer that restricts subscriptions accepts neither ORDER BY nor LIMIT`() throws {
        let queries = try store().queries
        let arguments = try Insertion.initial(Object(), NameTable())
        for (text, clause) in [
            ("SELECT * FROM cars ORDER BY n", "ORDER BY"), ("SELECT * FROM cars LIMIT 1", "LIMIT"),
            ("SELECT * FROM cars", nil),
        ] as [(String, String?)] {
            for isRestricted in [true, false] {
                let outcome = outcome {
                    try SubscriptionQuery(
                        SubscribedQuery(text: text, arguments: arguments), queries,
                        isRestricted: isRestricted)
                }
                let error = clause.map { "\($0) is not allowed unless" } ?? "accepted"
                #expect(outcome.contains(isRestricted ? error : "accepted"), "\(outcome)")
            }
        }
    }

    @Test func `the arguments of another peer must be an encoded object`() throws {
        let queries = try store().queries
        let text = "SELECT * FROM cars WHERE n = :n"
        let arguments = try Insertion.initial(["n": 1], NameTable())
        let query = try SubscriptionQuery(
            SubscribedQuery(text: text, arguments: arguments), queries, isRestricted: true)
        #expect(query.collection == "cars" && query.text == text)
        #expect(query.wire == SubscribedQuery(text: text, arguments: arguments))
        let broken = outcome {
            try SubscriptionQuery(
                SubscribedQuery(text: text, arguments: [0xFF]), queries, isRestricted: true)
        }
        #expect(broken.contains("the arguments of a subscription cannot be read"), "\(broken)")
        let all = SubscribedQuery.allCollections
        let everything = outcome {
            try SubscriptionQuery(
                SubscribedQuery(text: all, arguments: arguments), queries, isRestricted: true)
        }
        #expect(everything.contains("a subscription to all collections has no arguments"))
        let accepted = try SubscriptionQuery(
            SubscribedQuery(text: all, arguments: []), queries, isRestricted: true)
        #expect(accepted.selectsAllCollections && accepted.collection == nil)
    }

    @Test func `a query selects from its collection, and that of all from those of users`() throws {
        let queries = try store().queries
        let cars = try SubscriptionQuery("SELECT * FROM cars WHERE n = 1", queries)
        #expect(cars.selects(for: "cars") && !cars.selects(for: "Cars"))
        #expect(!cars.selectsAllCollections && !cars.isWindow)
        let all = SubscriptionQuery.allCollections
        #expect(all.selects(for: "cars") && all.selectsAllCollections && !all.isWindow)
        #expect(!all.selects(for: "__presets"))
    }

    @Test func `a query that reads the clock is sent with a fixed time, and renewed`() throws {
        let queries = try store().queries
        let text = "SELECT * FROM cars WHERE at > clock()"
        let query = try SubscriptionQuery(text, queries, at: Self.wall)
        #expect(query.isWindow && query.text == text && query.collection == "cars")
        #expect(!query.wire.text.contains("clock"))
        let same = try query.renewed(at: Self.wall, queries)
        #expect(same.wire == query.wire)
        let later = try query.renewed(at: Self.wall + 1_000, queries)
        #expect(later.wire != query.wire && later.isWindow && later.text == text)
        let back = try later.renewed(at: Self.wall, queries)
        #expect(back.wire == query.wire)
        // Other queries stay as they are.
        let plain = try SubscriptionQuery("SELECT * FROM cars", queries, at: Self.wall)
        let renewed = try plain.renewed(at: Self.wall + 1_000, queries)
        #expect(!plain.isWindow && renewed.wire == plain.wire)
    }

    // MARK: Limits

    @Test func `the LIMITs of all queries count together, up to 65,536 documents`() throws {
        let queries = try store().queries
        func ranked(_ collection: String, _ limit: Int) throws -> SubscriptionQuery {
            try SubscriptionQuery("SELECT * FROM \(collection) ORDER BY n LIMIT \(limit)", queries)
        }
        var tally = SubscriptionTally()
        try tally.add(try ranked("a", 65_000))
        try tally.add(try ranked("b", 536))
        let error = #expect(throws: StoreError.self) { try tally.add(try ranked("c", 1)) }
        #expect(error?.reason == .limit)
        #expect(
            error?.message == "the LIMITs of all subscriptions exceed 65536 documents in total")
        try tally.add(try SubscriptionQuery("SELECT * FROM c", queries))
        tally.remove(try ranked("b", 536))
        try tally.add(try ranked("c", 536))
        // A single query may not exceed the limit, either.
        let most = outcome { try ranked("d", 65_536) }
        let more = outcome { try ranked("d", 65_537) }
        #expect(most == "accepted" && more.contains("exceed 65536 documents"))
    }

    // MARK: Checksums

    @Test func `a sum of checksums has 32 digits, and carries`() throws {
        let zero = String(repeating: "0", count: 32)
        #expect(ChecksumSum().description == zero && ChecksumSum(zero) == ChecksumSum())
        let one = try #require(ChecksumSum(String(repeating: "0", count: 31) + "1"))
        for (text, sum) in [
            (zero, "00000000000000000000000000000001"),
            ("0000000000000000ffffffffffffffff", "00000000000000010000000000000000"),
            ("0123456789abcdeffedcba9876543210", "0123456789abcdeffedcba9876543211"),
            ("ffffffffffffffffffffffffffffffff", zero),
        ] {
            var total = try #require(ChecksumSum(text))
            #expect(total.description == text)
            total.add(one)
            #expect(total.description == sum)
        }
        var high = try #require(ChecksumSum("00000000000000020000000000000003"))
        high.add(try #require(ChecksumSum("00000000000000050000000000000004")))
        #expect(high.description == "00000000000000070000000000000007")
        #expect(high.hash == XXH3.Hash128(low: 7, high: 7))
    }

    @Test(arguments: [
        "", "0", "0000000000000000000000000000000", "000000000000000000000000000000000",
        "0000000000000000000000000000000G", "0000000000000000000000000000000g",
        "0000000000000000000000000000000A", "+000000000000000000000000000000a",
        "0000000000000000-000000000000000", "000000000000000/000000000000000:",
        "000000000000000`000000000000000a",
    ])
    func `other texts are no sums`(_ text: String) {
        #expect(ChecksumSum(text) == nil)
    }

    @Test func `the hash of a document depends on its collection, its id and its content`() {
        func sum(_ collection: String, _ id: [UInt8], _ content: [UInt8]) -> ChecksumSum {
            ChecksumSum(collection, id[...], content)
        }
        let sums = [
            sum("cars", [1, 2], [3]), sum("cars", [1], [2, 3]), sum("cars", [1, 2, 3], []),
            sum("car", [1, 2], [3]), sum("cars", [1, 2], [4]),
        ]
        #expect(Set(sums.map(\.description)).count == 5)
        let long: [UInt8] = [9, 1, 2]
        #expect(ChecksumSum("cars", long[1...], [3]) == sums[0])
        var (forward, backward) = (ChecksumSum(), ChecksumSum())
        for sum in sums { forward.add(sum) }
        for sum in sums.reversed() { backward.add(sum) }
        #expect(forward == backward && forward != ChecksumSum())
    }
}
