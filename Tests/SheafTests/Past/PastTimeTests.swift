import SheafDocument
import SheafEngine
import SheafStatements
import SheafStorage
import SheafTestSupport
import SheafText
import Testing

/// AS OF a time: the state after the last commit up to then.
@Suite struct PastTimeTests {
    /// A store with the commits at which `n` changed, and their times.
    private struct Commits {
        let scene: PastScene
        var times: [(n: Int64, time: UInt64)] = []

        init(_ scene: PastScene, count: Int64) throws {
            self.scene = scene
            for n in 0..<count {
                try scene.commit(
                    "INSERT INTO cars DOCUMENTS ({'_id': 1, 'n': \(n)}) ON ID CONFLICT DO UPDATE")
                times.append((n, scene.queries.snapshot().log.commitAt))
            }
        }

        /// Returns the value of `n` at a time; nil without the document.
        func n(at time: Value) throws -> Int64? {
            let rows = try scene.rows("SELECT * FROM cars AS OF :time", ["time": time])
            let found = try scene.rows(
                "SELECT * FROM cars AS OF :time WHERE _id = 1", ["time": time])
            #expect(rows == found)
            guard case .object(let row)? = rows.first, case .integer(let n)? = row["n"] else {
                return nil
            }
            return n
        }
    }

    private func text(_ time: UInt64) throws -> String {
        try #require(Moment(milliseconds: Int64(time))).text
    }

    @Test func `a state begins in the millisecond of its commit`() throws {
        let commits = try Commits(try PastScene(), count: 5)
        // The second round finds the commits of the first one in the cache.
        for _ in 0..<2 {
            for (n, time) in commits.times {
                for (offset, expected) in [(-1, n == 0 ? nil : n - 1), (0, n), (1, n), (9, n)] {
                    let time = Int64(time) + Int64(offset)
                    #expect(try commits.n(at: .integer(time)) == expected, "\(n) \(offset)")
                    #expect(try commits.n(at: .float(Double(time) + 0.5)) == expected)
                    #expect(try commits.n(at: .string(try text(UInt64(time)))) == expected)
                }
            }
        }
    }

    @Test func `times before the first commit have no documents, and future ones the newest`()
        throws
    {
        let commits = try Commits(try PastScene(), count: 3)
        for time: Value in [
            0, 1, -1, .integer(Int64(commits.times[0].time) - 1), "1970-01-01T00:00:00Z",
            "2020-02-29T00:00:00Z",
        ] {
            #expect(try commits.n(at: time) == nil, "\(time)")
        }
        for time: Value in ["2999-01-01T00:00:00Z", .integer(Int64(commits.scene.time) + 1_000)] {
            #expect(try commits.n(at: time) == 2)
        }
        // A time in the future is no longer that of the newest commit when it has passed.
        let time = commits.scene.time + 15
        #expect(try commits.n(at: .integer(Int64(time))) == 2)
        try commits.scene.commit("UPDATE cars SET n = 3")
        #expect(try commits.n(at: .integer(Int64(time))) == 3)
        try commits.scene.commit("UPDATE cars SET n = 4")
        #expect(try commits.n(at: .integer(Int64(time))) == 3)
    }

    @Test func `of several commits in a millisecond the last one has the state`() throws {
        let scene = try PastScene()
        let commits = try Commits(scene, count: 2)
        for n in 2..<5 { try scene.commitNow("UPDATE cars SET n = \(n)") }
        let time = scene.time
        try scene.commit("UPDATE cars SET n = 5")
        #expect(try commits.n(at: .integer(Int64(time) - 1)) == 0)
        #expect(try commits.n(at: .integer(Int64(time))) == 4)
    }

    @Test func `a clock that goes back does not reorder states`() throws {
        let scene = try PastScene()
        let commits = try Commits(scene, count: 2)
        let time = scene.time
        scene.clock.setWall(milliseconds: time - 1_000_000)
        try scene.commit("UPDATE cars SET n = 2")
        scene.clock.setWall(milliseconds: time + 100)
        try scene.commit("UPDATE cars SET n = 3")
        #expect(try commits.n(at: .integer(Int64(time) - 1)) == 0)
        #expect(try commits.n(at: .integer(Int64(time))) == 2)
        #expect(try commits.n(at: .integer(Int64(time) + 109)) == 2)
        #expect(try commits.n(at: .integer(Int64(time) + 110)) == 3)
    }

    @Test func `times are found across segments and after opening`() throws {
        let scene = try PastScene(segmentLength: 900)
        let commits = try Commits(scene, count: 40)
        #expect(scene.queries.snapshot().log.segments.files.count > 5)
        for round in 0..<2 {
            for (n, time) in commits.times {
                #expect(try commits.n(at: .integer(Int64(time))) == n)
                #expect(try commits.n(at: .integer(Int64(time) - 1)) == (n == 0 ? nil : n - 1))
            }
            if round == 0 { try scene.reopen() }
        }
    }

    @Test func `a time before the kept history is refused with the oldest time`() throws {
        let scene = try PastScene(
            history: HistoryHorizon(commits: 10, bytes: .max), segmentLength: 900)
        let commits = try Commits(scene, count: 60)
        // A time that was found before the compaction is forgotten, too.
        for (n, time) in commits.times { #expect(try commits.n(at: .integer(Int64(time))) == n) }
        try scene.compact()
        let log = scene.queries.snapshot().log
        let oldest = Int(log.compactedThrough)
        let first = try #require(
            commits.times.firstIndex { entry in Int(entry.n) + Int(scene.newest) - 59 == oldest })
        #expect(first > 10)
        for (index, (n, time)) in commits.times.enumerated() {
            guard index < first else {
                #expect(try commits.n(at: .integer(Int64(time))) == n)
                continue
            }
            for time in [time, commits.times[first].time - 1] {
                let error = try #require(
                    scene.error("SELECT * FROM cars AS OF :time", ["time": .integer(Int64(time))]))
                #expect(
                    error.message.hasPrefix(
                        "the log does not have the state of \(try text(time)) any more: it reaches "
                            + "back to commit \(oldest), of \(try text(commits.times[first].time))"),
                    "\(error.message)")
                #expect(error.hint?.contains("StoreOptions.history") == true)
                #expect(error.hint?.contains("--keep-commits") == true)
            }
        }
        #expect(try commits.n(at: .integer(Int64(commits.times[first].time))) == Int64(first))
    }

    @Test func `other values are no time`() throws {
        let scene = try PastScene()
        try scene.commit("INSERT INTO cars DOCUMENTS ({'_id': 1})")
        for value: Value in [
            "yesterday", "", "2026-13-01", .bool(true), .null, [1], .float(.nan), .float(.infinity),
            .integer(.max),
        ] {
            let error = try #require(
                scene.error("SELECT * FROM cars AS OF :time", ["time": value]), "\(value)")
            #expect(error.reason == .argument)
            #expect(error.message.hasPrefix("AS OF takes a time such as"), "\(error.message)")
            #expect(error.hint?.contains("AS OF COMMIT") == true)
        }
        let error = try #require(scene.error("SELECT * FROM cars AS OF 5"))
        #expect(error.reason == .syntax)
    }
}
