import SheafDocument
import SheafEngine
import SheafStatements
import SheafStorage
import SheafTestSupport
import Testing

/// Conditions on `system:history` and `system:log`, some of which limit what is read of the log.
@Suite struct HistoryBoundTests {
    private let scene: PastScene

    init() throws {
        scene = try PastScene(segmentLength: 900)
        for n in 0..<25 {
            try scene.commit(
                "INSERT INTO \(n % 3 == 0 ? "vans" : "cars") DOCUMENTS ({'_id': \(n % 4), 'n': \(n)}) "
                    + "ON ID CONFLICT DO UPDATE")
        }
        try scene.commit("INSERT INTO cars DOCUMENTS ({'_id': 'x'}), ({'_id': [1, 'y']})")
    }

    /// Returns the rows with a condition that cannot limit what is read.
    private func all(_ name: String, _ condition: String) throws -> [Value] {
        let hidden = condition.replacing("commit", with: "(commit + 0)")
            .replacing("collection", with: "(collection || '')")
            .replacing("document", with: "coalesce(document, NULL)")
        return try scene.rows("SELECT * FROM system:\(name) WHERE \(hidden) ORDER BY commit, _id")
    }

    private func check(_ name: String, _ condition: String) throws {
        let expected = try all(name, condition)
        let found = try scene.rows(
            "SELECT * FROM system:\(name) WHERE \(condition) ORDER BY commit, _id")
        #expect(found == expected, "\(name) \(condition)")
        let backward = try scene.rows(
            "SELECT * FROM system:\(name) WHERE \(condition) ORDER BY commit DESC")
        #expect(Set(backward) == Set(expected) && backward.count == expected.count)
        func commits(_ rows: [Value]) -> [Value?] {
            rows.map { row in if case .object(let row) = row { row["commit"] } else { nil } }
        }
        #expect(commits(backward) == commits(expected).reversed(), "\(name) \(condition)")
        let last = try scene.rows(
            "SELECT * FROM system:\(name) WHERE \(condition) ORDER BY commit DESC LIMIT 3 OFFSET 1")
        #expect(last == Array(backward.dropFirst().prefix(3)), "\(name) \(condition)")
    }

    private static let commitConditions = [
        "TRUE", "commit > 5", "commit >= 5", "commit < 5", "commit <= 5", "commit = 5",
        "5 < commit", "5 >= commit", "commit = 5 AND commit = 6", "commit > 5 AND commit < 9",
        "commit > 5 AND commit < 6", "commit >= 5 AND commit <= 5", "commit > 9 AND commit < 5",
        "commit >= 7 AND commit < 7", "commit BETWEEN 3 AND 8", "commit BETWEEN 8 AND 3",
        "commit NOT BETWEEN 3 AND 8", "commit = 0", "commit > 0", "commit < 0", "commit = -1",
        "commit > -1", "commit < 1", "commit <= 1", "commit > 9223372036854775807",
        "commit = 1000", "commit > 1000", "commit < 1000", "commit > 26", "commit >= 26",
        "commit > 5.5", "commit < 5.5", "commit = 5.0", "commit >= 5.0", "commit = '5'",
        "commit > '5'", "commit = NULL", "commit IN (3, 5)", "NOT commit > 5",
        "commit > 20 OR commit < 3", "(commit > 3 AND commit < 20) AND commit != 9",
        "commit > 2 + 3", "commit < 9 AND commit < 7 AND commit < 8", "commit = MISSING",
    ]

    @Test(arguments: commitConditions)
    func `conditions on commits have the rows that match`(condition: String) throws {
        try check("log", condition)
        try check("history", condition)
    }

    @Test(arguments: [
        "collection = 'cars'", "collection = 'vans' AND commit > 9", "collection = 'none'",
        "collection = 5", "collection != 'cars'", "collection = 'cars' AND document = 1",
        "collection = 'vans' AND document = 1 AND commit < 9", "document = 1",
        "document = 2 AND commit > 4", "collection = 'cars' AND document = 'x'",
        "collection = 'cars' AND document = [1, 'y']", "collection = 'cars' AND document = 99",
        "collection = 'cars' AND document = 1.0", "collection = 'cars' AND document = NULL",
        "collection = 'cars' AND document = 1.5", "collection = 'cars' AND collection = 'vans'",
        "document = 1 AND document = 2", "collection = 'cars' OR document = 1",
        "collection = 'cars' AND document > 1", "'cars' = collection AND 3 = document",
    ])
    func `conditions on documents have the rows that match`(condition: String) throws {
        try check("history", condition)
    }

    @Test func `bounds may be arguments, and joins read rows without bounds`() throws {
        let some = try scene.rows(
            "SELECT commit FROM system:log WHERE commit > :low AND commit <= :high",
            ["low": 4, "high": 6])
        #expect(some == [["commit": 5], ["commit": 6]])
        let joined = try scene.rows(
            """
            SELECT l.commit AS commit, h.document AS id FROM system:log l
            JOIN system:history h ON h.commit = l.commit WHERE l.commit > 4 AND l.commit < 7
            ORDER BY commit
            """)
        #expect(joined.count == 2)
    }

    @Test func `commits outside the bounds are not read`() throws {
        let files = scene.queries.snapshot().log.segments.files
        let damaged = files[files.count / 2]
        let newest = scene.newest
        try scene.engine.writeCheckpoint()
        try scene.engine.close()
        var content = scene.volume.snapshotFiles()
        content[damaged.name]?[SegmentHeader.length + Record.headerLength + 10] ^= 1
        let queries = try QueryEngine(
            reading: try LogReader(SimulatedVolume(seed: 9, files: content)))
        func rows(_ text: String) throws -> Int {
            let (statement, values) = try queries.prepare(DQL(verbatim: text), [:])
            return try queries.execute(statement, values).count
        }
        // Rows of later commits may need earlier operations of their documents.
        let first = damaged.header.firstCommit
        for name in ["log", "history"] {
            #expect(throws: StoreError.self) { try rows("SELECT * FROM system:\(name)") }
            #expect(throws: StoreError.self) {
                try rows("SELECT * FROM system:\(name) WHERE commit <= \(first)")
            }
            for condition in [
                "commit < \(first)", "commit <= \(first - 1)", "commit = \(first - 1)",
            ] {
                #expect(try rows("SELECT * FROM system:\(name) WHERE \(condition)") > 0)
            }
            for condition in [
                "commit > \(newest - 1)", "commit >= \(newest)", "commit = \(newest)",
            ] {
                #expect(try rows("SELECT * FROM system:\(name) WHERE \(condition)") > 0)
            }
            #expect(try rows("SELECT * FROM system:\(name) ORDER BY commit DESC LIMIT 1") == 1)
        }
    }
}
