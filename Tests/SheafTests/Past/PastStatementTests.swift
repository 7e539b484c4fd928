import Sheaf
import SheafDocument
import SheafEngine
import SheafQuery
import SheafReplication
import SheafStatements
import SheafStorage
import SheafTestSupport
import Testing

/// Statements with AS OF: their sources, their numbers of commits, and refused uses.
@Suite struct PastStatementTests {
    @Test func `each source of a join reads its own commit`() throws {
        let scene = try PastScene()
        let first = try scene.commit("INSERT INTO cars DOCUMENTS ({'_id': 1, 'n': 10})")
        let second = try scene.commit(
            "INSERT INTO cars DOCUMENTS ({'_id': 1, 'n': 20}), ({'_id': 2, 'n': 5}) "
                + "ON ID CONFLICT DO UPDATE")
        try scene.commit("UPDATE cars SET n = 30 WHERE _id = 1")
        try scene.commit("DELETE FROM cars WHERE _id = 2")
        let arguments: [String: Value] = [
            "first": .integer(Int64(first)), "second": .integer(Int64(second)),
        ]
        let rows = try scene.rows(
            """
            SELECT b._id AS id, a.n AS a, b.n AS b, c.n AS c FROM cars AS OF COMMIT :second AS b
            LEFT JOIN cars AS OF COMMIT :first AS a ON a._id = b._id
            LEFT JOIN cars AS c ON c._id = b._id ORDER BY id
            """, arguments)
        #expect(rows == [["id": 1, "a": 10, "b": 20, "c": 30], ["id": 2, "b": 5]])
        let gone = try scene.rows(
            """
            SELECT b._id AS id FROM cars AS OF COMMIT :second b LEFT JOIN cars c ON c._id = b._id
            WHERE c IS MISSING
            """, arguments)
        #expect(gone == [["id": 2]])
        let new = try scene.rows(
            """
            SELECT b._id AS id FROM cars AS OF COMMIT :second b
            LEFT JOIN cars AS OF COMMIT :first a ON a._id = b._id WHERE a IS MISSING
            """, arguments)
        #expect(new == [["id": 2]])
    }

    @Test func `an index finds the documents of an earlier state, and of no other`() throws {
        let scene = try PastScene()
        try scene.commit("CREATE INDEX n ON cars (n)")
        let first = try scene.commit(
            "INSERT INTO cars DOCUMENTS ({'_id': 1, 'n': 1}), ({'_id': 2, 'n': 1})")
        try scene.commit("UPDATE cars SET n = 2 WHERE _id = 1")
        try scene.commit("DELETE FROM cars WHERE _id = 2")
        let third = try scene.commit("INSERT INTO cars DOCUMENTS ({'_id': 3, 'n': 1})")
        try scene.commit("EVICT FROM cars WHERE _id = 3")
        for _ in 0..<2 {
            func ids(_ n: Int, _ commit: UInt64) throws -> [Value] {
                try scene.rows(
                    "SELECT _id FROM cars AS OF COMMIT \(commit) USE INDEX n WHERE n = \(n) "
                        + "ORDER BY _id")
            }
            #expect(try ids(1, first) == [["_id": 1], ["_id": 2]])
            #expect(try ids(1, first + 1) == [["_id": 2]])
            #expect(try ids(2, first + 1) == [["_id": 1]])
            #expect(try ids(1, third) == [["_id": 3]])
            #expect(try ids(1, third + 1) == [])
            let plan = try scene.rows(
                "EXPLAIN SELECT * FROM cars AS OF COMMIT \(first) WHERE n = 1")
            #expect("\(plan)".contains("\"commit\":\(first)"))
            // The plan of a statement that is repeated is not that of another state.
            try scene.commit("DROP INDEX IF EXISTS n ON cars")
            #expect(try ids(1, first) == [["_id": 1], ["_id": 2]])
            try scene.commit("CREATE INDEX n ON cars (n)")
        }
    }

