import SheafDocument
import SheafEngine
import SheafStatements
import SheafStorage
import SheafTestSupport
import Testing

/// The rows of `system:history` and `system:log`.
@Suite struct HistoryRowTests {
    private func values(_ rows: [Value], _ name: String) -> [Value?] {
        rows.map { row in if case .object(let row) = row { row[name] } else { nil } }
    }

    @Test func `each change has its action, its fields, its site and its time`() throws {
        let scene = try PastScene()
        let site = scene.queries.documents.site.text
        let first = try scene.commit(
            "INSERT INTO cars DOCUMENTS ({'_id': 1, 'a': 1, 'o': {'b': 1}}), ({'_id': 2})")
        let time = scene.time
        try scene.commit("INSERT INTO vans DOCUMENTS ({'_id': 1, 'v': 1})")
        try scene.commit("UPDATE cars SET o.b = 2, c = 3 WHERE _id = 1")
        try scene.commit("UPDATE cars UNSET a WHERE _id = 1")
        try scene.commit("DELETE FROM cars WHERE _id = 1")
        try scene.commit("EVICT FROM cars WHERE _id = 2")
        try scene.commit("INSERT INTO cars DOCUMENTS ({'_id': 1, 'd': 1}), ({'_id': 2, 'e': 1})")
        let rows = try scene.rows(
            "SELECT commit, collection AS name, document AS id, action, fields FROM system:history")
        let expected: [(UInt64, String, Value, String, [Value])] = [
            (0, "cars", 1, "insert", ["a", "o.b"]), (0, "cars", 2, "insert", []),
            (1, "vans", 1, "insert", ["v"]), (2, "cars", 1, "update", ["o.b", "c"]),
            (3, "cars", 1, "update", ["a"]), (4, "cars", 1, "delete", []),
            (5, "cars", 2, "evict", []), (6, "cars", 1, "insert", ["d"]),
            (6, "cars", 2, "insert", ["e"]),
        ]
        #expect(rows.count == expected.count)
        for (row, change) in zip(rows, expected) {
            guard case .object(let row) = row, case .array(let fields)? = row["fields"] else {
                Issue.record("a row is no object with fields: \(row)")
                continue
            }
            #expect(row["commit"] == .integer(Int64(first + change.0)))
            #expect(row["name"] == .string(change.1) && row["id"] == change.2)
            #expect(row["action"] == .string(change.3), "\(row)")
            #expect(Set(fields) == Set(change.4), "\(row)")
        }
        let own = try scene.rows(
            "SELECT site, isLocal, time, writtenAt FROM system:history WHERE commit = \(first)")
        let at = Value.integer(Int64(time))
        let shown: Value = [
            "site": .string(site), "isLocal": true, "time": at, "writtenAt": at,
        ]
        #expect(own == [shown, shown])
        let eviction = try scene.rows(
            "SELECT site, writtenAt FROM system:history WHERE action = 'evict'")
        #expect(eviction == [["site": .null, "writtenAt": .null]])
    }

    @Test func `a document written anew by one commit lists the fields that it lost`() throws {
        for removal in ["DELETE FROM cars WHERE _id = 1", "EVICT FROM cars WHERE _id = 1"] {
            let scene = try PastScene()
            try scene.commit("INSERT INTO cars DOCUMENTS ({'_id': 1, 'a': 1, 'b': {'c': 1}})")
            let commit = try scene.commit(together: [
                removal, "INSERT INTO cars DOCUMENTS ({'_id': 1, 'b': 2, 'd': 3})",
            ])
            #expect(try scene.rows("SELECT * FROM cars") == [["_id": 1, "b": 2, "d": 3]])
            let rows = try scene.rows(
                "SELECT fields FROM system:history WHERE commit = \(commit)")
            #expect(rows.count == 1)
            guard case .object(let row)? = rows.first, case .array(let fields)? = row["fields"]
            else {
                Issue.record("no fields: \(rows)")
                return
            }
            #expect(Set(fields).isSuperset(of: ["a", "b", "d"]), "\(removal): \(fields)")
        }
    }

