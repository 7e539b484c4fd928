/// The forms of statements that grow.
extension LongStatementTiming {
    private static func chain(
        _ name: String, _ separator: String, _ start: String = "SELECT * FROM t WHERE ",
        _ end: String = "", _ term: @escaping @Sendable (Int) -> String
    ) -> Form {
        Form(name: name) { count in
            start + (0..<count).map(term).joined(separator: separator) + end
        }
    }

    private static func nest(
        _ name: String, _ opening: String, _ middle: String, _ closing: String
    ) -> Form {
        Form(name: name) { depth in
            "SELECT * FROM t WHERE a = " + String(repeating: opening, count: depth) + middle
                + String(repeating: closing, count: depth)
        }
    }

    /// Chains of one operator.
    package static let chains: [Form] = [
        chain("texts || known", " || ", "SELECT ", " FROM t") { "'text \($0)'" },
        chain("texts || b", " || ", "SELECT ", " FROM t") { _ in "b" },
        chain("b = texts || b", " || ", "SELECT * FROM t WHERE b = ") { _ in "b" },
        chain("long || texts", " || ", "SELECT repeat('x', 100000) || ", " FROM t") { _ in "b" },
        chain("a + a", " + ", "SELECT ", " FROM t") { _ in "a" },
        chain("1 + 1", " + ", "SELECT ", " FROM t") { "\($0)" },
        chain("a * 2", " * ", "SELECT ", " FROM t") { $0 == 0 ? "a" : "2" },
        chain("a = n OR", " OR ") { "a = \($0)" },
        chain("b = x OR", " OR ") { "b = 'x\($0)'" },
        chain("_id = n OR", " OR ") { "_id = \($0)" },
        chain("a > n OR", " OR ") { "a > \($0)" },
        chain("a = n OR b", " OR ") { $0 % 2 == 0 ? "a = \($0)" : "b = 'x\($0)'" },
        chain("fields = 1 OR", " OR ") { "f\($0) = 1" },
        chain("fields = 1 AND", " AND ") { "f\($0) = 1" },
        chain("a != n AND", " AND ") { "a != \($0)" },
        chain("a > n AND", " AND ") { "a > -\($0)" },
        chain("NOT a = n AND", " AND ") { "NOT a = \($0)" },
        chain("b LIKE AND", " AND ") { "b LIKE '%t\($0 % 7)%'" },
        chain("b LIKE OR", " OR ") { "b LIKE 'te\($0)%'" },
        chain("(a OR b) AND", " AND ") { "(a = \($0) OR b = 'x')" },
        chain("(a OR a) AND", " AND ") { "(a = \($0) OR a = 1)" },
        chain("(a AND b) OR", " OR ") { "(a = \($0) AND b = 'x\($0)')" },
        chain("a IN (2) OR", " OR ") { "a IN (\($0), 1)" },
        chain("a IN (2) AND", " AND ") { "a IN (\($0), 1)" },
        chain("a BETWEEN OR", " OR ") { "a BETWEEN \($0 * 2) AND \($0 * 2 + 1)" },
        chain("a IS NOT NULL AND", " AND ") { _ in "a IS NOT NULL" },
    ]

    /// Lists of values and of arguments.
    package static let lists: [Form] = [
        chain("a IN", ", ", "SELECT * FROM t WHERE a IN (", ")") { "\($0)" },
        chain("a IN twice", ", ", "SELECT * FROM t WHERE a IN (", ")") { "\($0 % 9)" },
        chain("a NOT IN", ", ", "SELECT * FROM t WHERE a NOT IN (", ")") { "\($0 * 3)" },
        chain("a IN fields", ", ", "SELECT * FROM t WHERE a IN (", ")") { "f\($0)" },
        chain("_id IN", ", ", "SELECT * FROM t WHERE _id IN (", ")") { "'\($0)'" },
        chain("USE IDS", ", ", "SELECT * FROM t USE IDS ") { "'\($0)'" },
        chain("array", ", ", "SELECT [", "] FROM t") { "\($0)" },
        chain("array of a", ", ", "SELECT [", "] FROM t") { _ in "a" },
        chain("object", ", ", "SELECT {", "} FROM t") { "f\($0): \($0)" },
        chain("object of a", ", ", "SELECT {", "} FROM t") { "f\($0): a" },
        chain("object backwards", ", ", "SELECT {", "} FROM t") { "f\(9_999 - $0): a" },
        chain("concat", ", ", "SELECT concat(", ") FROM t") { _ in "b" },
        chain("joinstr", ", ", "SELECT joinstr(', ', ", ") FROM t") { _ in "b" },
        chain("coalesce", ", ", "SELECT coalesce(", ") FROM t") { "f\($0)" },
        chain("object_concat", ", ", "SELECT object_concat(", ") FROM t") { "{f\($0): a}" },
        chain("decode", ", ", "SELECT decode(a, ", ") FROM t") { "\($0 + 20)" },
        chain("CASE WHEN", " ", "SELECT CASE ", " END FROM t") { "WHEN a = -\($0) THEN \($0)" },
        chain("CASE a WHEN", " ", "SELECT CASE a ", " END FROM t") { "WHEN -\($0) THEN \($0)" },
    ]

