import SheafBytes
import SheafDocument
import SheafEngine
import SheafStatements
import SheafStorage
import SheafTestSupport
import Testing

/// The cache of the earlier states that statements have read.
@Suite struct PastCacheTests {
    private let scene: PastScene
    private let states: PastStates
    private let first: UInt64

    init() throws {
        scene = try PastScene(
            history: HistoryHorizon(commits: 12, bytes: .max), segmentLength: 900)
        states = PastStates(scene.clock.clock)
        try scene.commit("CREATE INDEX n ON cars (n)")
        first = try scene.commit("INSERT INTO cars DOCUMENTS ({'_id': 1, 'n': 0})")
        for n in 1..<20 { try scene.commit("UPDATE cars SET n = \(n)") }
    }

    private func state(_ number: UInt64) throws -> DocumentSnapshot {
        let state = try states.state(asOf: first + number, from: scene.queries.snapshot())
        #expect(state.log.commit == first + number)
        let key = try #require(try state.key(collection: "cars", id: 1))
        let fields = try state.document(key)?.read { bytes throws(Malformed) in
            try EncodedDocument(bytes).existingFields()?.value(state.names)
        }
        #expect(fields == ["n": .integer(Int64(number))])
        return state
    }

    @Test func `a state is kept for ten seconds after its last use`() throws {
        let state = try state(5)
        #expect(try self.state(5).log === state.log)
        scene.clock.advance(milliseconds: 9_999)
        states.dropUnused()
        #expect(try self.state(5).log === state.log)
        scene.clock.advance(milliseconds: 10_000)
        states.dropUnused()
        #expect(try self.state(5).log === state.log)
        scene.clock.advance(milliseconds: 10_001)
        states.dropUnused()
        #expect(try self.state(5).log !== state.log)
    }

    @Test func `the two states that were used last are kept`() throws {
        let (five, six) = (try state(5), try state(6))
        #expect(try state(5).log === five.log)
        #expect(try state(6).log === six.log)
        #expect(try state(5).log === five.log)
        let seven = try state(7)
        #expect(try state(5).log === five.log)
        #expect(try state(7).log === seven.log)
        #expect(try state(6).log !== six.log)
    }

    @Test func `a newer commit changes no earlier state`() throws {
        let (five, nineteen) = (try state(5), try state(19))
        try scene.commit("UPDATE cars SET n = 20")
        try scene.commit("CREATE INDEX m ON cars (m)")
        #expect(try state(5).log === five.log)
        // The newest state became an earlier one.
        #expect(try state(19).log !== nineteen.log || state(19).log.commit == first + 19)
        #expect(try state(20).log.commit == first + 20)
    }

    @Test func `each state is correct, in whatever order states are read`() throws {
        for number in [19, 3, 12, 4, 11, 5, 10, 6, 9, 7, 8, 18, 1, 0, 2] as [UInt64] {
            _ = try state(number)
        }
    }

    @Test func `a kept state reads the files of a compaction`() throws {
        let kept = try state(15)
        try scene.compact()
        let newest = scene.queries.snapshot()
        #expect(newest.log.compactedThrough > first)
        let state = try state(15)
        #expect(state.log !== kept.log)
        #expect(state.log.segments === newest.log.segments)
        #expect(try self.state(15).log === state.log)
        #expect(try self.state(14).log.segments === newest.log.segments)
    }

    @Test func `a new segment does not replace a kept state`() throws {
        let kept = try state(15)
        let count = scene.queries.snapshot().log.segments.files.count
        var n = 20
        while scene.queries.snapshot().log.segments.files.count == count {
            try scene.commit("UPDATE cars SET n = \(n)")
            n += 1
        }
        #expect(try state(15).log === kept.log)
    }

    @Test func `an older snapshot does not read later states`() throws {
        let old = scene.queries.snapshot()
        try scene.commit("UPDATE cars SET n = 20")
        try scene.commit("UPDATE cars SET n = 21")
        _ = try state(20)
        let state = try states.state(asOf: first + 18, from: old)
        #expect(state.log.commit == first + 18)
        #expect(try states.state(asOf: old.log.commit, from: old).log === old.log)
    }
}
