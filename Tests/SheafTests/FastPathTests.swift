import Sheaf
import SheafDocument
import SheafQuery
import SheafQueryModel
import SheafStatements
import SheafTestSupport
import Testing

/// Statements on the fast path, compared with equivalent statements that need a plan.
@Suite struct FastPathTests {
    /// The result of a statement.
    private enum StatementResult: Equatable {
        case outcome(rows: [String], ids: [Value], commit: Int64?)
        case failure(StoreError.Reason, String, hint: String?)
    }

    private static let ids: [Value] = [
        1, 2, -7, .integer(.max), 1.0, 2.5, true, false, .null, "", "a", "b", "a\0b", "\u{E9}",
        "e\u{301}", [1], ["k": 1], .bytes([1]), .string(String(repeating: "i", count: 256)),
        .string(String(repeating: "i", count: 257)), .string(String(repeating: "i", count: 1_018)),
        .string(String(repeating: "i", count: 3_000)), .string(String(repeating: "\0", count: 250)),
    ]

    /// Statements in which `?` is replaced by the condition.
    private static let statements = [
        "SELECT * FROM t WHERE ?", "SELECT * FROM t AS q WHERE ?", "SELECT * FROM nowhere WHERE ?",
        "SELECT * FROM COLLECTION t WHERE ?", "SELECT * FROM system:collections WHERE ?",
        "SELECT * FROM system:nothing WHERE ?", "SELECT * FROM __collections WHERE ?",
        "UPDATE t SET n = :v WHERE ?", "UPDATE t SET n = 1, o.x = :v, _id.x = 1 WHERE ?",
        "UPDATE t SET o.x = :v, t.o.y = 'y' UNSET n WHERE ?", "UPDATE t SET n = n + 1 WHERE ?",
        "UPDATE t SET n = :v WHERE ? RETURNING *", "UPDATE t SET o.z = [:v] WHERE ? RETURNING o",
        "UPDATE t APPLY c INCREMENT BY :v WHERE ?", "UPDATE t APPLY c RESTART WITH :v WHERE ?",
        "UPDATE t APPLY c RESTART WHERE ?", "UPDATE nowhere SET n = 1 WHERE ?",
        "UPDATE system:indexes SET n = 1 WHERE ?", "DELETE FROM t WHERE ?",
        "DELETE FROM t WHERE ? RETURNING *", "DELETE FROM nowhere WHERE ?", "EVICT FROM t WHERE ?",
        "EVICT FROM t WHERE ? RETURNING n", "DELETE FROM __collections WHERE ?",
        "UPDATE __t SET n = 1 WHERE ?", "DELETE FROM __t WHERE ?", "EVICT FROM __t WHERE ?",
    ]
    private static let conditions = ["_id = :id", ":id = _id", "t._id = :id", ":id = q._id"]
    private static let insertions = [
        "INSERT INTO t DOCUMENTS (?)", "INSERT INTO t DOCUMENTS (?) ON ID CONFLICT DO UPDATE",
        "INSERT INTO t DOCUMENTS (?) ON ID CONFLICT DO NOTHING",
        "INSERT INTO t DOCUMENTS (?), (?)", "INSERT INTO t INITIAL DOCUMENTS (?)",
        "INSERT INTO t DOCUMENTS (?) RETURNING *", "INSERT INTO system:t DOCUMENTS (?)",
        "INSERT INTO __t DOCUMENTS (?)",
    ]
    private static let settings = [
        "ALTER SYSTEM SET dql_strict_mode = true", "ALTER SYSTEM SET dql_strict_mode = false",
        "ALTER SYSTEM SET dql_default_directives = {'#max_joins': 1}",
        "ALTER SYSTEM RESET dql_default_directives",
    ]

    private static func answer(
        _ life: QuerySimulation, _ text: String, _ arguments: [String: Value]
    ) throws -> StatementResult {
        do throws(StoreError) {
            let outcome = try life.execute(text, arguments)
            var rows: [String] = []
            for item in outcome.items {
                rows.append(Value.object(try item.object(outcome.names)).json)
            }
            return .outcome(rows: rows, ids: outcome.mutatedIDs, commit: outcome.commit.value)
        } catch {
            return .failure(error.reason, error.message, hint: error.hint)
        }
    }

    /// Returns two operands for one document, one for the fast path and one that needs a plan, with
    /// their arguments.
    private static func document(
        _ id: Value?, _ random: inout SeededRandom
    ) throws -> (operand: String, planned: String, arguments: [String: Value]) {
        var document: Object = ["n": .integer(Int64(random.below(9))), "o": ["x": 1]]
        if random.chance(9, in: 10) { document["_id"] = id }
        let value: Value = random.chance(1, in: 12) ? 1 : .object(document)
        if random.chance(1, in: 20) { return (":d", "coalesce(:d, 1)", ["unused": 1]) }
        // A value that JSON does not preserve is passed as an argument.
        guard random.chance(1, in: 2), try Value(json: value.json) == value else {
            return (":d", "coalesce(:d, 1)", ["d": value, "unused": 1])
        }
        return (
            "deserialize_json(:text)", "coalesce(:d, 2)",
            ["d": value, "text": .string(value.json), "unused": 1]
        )
    }

