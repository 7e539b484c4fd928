import Sheaf
import SheafDocument
import SheafEngine
import SheafStatements
import SheafStorage
import SheafTestSupport
import Testing

/// Comparisons of stores, against a naive comparison of all documents.
struct StoreComparisonTests {
    private func differences(
        _ left: Store, _ right: Store
    ) throws -> (found: [String], counts: [StoreComparison.Counts]) {
        let comparison = try StoreComparison(
            left.queries.snapshot().log, right.queries.snapshot().log)
        var found: [String] = []
        var counts: [StoreComparison.Counts] = []
        for collection in comparison.collections {
            counts.append(
                try comparison.compare(collection) { difference in
                    let title = "\(difference.collection) \(difference.id.json)"
                    switch difference.kind {
                    case .onlyLeft: found.append("- \(title)")
                    case .onlyRight: found.append("+ \(title)")
                    case .fields(let fields):
                        found.append(
                            "~ \(title) "
                                + fields.map { field in
                                    "\(field.path.joined(separator: "/")) \(text(field.left)) "
                                        + text(field.right)
                                }.joined(separator: ", "))
                    }
                })
        }
        return (found, counts)
    }

    private func text(_ side: FieldDifference.Side?) -> String {
        side.map { "\($0.value.json):\($0.part)" } ?? "none"
    }

    private func documents(_ store: Store, _ collection: String) async throws -> [String: String] {
        var found: [String: String] = [:]
        for item in try await store.execute(DQL(verbatim: "SELECT * FROM \(collection)")).items {
            found[try item["_id"]?.json ?? ""] = try item.jsonString
        }
        return found
    }

    /// Changes a random document.
    private func change(_ store: Store, _ random: inout SeededRandom) async throws {
        let collection = ["a", "b", "c"][random.below(3)]
        let id = random.below(30)
        switch random.below(5) {
        case 0:
            try await store.execute(
                DQL(verbatim: "DELETE FROM \(collection) WHERE _id = \(id)"))
        case 1:
            try await store.execute(
                DQL(verbatim: "EVICT FROM \(collection) WHERE _id = \(id)"))
        default:
            let value = random.below(4)
            try await store.execute(
                DQL(
                    verbatim:
                        "INSERT INTO \(collection) DOCUMENTS ({'_id': \(id), 'x': \(value), "
                        + "'y': {'z': \(random.below(3))}}) ON ID CONFLICT DO UPDATE"))
        }
    }

