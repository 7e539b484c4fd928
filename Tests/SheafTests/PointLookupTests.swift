import Sheaf
import SheafDocument
import SheafQuery
import SheafStatements
import SheafTestSupport
import Testing

/// Point lookups by `_id` through the public interface.
@Suite struct PointLookupTests {
    private static let ids: [Value] = [
        1, 2, -7, 1.0, true, false, .null, "", "a", "b", "a\0b", "\u{1}", "\u{E9}", "e\u{301}", [1],
        .string(String(repeating: "i", count: 256)), .string(String(repeating: "i", count: 257)),
        .string(String(repeating: "\0", count: 250)), "\(String(repeating: "long ", count: 9))",
    ]
    private static let lookup: DQL = "SELECT * FROM t WHERE _id = :id"

    /// Returns all properties of a result as lines of text.
    private static func answer(_ result: QueryResult) throws -> [String] {
        var answer = [
            "\(result.commitID ?? -1) \(result.mutatedDocumentIDs) \(result.columns ?? [])"
        ]
        for item in result.items {
            answer.append(try item.jsonString)
            for name in ["_id", "n", "o", "once", "e\u{301}", "nothing"] {
                let value = try item[name]
                answer.append("\(name): \(value?.json ?? "none")")
                let path = [name]
                #expect(try item.value[path[0]] == value)
            }
            answer.append("\(try item["o", "x"]?.json ?? "none")")
            answer.append("\(try item["_id", "x"]?.json ?? "none")")
        }
        return answer
    }

    private static func answer(_ body: () async throws -> QueryResult) async throws -> [String] {
        do {
            return try answer(try await body())
        } catch let error as StoreError {
            return ["\(error.reason)"]
        }
    }

    @Test(arguments: [1, 20, 300] as [UInt64])
    func `a point lookup returns the same result as a plan`(_ seed: UInt64) async throws {
        var random = SeededRandom(seed: seed, "lookups")
        let store = try await Store.inMemory()
        var (found, short) = (0, 0)
        for round in 0..<600 {
            let id = Self.ids[random.below(Self.ids.count)]
            let arguments = QueryArguments(["id": id])
            switch random.below(8) {
            case 0:
                var document: Object = [
                    "n": .integer(Int64(round)), "o": ["x": 1], "e\u{301}": 1, "\u{E9}": 2,
                ]
                document["_id"] = id
                if random.chance(1, in: 3) { document["once"] = "\(round)" }
                if random.chance(1, in: 9) { document["name\(round)"] = 1 }
                _ = try? await store.execute(
                    "INSERT INTO t DOCUMENTS (:d) ON ID CONFLICT DO UPDATE",
                    QueryArguments(["d": .object(document)]))
            case 1: try await store.execute("UPDATE t SET n = n + 1 WHERE _id = :id", arguments)
            case 2 where random.chance(1, in: 3):
                try await store.execute("DELETE FROM t WHERE _id = :id", arguments)
            case 3 where random.chance(1, in: 9):
                try await store.execute("EVICT FROM t WHERE _id = :id", arguments)
            case 4 where random.chance(1, in: 9):
                try await store.execute(
                    "ALTER SYSTEM SET dql_strict_mode = \(random.chance(1, in: 2))")
            case 5 where random.chance(1, in: 9):
                try await store.execute(
                    "INSERT INTO other\(part: DQL(verbatim: "\(round)")) DOCUMENTS ({'_id': 1})")
            default:
                let expected = try await Self.answer {
                    try await store.execute("SELECT * FROM t WHERE _id = :id AND TRUE", arguments)
                }
                let answer = try await Self.answer {
                    try await store.execute(Self.lookup, arguments)
                }
                #expect(answer == expected, "seed \(seed), round \(round)")
                let spliced = try await Self.answer {
                    try await store.execute("SELECT * FROM t WHERE \(id) = _id")
                }
                #expect(spliced == expected, "seed \(seed), round \(round)")
                if expected.count > 1 { found += 1 }
                let (statement, values) = try store.queries.prepare(Self.lookup, arguments)
                var snapshot = store.queries.snapshot()
                if store.queries.lookUp(statement, values, in: &snapshot, nil) != nil { short += 1 }
            }
        }
        print("seed \(seed): \(found) found, \(short) on the fast path")
        #expect(found > 60 && short > 50)
        try await store.close()
    }