    @Test func `a commit that spans segments has each of its changes once`() throws {
        let scene = try PastScene(segmentLength: 2_000, recordLength: 500)
        var commits: [UInt64] = []
        for round in 0..<3 {
            let documents = (0..<60).map { "({'_id': \($0 + round * 100), 'n': \(round)})" }
            commits.append(
                try scene.commit(
                    "INSERT INTO cars DOCUMENTS \(documents.joined(separator: ", "))"))
            try scene.commit("UPDATE cars SET n = 9 WHERE _id = 5")
        }
        for order in ["", " ORDER BY commit DESC"] {
            for (round, commit) in commits.enumerated() {
                let rows = try scene.rows(
                    "SELECT document FROM system:history WHERE commit = \(commit)" + order)
                #expect(
                    Set(values(rows, "document"))
                        == Set((0..<60).map { .integer(Int64($0 + round * 100)) }))
                #expect(rows.count == 60)
            }
            let files = scene.queries.snapshot().log.segments.files
            #expect(files.count > 6)
            let counts = try scene.rows(
                "SELECT documents FROM system:log WHERE documents > 0" + order)
            #expect(counts.count == 6)
        }
    }

    @Test func `a malformed origin is damage with its file`() throws {
        let origin = CommitOrigin(
            stamp: Stamp(HybridTime(milliseconds: 5), Site(rawValue: 0xAB)),
            peer: Site(rawValue: 0xCD), commit: 7)
        for bytes in [Array(origin.bytes.dropLast()), origin.bytes + [0], []] {
            let scene = try PastScene()
            try scene.commit("INSERT INTO cars DOCUMENTS ({'_id': 1})")
            var batch = WriteBatch()
            try batch.put(StoreKey.origin.bytes, bytes)
            let commit = try scene.engine.append(batch)
            try scene.flush()
            for name in ["history", "log"] {
                let error = try #require(
                    scene.error("SELECT * FROM system:\(name) WHERE commit = \(commit)"))
                #expect(error.reason == .damaged)
                #expect(
                    error.message.contains("the origin of commit \(commit) is malformed"),
                    "\(error.message)")
                #expect(error.message.contains("0000000001.log:"), "\(error.message)")
                #expect(scene.error("SELECT * FROM system:\(name) WHERE commit < \(commit)") == nil)
            }
        }
        let scene = try PastScene()
        var batch = WriteBatch()
        try batch.put(StoreKey.origin.bytes, origin.bytes)
        let commit = try scene.engine.append(batch)
        try scene.flush()
        #expect(
            try scene.rows("SELECT site, isLocal FROM system:log WHERE commit = \(commit)")
                == [["site": "00000000000000ab", "isLocal": false]])
    }

    @Test func `a compacted commit has no time, and its sender may be unknown`() throws {
        let scene = try PastScene(
            history: HistoryHorizon(commits: 1, bytes: .max), segmentLength: 900)
        for id in 0..<30 {
            try scene.commit("INSERT INTO cars DOCUMENTS ({'_id': \(id), 'n': 1})")
        }
        try scene.compact()
        let compacted = try scene.rows(
            "SELECT time, isLocal, isCompacted FROM system:log WHERE isCompacted")
        #expect(compacted.count > 10)
        let unknown: Value = ["time": .null, "isLocal": .null, "isCompacted": true]
        #expect(compacted.allSatisfy { $0 == unknown })
        let rows = try scene.rows("SELECT time, isLocal, document AS id FROM system:history")
        #expect(values(rows, "id") == (0..<30).map { .integer($0) })
        #expect(values(rows, "time").filter { $0 == .null }.count == compacted.count)
        #expect(values(rows, "isLocal").filter { $0 == .null }.count == compacted.count)
        #expect(values(rows, "isLocal").filter { $0 == true }.count == 30 - compacted.count)
    }
}