    @Test func `random stores differ as a naive comparison finds`() async throws {
        let seed = UInt64.random(in: 0..<1_000_000_000)
        print("comparison, seed \(seed)")
        for round in 0..<12 {
            var random = SeededRandom(seed: seed &+ UInt64(round), "comparison")
            let directory = TemporaryDirectory()
            var options = StoreOptions()
            options.storage.segmentLength = 2_000
            let left = try await Store.open(at: directory.path("left"), options: options)
            for _ in 0..<random.below(80) { try await change(left, &random) }
            var right: Store
            if round.isMultiple(of: 2) {
                // The stores have a common history, which is not read.
                try await left.backup(to: directory.path("right"))
                right = try await Store.open(at: directory.path("right"), options: options)
            } else {
                right = try await Store.open(at: directory.path("right"), options: options)
                for _ in 0..<random.below(80) { try await change(right, &random) }
            }
            for _ in 0..<random.below(12) { try await change(left, &random) }
            for _ in 0..<random.below(12) { try await change(right, &random) }
            let (found, counts) = try differences(left, right)
            var signs: [String] = []
            for count in counts {
                let ones = try await documents(left, count.collection)
                let others = try await documents(right, count.collection)
                var naive = (equal: 0, onlyLeft: 0, onlyRight: 0, different: 0)
                for id in Set(ones.keys).union(others.keys).sorted(by: { Int($0)! < Int($1)! }) {
                    switch (ones[id], others[id]) {
                    case (_?, nil):
                        naive.onlyLeft += 1
                        signs.append("- \(count.collection) \(id)")
                    case (nil, _):
                        naive.onlyRight += 1
                        signs.append("+ \(count.collection) \(id)")
                    case (let one, let other) where one == other: naive.equal += 1
                    default:
                        naive.different += 1
                        signs.append("~ \(count.collection) \(id)")
                    }
                }
                #expect(
                    (count.equal, count.onlyLeft, count.onlyRight, count.different) == naive,
                    "round \(round), \(count.collection)")
            }
            let titles = found.map { $0.split(separator: " ").prefix(3).joined(separator: " ") }
            #expect(titles == signs, "round \(round)")
            try await left.close()
            try await right.close()
        }
    }

    @Test func `fields differ by value and by type`() async throws {
        let left = try await Store.inMemory()
        let right = try await Store.inMemory()
        for (store, texts) in [
            (left, ["1", "1.0", "{'a': 1, 'b': [1, 2]}", "null", "true"]),
            (right, ["1.0", "1.0", "{'a': 1, 'b': [2, 1]}", "'x'", "true"]),
        ] {
            for (number, text) in texts.enumerated() {
                try await store.execute(
                    DQL(verbatim: "INSERT INTO t DOCUMENTS ({'_id': \(number), 'f': \(text)})"))
            }
            try await store.execute("INSERT INTO t DOCUMENTS ({'_id': 9})")
        }
        try await left.execute("UPDATE t APPLY n INCREMENT BY 3 WHERE _id = 9")
        try await right.execute("UPDATE t SET n = 3 WHERE _id = 9")
        try await left.execute("UPDATE t SET only = 'left' WHERE _id = 4")
        let (found, counts) = try differences(left, right)
        #expect(
            found == [
                "~ t 0 f 1:register 1.0:register",
                "~ t 2 f/b [1,2]:register [2,1]:register",
                "~ t 3 f null:register \"x\":register",
                "~ t 4 only \"left\":register none",
                "~ t 9 n 3:counter 3:register",
            ])
        #expect(counts.map(\.equal) == [1])
        #expect(try differences(left, left).found.isEmpty)
    }

    @Test func `fields within objects differ by their paths, in the order of their names`()
        async throws
    {
        let left = try await Store.inMemory()
        let right = try await Store.inMemory()
        let parts = "{'_id': 1, 'f': {'a': 1, 'b': {'c': 1, 'd': 2}}}"
        try await left.execute(DQL(verbatim: "INSERT INTO t DOCUMENTS (\(parts))"))
        let others =
            "{'_id': 1, 'f': {'b': {'c': 1, 'd': 3, 'e': 4}, 'z': 5}, 'e': null}"
        try await right.execute(DQL(verbatim: "INSERT INTO t DOCUMENTS (\(others))"))
        try await left.execute("INSERT INTO l DOCUMENTS ({'_id': 2}), ({'_id': 3})")
        try await right.execute("INSERT INTO r DOCUMENTS ({'_id': 4})")
        let (found, counts) = try differences(left, right)
        let fields = [
            "e none null:register", "f/a 1:register none", "f/b/d 2:register 3:register",
            "f/b/e none 4:register", "f/z none 5:register",
        ]
        #expect(
            found == ["- l 2", "- l 3", "+ r 4", "~ t 1 " + fields.joined(separator: ", ")])
        #expect(counts.map(\.collection) == ["l", "r", "t"])
        #expect(counts.map(\.onlyLeft) == [2, 0, 0])
        #expect(counts.map(\.onlyRight) == [0, 1, 0])
        #expect(counts.map(\.different) == [0, 0, 1])
        #expect(counts.allSatisfy { !$0.isEqual && $0.equal == 0 })
    }

    @Test func `stores with the same commits have equal documents, and tombstones are none`()
        async throws
    {
        let store = try await Store.inMemory()
        try await store.execute("INSERT INTO t DOCUMENTS ({'_id': 1}), ({'_id': 2}), ({'_id': 3})")
        try await store.execute("DELETE FROM t WHERE _id = 2")
        let log = store.queries.snapshot().log
        #expect(try StoreComparison(log, log).isSameLog)
        let (found, counts) = try differences(store, store)
        #expect(found == [])
        #expect(counts.map(\.equal) == [2])
        #expect(counts.allSatisfy { $0.isEqual })
        let other = try await Store.inMemory()
        try await other.execute("INSERT INTO t DOCUMENTS ({'_id': 1})")
        let others = other.queries.snapshot().log
        #expect(try !StoreComparison(log, others).isSameLog)
    }

    @Test func `a tombstone on one side is a document that only the other store has`() async throws
    {
        let directory = TemporaryDirectory()
        let left = try await Store.open(at: directory.path("left"))
        try await left.execute("INSERT INTO t DOCUMENTS ({'_id': 1}), ({'_id': 2})")
        try await left.backup(to: directory.path("right"))
        let right = try await Store.open(at: directory.path("right"))
        #expect(try differences(left, right).found.isEmpty)
        try await left.execute("DELETE FROM t WHERE _id = 1")
        try await right.execute("DELETE FROM t WHERE _id = 2")
        #expect(try differences(left, right).found == ["+ t 1", "- t 2"])
        try await left.close()
        try await right.close()
    }
}