    /// Clauses with many parts.
    package static let clauses: [Form] = [
        chain("bindings", ", ", "SELECT * FROM t WHERE ANY ", " SATISFIES FALSE END") {
            "v\($0) IN []"
        },
        chain("columns", ", ", "SELECT ", " FROM t") { "a + \($0)" },
        chain("named columns", ", ", "SELECT ", " FROM t") { "a AS c\($0)" },
        chain("same columns", ", ", "SELECT ", " FROM t") { _ in "a" },
        chain("distinct", ", ", "SELECT DISTINCT ", " FROM t") { "a AS c\($0)" },
        chain("stars", ", ", "SELECT ", " FROM t") { _ in "t.*" },
        chain("ORDER BY", ", ", "SELECT * FROM t ORDER BY ") { "a + \($0) DESC" },
        chain("ORDER BY fields", ", ", "SELECT * FROM t ORDER BY ") { "f\($0)" },
        chain("ORDER BY aliases", ", ", "SELECT a AS x, b AS y FROM t ORDER BY ") {
            $0 % 2 == 0 ? "x" : "y"
        },
        chain("GROUP BY", ", ", "SELECT COUNT(*) FROM t GROUP BY ") { "a + \($0)" },
        Form(name: "GROUP BY columns") { count in
            let keys = (0..<count).map { "f\($0)" }.joined(separator: ", ")
            return "SELECT \(keys) FROM t GROUP BY \(keys)"
        },
        Form(name: "columns ORDER BY columns") { count in
            let keys = (0..<count).map { "f\($0)" }.joined(separator: ", ")
            return "SELECT \(keys) FROM t ORDER BY \(keys)"
        },
        Form(name: "aliases ORDER BY aliases") { count in
            let columns = (0..<count).map { "a AS c\($0)" }.joined(separator: ", ")
            let keys = (0..<count).map { "c\($0)" }.joined(separator: ", ")
            return "SELECT \(columns) FROM t ORDER BY \(keys)"
        },
        chain("aggregates", ", ", "SELECT ", " FROM t") { "SUM(a + \($0))" },
        chain("aggregates +", " + ", "SELECT ", " FROM t") { "MEDIAN(a + \($0))" },
        chain("HAVING", " OR ", "SELECT a FROM t GROUP BY a HAVING ") { "COUNT(a) = \($0)" },
        chain("INSERT", ", ", "INSERT INTO u DOCUMENTS ") { "({'_id': \($0), 'a': 1})" },
        chain(
            "INSERT one", ", ", "INSERT INTO u DOCUMENTS ({'_id': 1, ", "}) ON ID CONFLICT DO MERGE"
        ) {
            "f\($0): 1"
        },
        chain("SET", ", ", "UPDATE u USE IDS 1 SET ") { "f\($0) = 1" },
        chain("SET below", ", ", "UPDATE u USE IDS 1 SET ") { "m.f\($0) = \($0)" },
        chain("SET same", ", ", "UPDATE u USE IDS 1 SET ") { "f1 = \($0)" },
        chain("UNSET", ", ", "UPDATE u USE IDS 1 UNSET ") { "f\($0)" },
        chain("APPLY", ", ", "UPDATE u USE IDS 1 APPLY ") { "n\($0) INCREMENT BY 1" },
        chain("RETURNING", ", ", "UPDATE t SET a = a RETURNING ") { "a AS c\($0)" },
        chain("types", ", ", "SELECT * FROM COLLECTION t (", ")") { "f\($0) REGISTER" },
        chain("join on", " AND ", "SELECT * FROM t JOIN u ON u._id = t.a AND ") {
            "u.f\($0) = t.a"
        },
        chain("unknown", " ", "SELECT * FROM t WHERE unknown(") { "x\($0)" },
        Form(name: "long function") { "SELECT \(String(repeating: "x", count: $0 * 8))(1) FROM t" },
        Form(name: "long keyword") { "SELECT * FORM\(String(repeating: "x", count: $0 * 8)) t" },
        Form(name: "long text") { "SELECT '\(String(repeating: "x", count: $0 * 8))' FROM t" },
        Form(name: "lines") { "SELECT \(String(repeating: "\n -- c\n", count: $0)) FORM t" },
        Form(name: "LIKE") {
            "SELECT * FROM t WHERE b LIKE '\(String(repeating: "%e", count: $0))'"
        },
        Form(name: "LIKE _") {
            "SELECT * FROM t WHERE b LIKE '%\(String(repeating: "_", count: $0))'"
        },
        Form(name: "SIMILAR") {
            "SELECT * FROM t WHERE b SIMILAR TO '\(String(repeating: "(a|b)*", count: $0))'"
        },
        Form(name: "regexp") {
            "SELECT * FROM t WHERE regexp_like(b, '\(String(repeating: "(e?t?)*", count: $0))')"
        },
        Form(name: "directives") { count in
            let fields = (0..<count).map { _ in "\"#prefer_order\": true" }
            return "SELECT * FROM t /*+ {\(fields.joined(separator: ", "))} */"
        },
    ]

