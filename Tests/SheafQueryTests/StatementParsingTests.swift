import SheafDocument
import SheafQuery
import Testing

/// Parsed statements, compared in their canonical form.
@Suite struct StatementParsingTests {
    /// Checks pairs of lines: a statement and its canonical form; `=` means the same line.
    private func check(_ table: String) throws {
        let lines = table.split(separator: "\n").map(String.init)
        for index in stride(from: 0, to: lines.count, by: 2) {
            let expected = lines[index + 1] == "=" ? lines[index] : lines[index + 1]
            #expect(throws: Never.self, "\(lines[index])") {
                let written = try Parser.parse(lines[index]).description
                #expect(written == expected, "\(lines[index])")
            }
        }
    }

    @Test func `SELECT parses with all of its clauses`() throws {
        try check(
            """
            select * from cars
            SELECT * FROM cars
            SELECT DISTINCT a, b.c x, d + 1 AS y FROM COLLECTION cars AS c
            SELECT DISTINCT a, b.c AS x, d + 1 AS y FROM COLLECTION cars AS c
            SELECT orders.*, total * 1.1 AS gross, MISSING notes FROM orders
            SELECT orders.*, total * 1.1 AS gross, MISSING AS notes FROM orders
            SELECT * FROM cars (features MAP(style REGISTER, deep MAP ( n COUNTER)), old PN_COUNTER, file ATTACHMENT, m map) c
            SELECT * FROM cars (features MAP(style REGISTER, deep MAP(n COUNTER)), old PN_COUNTER, file ATTACHMENT, m MAP) AS c
            SELECT * FROM cars WHERE a = 1 GROUP BY a, b HAVING count(*) > 1 ORDER BY a, b DESC, c ASC LIMIT 10 OFFSET :skip;
            SELECT * FROM cars WHERE a = 1 GROUP BY a, b HAVING count(*) > 1 ORDER BY a, b DESC, c LIMIT 10 OFFSET :skip
            SELECT * FROM cars USE IDS 'a', :b, {'x': 1} WHERE c
            =
            SELECT * FROM cars USE IDS LIST :ids
            =
            SELECT * FROM cars c USE INDEX 'ix' USE IDS 1
            SELECT * FROM cars AS c USE IDS 1 USE INDEX 'ix'
            SELECT * FROM system:data_sync_info WHERE is_ditto_server = true
            SELECT * FROM system:data_sync_info WHERE is_ditto_server = TRUE
            SELECT * FROM system:indexes WHERE collection = 'orders'
            SELECT * FROM system:indexes WHERE `collection` = 'orders'
            SELECT * FROM __collections
            =
            SELECT * FROM collection cars
            SELECT * FROM COLLECTION cars
            SELECT * FROM `Größe of it`
            =
            """)
    }

    @Test func `an unreserved keyword is a collection name, and an alias without AS`() throws {
        for word in [
            "count", "total", "name", "status", "value", "date", "timestamp", "day", "month",
            "key", "index", "type", "id", "map", "documents", "list", "cast", "show", "create",
        ] {
            let statement = try Parser.parse("SELECT a \(word) FROM \(word) \(word) WHERE b")
            guard case .select(let select) = statement.body else { continue }
            #expect(select.source.name.text == word && select.source.alias?.text == word)
            #expect(throws: Never.self, "\(word)") {
                _ = try Parser.parse("INSERT INTO \(word) VALUES (:a)")
                _ = try Parser.parse("UPDATE \(word) SET \(word) = \(word)")
                _ = try Parser.parse("CREATE INDEX \(word) ON \(word) (\(word))")
                _ = try Parser.parse("EVICT FROM COLLECTION \(word) (\(word) MAP) WHERE \(word)")
            }
        }
    }

    @Test func `joins are INNER, LEFT and RIGHT`() throws {
        try check(
            """
            SELECT * FROM a JOIN b ON a.x = b._id
            =
            SELECT * FROM a INNER JOIN b AS c USE INDEX 'ix' ON a.x = c.y
            SELECT * FROM a JOIN b AS c USE INDEX 'ix' ON a.x = c.y
            SELECT * FROM a x LEFT JOIN b y ON x.z = y._id RIGHT OUTER JOIN c USE INDEX '' ON TRUE WHERE y.z
            SELECT * FROM a AS x LEFT JOIN b AS y ON x.z = y._id RIGHT JOIN c USE INDEX '' ON TRUE WHERE y.z
            SELECT * FROM a left outer join b on true
            SELECT * FROM a LEFT JOIN b ON TRUE
            """)
    }

    @Test func `INSERT accepts documents, initial documents and the rows of a SELECT`() throws {
        try check(
            """
            INSERT INTO cars DOCUMENTS ({_id: '1', a: 2}), (:doc)
            INSERT INTO cars DOCUMENTS ({'_id': '1', 'a': 2}), (:doc)
            INSERT INTO COLLECTION cars (a MAP) VALUES (:doc) ON ID CONFLICT FAIL
            INSERT INTO COLLECTION cars (a MAP) DOCUMENTS (:doc)
            INSERT INTO cars VALUES (:d) ON ID CONFLICT DO FAIL RETURNING _id
            INSERT INTO cars DOCUMENTS (:d) RETURNING _id
            INSERT INTO cars VALUES (:d) ON ID CONFLICT DO NOTHING
            INSERT INTO cars DOCUMENTS (:d) ON ID CONFLICT DO NOTHING
            INSERT INTO cars VALUES (:d) ON ID CONFLICT DO UPDATE RETURNING *, a b
            INSERT INTO cars DOCUMENTS (:d) ON ID CONFLICT DO MERGE RETURNING *, a AS b
            INSERT INTO cars VALUES (:d) ON ID CONFLICT DO MERGE
            INSERT INTO cars DOCUMENTS (:d) ON ID CONFLICT DO MERGE
            INSERT INTO cars VALUES (:d) ON ID CONFLICT DO UPDATE_LOCAL_DIFF
            INSERT INTO cars DOCUMENTS (:d) ON ID CONFLICT DO UPDATE_LOCAL_DIFF
            INSERT INTO cars INITIAL VALUES (:d), (:e)
            INSERT INTO cars INITIAL DOCUMENTS (:d), (:e)
            INSERT INTO COLLECTION cars (a MAP) INITIAL DOCUMENTS ({})
            =
            INSERT INTO cars SELECT * FROM a JOIN b ON a.x = b.y ON ID CONFLICT DO NOTHING RETURNING _id
            =
            """)
    }

    @Test func `UPDATE parses APPLY, SET and UNSET`() throws {
        try check(
            """
            UPDATE cars SET a = 1
            =
            UPDATE COLLECTION cars (c COUNTER) APPLY c INCREMENT BY 1, d.e RESTART, f RESTART WITH 5, g PN_INCREMENT BY -1 SET a.b = :x, h = {} UNSET i, j.k WHERE a RETURNING *
            =
            UPDATE cars USE IDS 'a' UNSET a
            =
            UPDATE cars SET a -> tombstone()
            UPDATE cars UNSET a
            UPDATE cars SET a -> DEFAULT(), b = 1
            UPDATE cars SET a -> tombstone(), b = 1
            UPDATE cars SET a -> (b = 1, c -> tombstone(), d -> (e = 2)), f = 3
            UPDATE cars SET a.b = 1, a.c -> tombstone(), a.d.e = 2, f = 3
            UPDATE cars SET a -> increment(2)
            UPDATE cars APPLY a INCREMENT BY 2
            UPDATE COLLECTION cars (a MAP(n PN_COUNTER)) SET b = 1, a -> (n -> increment(2))
            UPDATE COLLECTION cars (a MAP(n PN_COUNTER)) SET b = 1, a.n -> increment(2)
            UPDATE COLLECTION cars (n PN_COUNTER) SET n -> increment(2)
            UPDATE COLLECTION cars (n PN_COUNTER) APPLY n PN_INCREMENT BY 2
            """)
    }

    @Test func `DELETE and EVICT parse with all of their clauses`() throws {
        try check(
            """
            DELETE FROM cars
            =
            delete from collection cars (a MAP) use ids 'x' where a order by b limit 1 offset 2 returning _id
            DELETE FROM COLLECTION cars (a MAP) USE IDS 'x' WHERE a ORDER BY b LIMIT 1 OFFSET 2 RETURNING _id
            EVICT FROM cars WHERE a ORDER BY b DESC LIMIT :n RETURNING count(*)
            =
            """)
    }

    @Test func `statements for indexes, plans and system parameters parse`() throws {
        try check(
            """
            CREATE INDEX ix ON cars (a, b.c DESC, d ASC)
            CREATE INDEX ix ON cars (a, b.c DESC, d)
            create index if not exists ix on `my cars` (a)
            CREATE INDEX IF NOT EXISTS ix ON `my cars` (a)
            CREATE INDEX `if` ON cars (a)
            =
            DROP INDEX ix ON cars
            =
            DROP INDEX IF EXISTS ix ON cars
            =
            EXPLAIN SELECT * FROM a
            =
            PROFILE DELETE FROM a
            =
            ADVISE SELECT * FROM a
            =
            ADVISE AND PROVISION SELECT * FROM a
            =
            ALTER SYSTEM SET DQL_STRICT_MODE = true
            ALTER SYSTEM SET dql_strict_mode = TRUE
            ALTER SYSTEM SET a TO :value
            ALTER SYSTEM SET a = :value
            ALTER SYSTEM SET a TO DEFAULT
            ALTER SYSTEM RESET a
            ALTER SYSTEM RESET a
            =
            ALTER SYSTEM RESET ALL
            =
            SHOW Dql_Strict_Mode
            SHOW dql_strict_mode
            SHOW ALL
            =
            SHOW ALL LIKE 'dql%'
            =
            SHOW ALL ILIKE :pattern
            =
            """)
    }

    @Test func `directives are allowed at the start, after SELECT and after a collection`() throws {
        try check(
            """
            /*+ {"#max_scans": 1} */ SELECT * FROM a
            /*+ {"#max_scans":1} */ SELECT * FROM a
            SELECT /*+ {"#max_scans": 1} */ * FROM a
            /*+ {"#max_scans":1} */ SELECT * FROM a
            EXPLAIN /*+ {"x": "*\\/"} */ SELECT * FROM a
            /*+ {"x":"*\\/"} */ EXPLAIN SELECT * FROM a
            SELECT * FROM a /*+ {"#index": "b"} */ WHERE c
            SELECT * FROM a /*+ {"#index":"b"} */ WHERE c
            SELECT * FROM a x USE DIRECTIVES '{"#index": "b"}' WHERE c
            SELECT * FROM a /*+ {"#index":"b"} */ AS x WHERE c
            UPDATE a /*+ {"#index": "b"} */ SET c = 1
            UPDATE a /*+ {"#index":"b"} */ SET c = 1
            """)
        let text = "--+ {\"a\": 1}\nSELECT --+ {\"b\": 2}\n * FROM c --+ {\"d\": 3}"
        let statement = try Parser.parse(text)
        #expect(statement.directives.map { Value.object($0).json } == ["{\"a\":1}", "{\"b\":2}"])
        guard case .select(let select) = statement.body else { return }
        #expect(select.source.directives == [["d": 3]])
    }

    @Test func `a parameter is listed once`() throws {
        let statement = try Parser.parse(
            """
            UPDATE a APPLY x INCREMENT BY :n SET b = :order WHERE c IN :n AND d = :from
            RETURNING :order
            """)
        #expect(statement.parameters == ["n", "order", "from"])
        let many = (0..<40).map { ":p\($0 % 20)" }.joined(separator: ", ")
        #expect(
            try Parser.parse("SELECT \(many) FROM a").parameters == (0..<20).map { "p\($0)" })
        #expect(try Parser.parse("INSERT INTO a VALUES (:doc)").parameters == ["doc"])
        #expect(try Parser.parse("SELECT * FROM a LIMIT :a OFFSET :b").parameters == ["a", "b"])
        #expect(try Parser.parse("ALTER SYSTEM SET a = :b").parameters == ["b"])
    }

    @Test func `names keep their case, and keywords are case-insensitive`() throws {
        try check(
            """
            SeLeCt Abc.dEf FrOm Cars As C wHeRe :Xyz Is nOt NuLl
            SELECT Abc.dEf FROM Cars AS C WHERE :Xyz IS NOT NULL
            """)
    }

    @Test func `a parsed statement keeps its text`() throws {
        let text = " select *\tfrom a ; -- the end"
        #expect(try Parser.parse(text).text == text)
    }
}