    @Test func `a read-only transaction looks up in its snapshot`() async throws {
        let store = try await Store.inMemory()
        try await store.execute("INSERT INTO t DOCUMENTS ({'_id': 'a', 'n': 1})")
        var kept: QueryResult?
        try await store.transaction(isReadOnly: true) { transaction in
            await Task.detached {
                _ = try? await store.execute("INSERT INTO t DOCUMENTS ({'_id': 'b'})")
            }.value
            let first = try await transaction.execute(Self.lookup, ["id": "a"])
            #expect(try first.items.first?["n"] == 1)
            #expect(first.commitID == nil)
            let second = try await transaction.execute(Self.lookup, ["id": "b"])
            #expect(second.items.isEmpty)
            kept = first
            return .commit
        }
        #expect(kept?.commitID == 1)
        let later = try await store.execute(Self.lookup, ["id": "b"])
        #expect(later.items.count == 1 && later.commitID == 2)
        try await store.close()
    }

    @Test(arguments: [1, 20, 300] as [UInt64])
    func `a write transaction looks up the changes of its statements`(_ seed: UInt64) async throws {
        var random = SeededRandom(seed: seed, "lookups of pending documents")
        let store = try await Store.inMemory()
        for round in 0..<30 {
            try await store.transaction { transaction in
                for _ in 0..<12 {
                    let id = QueryArguments(["id": Self.ids[random.below(Self.ids.count)]])
                    let change: DQL =
                        switch random.below(4) {
                        case 0: "DELETE FROM t WHERE _id = :id"
                        case 1: "UPDATE t SET n = n + 1 WHERE _id = :id"
                        case 2: "UPDATE t SET o.x = \(round) WHERE _id = :id"
                        default:
                            "INSERT INTO t DOCUMENTS ({'_id': :id, 'n': 1}) ON ID CONFLICT DO UPDATE"
                        }
                    _ = try? await transaction.execute(change, id)
                    let expected = try await Self.answer {
                        try await transaction.execute(
                            "SELECT * FROM t WHERE _id = :id AND TRUE", id)
                    }
                    let answer = try await Self.answer {
                        try await transaction.execute(Self.lookup, id)
                    }
                    #expect(answer == expected, "seed \(seed), round \(round)")
                }
            }
        }
        try await store.close()
    }

    @Test func `a point lookup finds its collection in each of two stores`() async throws {
        let (one, other) = (try await Store.inMemory(), try await Store.inMemory())
        for number in 0..<20 {
            let names = ["c\(number)", "c\(19 - number)"]
            for (store, name) in zip([one, other], names) {
                try await store.execute(
                    "INSERT INTO \(identifier: name) DOCUMENTS (:d)",
                    ["d": ["_id": "a", "name": .string(name)] as Value])
            }
        }
        for number in [0, 19, 3, 3, 18, 40, 0] {
            for store in [one, other, one] {
                let result = try await store.execute(
                    "SELECT * FROM \(identifier: "c\(number)") WHERE _id = 'a'")
                #expect(
                    try result.items.map { try $0["name"] }
                        == (number < 20 ? [.string("c\(number)")] : []))
            }
        }
        try await one.close()
        try await other.close()
    }

    @Test func `a materialized row is readable, also after it is dematerialized`() async throws {
        let store = try await Store.inMemory()
        try await store.execute("INSERT INTO t DOCUMENTS ({'_id': 'a', 'n': 1})")
        let item = try #require(try await store.execute(Self.lookup, ["id": "a"]).items.first)
        #expect(!item.isMaterialized)
        try item.materialize()
        #expect(item.isMaterialized)
        #expect(try item["n"] == 1 && item["x"] == nil)
        item.dematerialize()
        #expect(!item.isMaterialized)
        #expect(try item["n"] == 1)
        try await store.close()
    }
}
