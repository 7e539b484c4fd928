/// Statements of all kinds, for tests that corrupt them.
enum SampleStatements {
    static let all: [String] = """
        SELECT * FROM cars
        SELECT * FROM COLLECTION cars WHERE color = :color
        SELECT DISTINCT make, count(*) AS n FROM cars GROUP BY make HAVING count(*) > 1
        SELECT a, b.c x FROM t ORDER BY a DESC, b.c LIMIT 10 OFFSET 5;
        SELECT * FROM cars (features MAP(style REGISTER), n COUNTER) WHERE features.style = 'x'
        SELECT * FROM cars USE IDS '1', '2'
        SELECT * FROM cars USE IDS LIST :ids USE INDEX 'ix'
        SELECT * FROM cars USE DIRECTIVES '{"#index": "ix"}'
        SELECT o.*, c.name FROM orders o LEFT OUTER JOIN customers c ON o.c = c._id WHERE o.n > 1
        SELECT * FROM a JOIN b USE INDEX '' ON a.x = b.y RIGHT JOIN c ON c.z
        SELECT a + b * -c / 2 % 3 || 'x' AS sum FROM t
        SELECT * FROM t WHERE NOT (a = 1 OR b != 2) AND c <> 3 OR d <= 4
        SELECT * FROM t WHERE a BETWEEN 1 AND 2 AND b NOT BETWEEN 3 AND 4
        SELECT * FROM t WHERE a IN (1, 2.5, 1e3) AND b NOT IN :list AND c IN [0xFF]
        SELECT * FROM t WHERE a LIKE 'x%' ESCAPE '!' OR b NOT ILIKE '_y' OR c SIMILAR TO '(a|b)*'
        SELECT * FROM t WHERE a IS NULL OR b IS NOT MISSING OR c IS UNKNOWN OR d IS TRUE
        SELECT ANY v IN a SATISFIES v > 1 END FROM t
        SELECT ANY AND EVERY v WITHIN a, w IN b SATISFIES v = w END FROM t
        SELECT ARRAY v.x FOR v IN a WHEN v.y END FROM t
        SELECT OBJECT v.k : v.v FOR v IN a END FROM t
        SELECT CASE WHEN a THEN 1 ELSE 2 END, CASE b WHEN 1 THEN 'x' END FROM t
        SELECT TRIM(BOTH 'x' FROM a), position('a' IN b), CAST(c AS integer) FROM t
        SELECT count(DISTINCT a.b), lower(upper('é\\u00e9\\n\\'')) FROM t
        SELECT `a b`.`c``d`, _id.x FROM `my table` AS `an alias`
        SELECT [1, 'a', [true, false], {k: null, 'l': missing}] FROM system:dual
        SELECT /*+ {"#max_scans": 1} */ * FROM a --+ {"b": [1, 2]}
        --+ {"a": {"b": "c"}}
        /* one */ SELECT /* two */ * FROM a
        EXPLAIN SELECT * FROM a WHERE b = -9223372036854775808
        PROFILE DELETE FROM a WHERE b
        ADVISE AND PROVISION SELECT * FROM a WHERE b > 9223372036854775807
        INSERT INTO cars DOCUMENTS ({_id: '1', a: 2}), (:doc)
        INSERT INTO COLLECTION cars (m MAP, r REGISTER) VALUES (:a) ON ID CONFLICT DO MERGE
        INSERT INTO cars VALUES ({}) ON ID CONFLICT DO UPDATE_LOCAL_DIFF RETURNING _id, a b
        INSERT INTO cars VALUES ({}) ON ID CONFLICT FAIL
        INSERT INTO cars INITIAL DOCUMENTS ({_id: 0})
        INSERT INTO cars SELECT a FROM b ON ID CONFLICT DO NOTHING
        UPDATE cars SET a = 1, b.c = {d: [e]} UNSET f, g.h WHERE i RETURNING *
        UPDATE COLLECTION cars (c COUNTER) APPLY c INCREMENT BY 1, d RESTART WITH 2 SET e = 3
        UPDATE cars APPLY a RESTART, b PN_INCREMENT BY -1
        UPDATE cars USE IDS 1 SET a -> tombstone(), b -> (c = 1, d -> default()), e -> increment(1)
        DELETE FROM cars WHERE a ORDER BY b LIMIT 1 OFFSET 2 RETURNING _id
        EVICT FROM COLLECTION cars (a MAP) USE IDS {'x': 1, 'y': 2} WHERE a
        CREATE INDEX IF NOT EXISTS ix ON cars (a, b.c DESC)
        CREATE INDEX ix ON cars (a)
        DROP INDEX IF EXISTS ix ON cars
        ALTER SYSTEM SET dql_strict_mode = true
        ALTER SYSTEM SET a TO DEFAULT
        ALTER SYSTEM RESET ALL
        SHOW ALL ILIKE 'dql%'
        SHOW dql_strict_mode
        """.split(separator: "\n").map(String.init)
}
