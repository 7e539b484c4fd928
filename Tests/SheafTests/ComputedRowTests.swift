import Sheaf
import SheafDocument
import SheafTestSupport
import Testing

/// Rows of SELECT that are computed from documents.
@Suite struct ComputedRowTests {
    private struct Row: Decodable, Equatable {
        let bb: String?
        let ab: Int?
    }

    /// The query, and the columns of its rows in their order.
    private static let queries: [(DQL, [String])] = [
        ("SELECT b AS bb, a AS ab, _id FROM t ORDER BY _id", ["bb", "ab", "_id"]),
        ("SELECT _id, b AS bb, a AS ab FROM t ORDER BY c DESC, _id", ["_id", "bb", "ab"]),
        ("SELECT a AS ab, _id, b AS bb FROM t ORDER BY _id LIMIT 3 OFFSET 2", ["ab", "_id", "bb"]),
        (
            "SELECT _id, b AS bb, a AS ab FROM t ORDER BY c, _id LIMIT 4 OFFSET 1",
            ["_id", "bb", "ab"]
        ),
        (
            "SELECT t._id, t.b AS bb, u.a AS ab FROM t LEFT JOIN t u ON u._id = t.r",
            ["_id", "bb", "ab"]
        ),
        ("SELECT DISTINCT b AS bb, a AS ab, _id FROM t", ["bb", "ab", "_id"]),
    ]

    private static func withStore(_ body: (Store) async throws -> Void) async throws {
        let directory = TemporaryDirectory()
        let store = try await Store.open(at: directory.path)
        for id in 0..<8 {
            // `a` is missing in some documents; `b` is missing in some, and null in others.
            var fields: [(String, Value)] = [
                ("_id", .integer(Int64(id))), ("c", .integer(Int64(id % 3))),
                ("r", .integer(Int64(id * 3 % 10))),
            ]
            if id % 4 != 1 { fields.append(("a", .integer(Int64(10 * id)))) }
            if id % 4 != 2 { fields.append(("b", id % 4 == 3 ? .null : .string("text \(id)"))) }
            fields.append(("o", ["inner": .object(["deep": .integer(Int64(id))])]))
            try await store.execute(
                "INSERT INTO t DOCUMENTS (:document)",
                QueryArguments(["document": .object(Object(fields))]))
        }
        try await body(store)
        try await store.close()
    }

    @Test func `a row has the same values by name, as an object, as JSON and as a type`()
        async throws
    {
        try await Self.withStore { store in
            for (query, columns) in Self.queries {
                let result = try await store.execute(query)
                #expect(result.columns == columns, "\(query.text)")
                for item in result.items {
                    let object = try item.value
                    for name in columns { #expect(try item[name] == object[name], "\(query.text)") }
                    #expect(object.map(\.name).allSatisfy(columns.contains))
                    #expect(try item["aa"] == nil)
                    #expect(try item["a"] == nil)
                    #expect(try item.jsonString == Value.object(object).json)
                    let row = try item.decode(Row.self)
                    #expect(row.ab.map { .integer(Int64($0)) } == object["ab"])
                    #expect(row.bb.map { .string($0) } ?? .null == object["bb"] ?? .null)
                }
            }
        }
    }

    @Test func `a row omits missing values and keeps null`() async throws {
        try await Self.withStore { store in
            let rows = try await store.execute("SELECT b, a FROM t ORDER BY _id").items.map {
                try $0.value
            }
            let wanted: [Object] = [
                ["a": 0, "b": "text 0"], ["b": "text 1"], ["a": 20], ["a": 30, "b": .null],
                ["a": 40, "b": "text 4"], ["b": "text 5"], ["a": 60], ["a": 70, "b": .null],
            ]
            #expect(rows == wanted)
        }
    }

    @Test func `a path leads into a computed value`() async throws {
        try await Self.withStore { store in
            let items = try await store.execute("SELECT o, o.inner AS i FROM t ORDER BY _id").items
            for (number, item) in items.enumerated() {
                #expect(try item["o", "inner", "deep"] == .integer(Int64(number)))
                #expect(try item["i", "deep"] == .integer(Int64(number)))
                #expect(try item["i", "deep", "deeper"] == nil)
                #expect(try item["deep"] == nil)
                try item.materialize()
                #expect(try item["o", "inner", "deep"] == .integer(Int64(number)))
            }
            #expect(items.count == 8)
        }
    }

    @Test func `names that differ only in their normalization are two columns`() async throws {
        try await Self.withStore { store in
            // A letter with an accent in one code point, and in two.
            let (single, double) = ("\u{E9}", "e\u{301}")
            let result = try await store.execute(
                DQL(verbatim: "SELECT _id AS `\(single)`, c AS `\(double)` FROM t ORDER BY _id"))
            let item = try #require(result.items.last)
            #expect(try item[single] == 7)
            #expect(try item[double] == 1)
            #expect(try item.value.count == 2)
        }
    }

    @Test func `a statement deletes the documents that it has sorted`() async throws {
        try await Self.withStore { store in
            let result = try await store.execute(
                "DELETE FROM t ORDER BY c DESC, _id LIMIT 3 RETURNING c, _id")
            let rows = try result.items.map { try [$0["_id"], $0["c"]] }
            #expect(rows == [[2, 2], [5, 2], [1, 1]])
            #expect(result.mutatedDocumentIDs.count == 3)
        }
    }
}