    @Test func `an earlier state lacks later changes of few among many documents`() throws {
        let scene = try PastScene(segmentLength: 8_000)
        for first in stride(from: 0, to: 1_200, by: 50) {
            let documents = (first..<first + 50).map { "({'_id': \($0), 'n': 0})" }
            try scene.commit("INSERT INTO cars DOCUMENTS \(documents.joined(separator: ", "))")
        }
        var states = [(commit: scene.newest, documents: [Int: Int64](), gone: Set<Int>())]
        for number in 0..<12 {
            var (_, documents, gone) = states[number]
            let id = number * 37
            switch number % 4 {
            case 0: try scene.commit("DELETE FROM cars WHERE _id = \(id)")
            case 1: try scene.commit("EVICT FROM cars WHERE _id = \(id)")
            default: try scene.commit("UPDATE cars SET n = \(number) WHERE _id = \(id)")
            }
            if number % 4 < 2 { gone.insert(id) } else { documents[id] = Int64(number) }
            states.append((scene.newest, documents, gone))
        }
        // Their log is shorter than four bytes per key, so it is read instead of all keys.
        let length = try scene.rows(
            "SELECT SUM(bytes) AS bytes FROM system:log WHERE commit > \(states[0].commit)")
        guard case .object(let sum)? = length.first, case .integer(let bytes)? = sum["bytes"] else {
            Issue.record("the log has no length")
            return
        }
        #expect(bytes < 4 * scene.queries.snapshot().log.count)
        // Each state is made from the newest one, then some are made from each other.
        for isKept in [false, true] {
            for (commit, documents, gone) in isKept ? states.reversed() : states {
                scene.clock.advance(milliseconds: isKept ? 0 : 20_000)
                _ = try scene.rows("SELECT * FROM system:dual")
                let rows = try scene.rows("SELECT * FROM cars AS OF COMMIT \(commit)")
                #expect(rows.count == 1_200 - gone.count, "commit \(commit)")
                for case .object(let row) in rows {
                    guard case .integer(let id)? = row["_id"] else { continue }
                    #expect(!gone.contains(Int(id)))
                    #expect(row["n"] == .integer(documents[Int(id)] ?? 0), "\(id) at \(commit)")
                }
            }
        }
    }