    @Test(arguments: [1, 22, 333] as [UInt64])
    func `fast-path statements have the same results as planned ones`(_ seed: UInt64) throws {
        var random = SeededRandom(seed: seed, "shortcuts")
        let (short, planned) = (try QuerySimulation(seed: seed), try QuerySimulation(seed: seed))
        var effects = 0
        func pick<Element>(_ elements: [Element]) -> Element {
            elements[random.below(elements.count)]
        }
        func run(_ text: String, _ other: String, _ arguments: [String: Value]) throws {
            let expected = try Self.answer(planned, other, arguments)
            let found = try Self.answer(short, text, arguments)
            if case .outcome(let rows, let ids, _) = found, !rows.isEmpty || !ids.isEmpty {
                effects += 1
            }
            #expect(found == expected, "seed \(seed): \(text) with \(arguments)")
        }
        for _ in 0..<900 {
            var arguments: [String: Value] = [
                "id": pick(Self.ids), "v": pick([1, 2.5, "text", .null, ["x": 1], [1, 2]]),
            ]
            switch random.below(12) {
            case 0:
                for simulation in [short, planned] { try simulation.flush() }
            case 1:
                guard random.chance(1, in: 3) else { continue }
                for simulation in [short, planned] { try simulation.compact() }
            case 2:
                let text = pick(Self.settings)
                try run(text, text, [:])
            case 3, 4, 5, 6:
                let (operand, planned, arguments) = try Self.document(arguments["id"], &random)
                let text = pick(Self.insertions)
                try run(
                    text.replacing("?", with: operand),
                    text.replacing("?", with: planned), arguments)
            default:
                if random.chance(1, in: 20) { arguments[pick(["id", "v"])] = nil }
                if random.chance(1, in: 4) { arguments["unused"] = 1 }
                var condition = pick(Self.conditions)
                if random.chance(1, in: 4) {
                    condition = condition.replacing(":id", with: pick(["1", "'a'", "1.0", "true"]))
                }
                let text = pick(Self.statements)
                try run(
                    text.replacing("?", with: condition),
                    text.replacing("?", with: condition + " AND TRUE"), arguments)
            }
        }
        // Enough statements must match a document.
        #expect(effects > 150, "seed \(seed)")
        for text in [
            "SELECT * FROM t ORDER BY _id", "SELECT documents FROM system:collections",
            "SELECT name, value FROM system:metrics WHERE name != 'request_nanoseconds'",
            "SELECT state, resultCount, error FROM system:request_history",
        ] {
            try run(text, text, [:])
        }
    }

    @Test func `a change of strict mode applies to a cached statement`() throws {
        let simulation = try QuerySimulation(seed: 4)
        try simulation.execute("INSERT INTO t DOCUMENTS ({'_id': 1, 'n': 1, 'o': {'x': 1}})")
        let text = "SELECT * FROM t WHERE _id = 1"
        func rows() throws -> [Value] {
            try simulation.flush()
            let outcome = try simulation.execute(text)
            return try outcome.items.map { .object(try $0.object(outcome.names)) }
        }
        let whole: [Value] = [["_id": 1, "n": 1, "o": ["x": 1]]]
        #expect(try rows() == whole)
        try simulation.execute("ALTER SYSTEM SET dql_strict_mode = true")
        #expect(try rows() == [["_id": 1, "n": 1]])
        try simulation.execute("ALTER SYSTEM RESET dql_strict_mode")
        #expect(try rows() == whole)
    }

    @Test func `a deleted document is neither changed nor evicted`() throws {
        let simulation = try QuerySimulation(seed: 5)
        try simulation.execute("INSERT INTO t DOCUMENTS ({'_id': 'a', 'n': 1})")
        #expect(try simulation.execute("DELETE FROM t WHERE _id = 'a'").mutatedIDs == ["a"])
        for text in [
            "DELETE FROM t WHERE _id = 'a'", "EVICT FROM t WHERE _id = 'a'",
            "UPDATE t SET n = 2 WHERE _id = 'a'",
        ] {
            #expect(try simulation.execute(text).mutatedIDs.isEmpty, "\(text)")
            try simulation.flush()
        }
        #expect(try simulation.rows("SELECT * FROM t WHERE _id = 'a'").isEmpty)
    }
}
