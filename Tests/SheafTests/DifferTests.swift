import Sheaf
import SheafDocument
import SheafStatements
import Testing

struct DifferTests {
    @Test func `a row counts as updated only if its contents changed`() async throws {
        let store = try await Store.inMemory()
        let differ = Differ()
        func diff() async throws -> Diff {
            differ.diff(try await store.execute("SELECT * FROM t ORDER BY n").items)
        }
        try await store.execute(
            """
            INSERT INTO t DOCUMENTS ({'_id': 'a', 'n': 1}), ({'_id': 'b', 'n': 2}),
                ({'_id': 'c', 'n': 3})
            """)
        #expect(try await diff().insertions == [0, 1, 2])
        #expect(try await diff().isEmpty)
        // This write does not change the contents.
        try await store.execute("UPDATE t SET n = 2 WHERE _id = 'b'")
        #expect(try await diff().isEmpty)
        try await store.execute("UPDATE t SET n = 2.0 WHERE _id = 'b'")
        #expect(try await diff().updates == [1])
        try await store.execute("DELETE FROM t WHERE _id = 'a'")
        #expect(try await diff().deletions == [0])
        try await store.execute("UPDATE t SET n = 9 WHERE _id = 'b'")
        let moved = try await diff()
        #expect(moved.updates == [1])
        #expect(moved.moves.count == 1)
        try await store.close()
    }

    @Test func `a row has the same identity inside and outside a transaction`() async throws {
        let store = try await Store.inMemory()
        let differ = Differ()
        try await store.transaction { transaction in
            try await transaction.execute("INSERT INTO t DOCUMENTS ({'_id': [1, 'x'], 'n': 1})")
            let inside = try await transaction.execute("SELECT * FROM t")
            #expect(differ.diff(inside.items).insertions == [0])
            return .commit
        }
        let outside = try await store.execute("SELECT * FROM t")
        #expect(differ.diff(outside.items).isEmpty)
        #expect(differ.diff(Array(outside.items)).isEmpty)
        let columns = try await store.execute("SELECT n FROM t")
        #expect(differ.diff(columns.items) != Diff())
        try await store.close()
    }

    @Test func `rows of different stores are not equal by version alone`() async throws {
        let differ = Differ()
        for (number, color) in ["red", "blue"].enumerated() {
            let store = try await Store.inMemory()
            try await store.execute("INSERT INTO t DOCUMENTS ({'_id': 1, 'color': \(color)})")
            let diff = differ.diff(try await store.execute("SELECT * FROM t").items)
            #expect(diff.updates == (number == 0 ? [] : [0]))
            try await store.close()
        }
    }

    /// Values that a careless hash confuses: empty ones of each type, elements that move to the
    /// next container, and texts that are equal with `==`.
    private static let similarValues: [Value] = [
        .null, .bool(false), .bool(true), .integer(0), .integer(1), .float(0), .float(1),
        .string(""), .string("\0"), .string("\u{E9}"), .string("e\u{301}"),
        .bytes([]), .bytes([0]), .bytes([0, 0]), .bytes([1, 1]),
        .array([]), .array([.null]), .array([.null, .null]), .array([.null, true]),
        .array([true, .null]), .array([513, true]), .array([true, 0x0102_0000_0000_0000]),
        .array([[1], 2]), .array([[1, 2]]),
        .array(["a\u{4}b", "c"]), .array(["a", "b\u{4}c"]),
        .object([:]), .object(["a": 1]), .object(["b": 1]),
        .object(["\u{E9}": 1]), .object(["e\u{301}": 1]),
        .object(["a": ["b": 1], "c": 2]), .object(["a": ["b": 1, "c": 2]]),
    ]

    @Test func `a value that differs in its type or structure alone has changed`() async throws {
        let store = try await Store.inMemory()
        var results: [QueryResult] = []
        for value in Self.similarValues {
            let query: DQL = "SELECT 1 AS _id, :v AS v FROM system:dual"
            results.append(try await store.execute(query, ["v": value]))
        }
        for (first, old) in results.enumerated() {
            for (second, new) in results.enumerated() {
                let differ = Differ()
                #expect(differ.diff(old.items) == Diff(insertions: [0]))
                let expected = first == second ? Diff() : Diff(updates: [0])
                #expect(differ.diff(new.items) == expected, "values \(first) and \(second)")
            }
        }
        try await store.close()
    }
}