    /// Nested expressions.
    package static let nests: [Form] = [
        nest("parentheses", "(", "1", ")"), nest("NOT", "NOT (", "a", ")"),
        nest("negation", "-(", "a", ")"), nest("arrays", "[", "a", "]"),
        nest("objects", "{x: ", "a", "}"), nest("functions", "upper(", "b", ")"),
        nest("two arguments", "concat(b, ", "b", ")"),
        nest("known functions", "concat('x', ", "'y'", ")"),
        nest("coalesce", "coalesce(a, ", "a", ")"), nest("a IN", "(a IN (", "a", "))"),
        nest("a =", "(a = ", "1", ")"), nest("OR in AND", "(a = 1 AND (b = 2 OR ", "a", "))"),
        nest("AND in OR", "(a = 1 OR (a = 2 AND ", "b = 1", "))"),
        nest("BETWEEN", "(a BETWEEN 1 AND ", "a", ")"),
        nest("CASE WHEN", "CASE WHEN TRUE THEN ", "a", " END"),
        nest("CASE in WHEN", "CASE WHEN ", "a", " THEN 1 END"),
        nest("known CASE", "CASE WHEN ", "TRUE", " THEN 1 END"),
        nest("ANY", "ANY v IN l SATISFIES ", "FALSE", " END"),
        nest("ANY source", "ANY v IN ", "l", " SATISFIES v END"),
        nest("ARRAY source", "ARRAY v FOR v IN ", "l", " END"),
        nest("ARRAY pairs", "ARRAY [v, v] FOR v IN ", "[]", " END"),
        nest("OBJECT", "OBJECT 'x' : v FOR v IN ", "l", " END"),
        Form(name: "OR in AND as WHERE") { depth in
            "SELECT * FROM t WHERE "
                + (0..<depth).map { "(a = \($0) OR b = 'x' AND " }.joined() + "a = 1"
                + String(repeating: ")", count: depth)
        },
        Form(name: "AND in OR as WHERE") { depth in
            "SELECT * FROM t WHERE "
                + (0..<depth).map { "(a = \($0) AND (b = 'x' OR a = 2 OR " }.joined() + "a = 1"
                + String(repeating: "))", count: depth)
        },
        Form(name: "GROUP BY nested") { depth in
            let nested =
                String(repeating: "upper(", count: depth) + "b"
                + String(repeating: ")", count: depth)
            return "SELECT \(nested), lower(\(nested)) FROM t GROUP BY \(nested)"
        },
    ]
}