    @Test func `the commit is a literal, an argument or an expression without fields`() throws {
        let scene = try PastScene()
        let commit = try scene.commit("INSERT INTO cars DOCUMENTS ({'_id': 1, 'n': 1})")
        try scene.commit("UPDATE cars SET n = 2")
        for operand in ["\(commit)", ":n", "(:n)", "(\(commit + 1) - 1)", "(:n + 0)"] {
            for condition in ["", " WHERE _id = 1", " WHERE n = 1"] {
                #expect(
                    try scene.rows(
                        "SELECT * FROM cars AS OF COMMIT \(operand)\(condition)",
                        ["n": .integer(Int64(commit))]) == [["_id": 1, "n": 1]],
                    "\(operand)\(condition)")
            }
        }
        #expect(try scene.rows("SELECT * FROM cars AS OF COMMIT 0") == [])
        #expect(try scene.rows("SELECT * FROM cars AS OF COMMIT 0 WHERE _id = 1") == [])
    }

    @Test(arguments: ["", " WHERE _id = 1"])
    func `other values are no number of a commit`(condition: String) throws {
        let scene = try PastScene()
        let commit = try scene.commit("INSERT INTO cars DOCUMENTS ({'_id': 1, 'n': 1})")
        let text = "SELECT * FROM cars AS OF COMMIT :n\(condition)"
        let wrong: [(Value, String)] = [
            (-1, "-1"), (.integer(.min), "-9223372036854775808"), (.float(1), "1.0"),
            (.float(1.5), "1.5"), (.float(.nan), "null"), (.float(.infinity), "null"),
            (.string("1"), "\"1\""), (.bool(true), "true"), (.null, "null"), ([1], "[1]"),
        ]
        for (value, shown) in wrong {
            let error = try #require(scene.error(text, ["n": value]), "\(value)")
            #expect(error.reason == .argument)
            #expect(
                error.message.hasPrefix("AS OF COMMIT takes the number of a commit, not \(shown)"),
                "\(error.message)")
        }
        for number in [Int64(commit) + 1, .max] {
            let error = try #require(scene.error(text, ["n": .integer(number)]))
            #expect(error.reason == .argument)
            #expect(
                error.message.hasPrefix("there is no commit \(number): the last one is \(commit)"),
                "\(error.message)")
        }
        #expect(scene.error(text)?.reason == .argument)
        for literal in ["-1", "1.5", "'1'x", "x", "NULL", "", "n + 1", "99999999999999999999"] {
            let text = "SELECT * FROM cars AS OF COMMIT \(literal)\(condition)"
            #expect(scene.error(text) != nil, "\(text)")
        }
        #expect(scene.error("SELECT * FROM cars AS OF COMMIT (n)\(condition)") != nil)
        #expect(scene.error("SELECT * FROM cars AS OF COMMIT '1'\(condition)")?.reason == .argument)
    }

    @Test(arguments: [
        "UPDATE cars AS OF COMMIT 1 SET n = 2", "DELETE FROM cars AS OF COMMIT 1 WHERE _id = 1",
        "EVICT FROM cars AS OF COMMIT 1 WHERE _id = 1",
        "INSERT INTO cars AS OF COMMIT 1 DOCUMENTS ({'_id': 2})",
        "CREATE INDEX i ON cars AS OF COMMIT 1 (n)", "SELECT * FROM system:dual AS OF COMMIT 1",
        "SELECT * FROM system:history AS OF COMMIT 1",
    ])
    func `only collections that are read have earlier states`(text: String) throws {
        let scene = try PastScene()
        let commit = try scene.commit("INSERT INTO cars DOCUMENTS ({'_id': 1, 'n': 1})")
        let error = try #require(scene.error(text))
        #expect([.syntax, .meaning].contains(error.reason), "\(error)")
        #expect(scene.newest == commit)
    }

    @Test func `an insertion copies documents of an earlier state`() throws {
        let scene = try PastScene()
        let commit = try scene.commit("INSERT INTO cars DOCUMENTS ({'_id': 1, 'n': 1})")
        try scene.commit("UPDATE cars SET n = 2")
        try scene.commit("INSERT INTO old SELECT * FROM cars AS OF COMMIT \(commit)")
        #expect(try scene.rows("SELECT * FROM old") == [["_id": 1, "n": 1]])
    }

    @Test func `a point lookup reads each state of its document`() throws {
        let scene = try PastScene()
        var states: [(commit: UInt64, rows: [Value])] = [(0, [])]
        func note() throws {
            states.append((scene.newest, try scene.rows("SELECT * FROM cars WHERE _id = 'a'")))
        }
        for text in [
            "INSERT INTO other DOCUMENTS ({'_id': 'a', 'n': 9})",
            "INSERT INTO cars DOCUMENTS ({'_id': 'a', 'n': 1, 'o': {'p': 1}})",
            "UPDATE cars SET n = 2", "UPDATE cars SET o.p = 5, q = [1]",
            "UPDATE COLLECTION cars (c COUNTER) APPLY c INCREMENT BY 3",
            "UPDATE COLLECTION cars (c COUNTER) APPLY c INCREMENT BY 4", "UPDATE cars UNSET o",
            "DELETE FROM cars WHERE _id = 'a'",
            "INSERT INTO cars DOCUMENTS ({'_id': 'a', 'r': true})", "UPDATE cars SET r = false",
            "EVICT FROM cars WHERE _id = 'a'", "INSERT INTO cars DOCUMENTS ({'_id': 'b'})",
            "INSERT INTO cars DOCUMENTS ({'_id': 'a', 's': 'x'})",
        ] {
            try scene.commit(text)
            try note()
        }
        #expect(Set(states.map { "\($0.rows)" }).count == 10)
        for (commit, rows) in states.shuffled() + states {
            let arguments: [String: Value] = ["n": .integer(Int64(commit)), "id": "a"]
            for condition in ["_id = 'a'", "'a' = _id", "_id = :id", "_id = :id AND TRUE"] {
                let found = try scene.rows(
                    "SELECT * FROM cars AS OF COMMIT :n WHERE \(condition)", arguments)
                #expect(found == rows, "\(condition) AS OF \(commit)")
            }
        }
    }

    @Test func `an earlier state cannot be observed or subscribed to`() async throws {
        let peer = try await Peer.inMemory(
            configuration: PeerConfiguration(databaseID: "past", key: PeerKey.random()))
        try await peer.store.execute("INSERT INTO cars DOCUMENTS ({'_id': 1})")
        for text in [
            "SELECT * FROM cars AS OF COMMIT 1", "SELECT * FROM cars AS OF '2026-01-01'",
            "SELECT * FROM vans v JOIN cars AS OF COMMIT 1 c ON c._id = v._id",
        ] {
            let error = try #require(throws: StoreError.self) {
                try peer.store.observe(DQL(verbatim: text)) { _ in }
            }
            #expect(error.message.contains("cannot be observed"))
            #expect(throws: StoreError.self) {
                try peer.sync.registerSubscription(DQL(verbatim: text))
            }
        }
        try await peer.close()
    }
}
