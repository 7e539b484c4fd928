import Sheaf
import SheafDocument
import SheafStatements
import Testing

/// Loops of statements at and one beyond the limits of their steps and results.
@Suite struct LoopLimitTests {
    private static func list(_ count: Int) -> Value {
        .array(Array(repeating: 1, count: count))
    }

    private func run(_ expression: String, _ value: Value, in store: Store) async throws {
        _ = try await store.execute(
            DQL(verbatim: "SELECT \(expression) AS v FROM system:dual"), ["v": value])
    }

    /// Expects that an expression accepts one value, and refuses another one with this message.
    private func check(
        _ expression: String, accepts accepted: Value, refuses refused: Value, _ message: String
    ) async throws {
        let store = try await Store.inMemory()
        try await run(expression, accepted, in: store)
        let error = await #expect(throws: StoreError.self) {
            try await run(expression, refused, in: store)
        }
        #expect(error?.reason == .limit, "\(expression)")
        #expect(error?.message == message, "\(expression)")
        try await store.close()
    }

    @Test func `a loop takes at most 1,048,576 steps`() async throws {
        let part = Self.list(1_023)
        let parts = Array(repeating: part, count: 1_023)
        // A loop over all depths takes a step for each part, and for each of its elements.
        try await check(
            "ANY a WITHIN :v SATISFIES a = 2 END", accepts: .array(parts + [part]),
            refuses: .array(parts + [Self.list(1_024)]), "a loop takes more than 1048576 steps")
    }

    @Test(arguments: [
        ("ANY a IN [1] SATISFIES ANY b IN :v SATISFIES b = 2 END END", 131_071),
        ("ANY a IN [1], b IN :v SATISFIES b = 2 END", 131_071),
        ("ANY a IN [1, 2] SATISFIES ANY b IN :v SATISFIES b = 2 END END", 65_535),
        ("ANY a IN [1, 2], b IN :v SATISFIES b = 2 END", 65_535),
    ])
    func `a loop within a loop takes at most 131,072 steps, with those around it`(
        expression: String, count: Int
    ) async throws {
        try await check(
            expression, accepts: Self.list(count), refuses: Self.list(count + 1),
            "a loop within a loop takes more than 131072 steps")
    }

    @Test(arguments: [
        "ANY a IN [1] SATISFIES ANY b IN [1] SATISFIES ANY c IN :v SATISFIES c = 2 END END END",
        "ANY a IN [1], b IN [1] SATISFIES ANY c IN :v SATISFIES c = 2 END END",
        "ANY a IN [1], b IN [1], c IN :v SATISFIES c = 2 END",
    ])
    func `a loop at a deeper level takes at most 65,536 steps, with those around it`(
        expression: String
    ) async throws {
        try await check(
            expression, accepts: Self.list(65_534), refuses: Self.list(65_535),
            "a loop within a loop takes more than 65536 steps")
    }

    @Test func `the result of a loop has at most 262,144 values, itself included`() async throws {
        let expression = "ARRAY a FOR a IN :v END"
        try await check(
            expression, accepts: Self.list(262_143), refuses: Self.list(262_144),
            "a value has more than 262144 parts")
        try await check(
            expression, accepts: Self.list(262_143), refuses: Self.list(262_145),
            "a loop yields more than 262144 elements")
    }
}
