import SheafStorage
import SheafTestSupport
import Testing

/// Chains of one put and the delta records that follow it.
@Suite struct DeltaRecordTests {
    private let volume = SimulatedVolume(seed: 5)
    private let engine: StoreEngine

    init() throws {
        var options = LogStoreOptions()
        options.segmentLength = 1_000
        options.history = HistoryHorizon(commits: 0, bytes: .max)
        engine = try StoreEngine(opening: volume, options: options)
    }

    private enum Change {
        case put(String, String)
        case delta(String, String)
        case remove(String)
    }

    private func commit(_ changes: Change...) throws {
        var batch = WriteBatch()
        for change in changes {
            switch change {
            case .put(let key, let payload): try batch.put(Array(key.utf8), Array(payload.utf8))
            case .delta(let key, let payload):
                try batch.extend(Array(key.utf8), Array(payload.utf8))
            case .remove(let key): try batch.remove(Array(key.utf8))
            }
        }
        _ = try engine.append(batch)
        try engine.flush()
    }

    /// Returns the payloads of a key, newest first; nil if the state at `commit` is compacted away.
    private func payloads(
        _ key: String, in snapshot: LogSnapshot, asOf commit: CommitID? = nil
    ) throws -> [String]? {
        let key = Array(key.utf8)
        let found: [LoggedOperation]? = try key.span.withUnsafeBytes { key throws(StorageError) in
            guard let commit else { return try snapshot.operations(of: key) }
            return try snapshot.operations(of: key, asOf: commit)
        }
        return found?.map { String(decoding: $0.operation.payload, as: UTF8.self) }
    }

    private func expectRefused(_ key: String, _ changes: Change...) throws {
        var batch = WriteBatch()
        for change in changes {
            switch change {
            case .put(let key, let payload): try batch.put(Array(key.utf8), Array(payload.utf8))
            case .delta(let key, let payload):
                try batch.extend(Array(key.utf8), Array(payload.utf8))
            case .remove(let key): try batch.remove(Array(key.utf8))
            }
        }
        let before = engine.snapshot()
        #expect(throws: StorageError.noRecordForDelta(key: Array(key.utf8))) {
            try engine.append(batch)
        }
        #expect(try !engine.flush())
        #expect(engine.snapshot() === before)
    }

    @Test func `a key has its newest put and all later delta records`() throws {
        try commit(.put("a", "1"), .put("b", "only"))
        try commit(.delta("a", "2"), .delta("a", "3"))
        try commit(.put("c", "1"), .delta("c", "2"), .put("c", "3"), .delta("c", "4"))
        let snapshot = engine.snapshot()
        #expect(try payloads("a", in: snapshot) == ["3", "2", "1"])
        #expect(try payloads("b", in: snapshot) == ["only"])
        #expect(try payloads("c", in: snapshot) == ["4", "3"])
        #expect(try payloads("d", in: snapshot) == [])
        #expect(snapshot.count == 3)
        try commit(.put("a", "new"))
        #expect(try payloads("a", in: engine.snapshot()) == ["new"])
        #expect(try payloads("a", in: snapshot) == ["3", "2", "1"])
    }

    @Test func `reading a key with delta records as a single payload is refused`() throws {
        try commit(.put("a", "1"), .delta("a", "2"))
        let snapshot = engine.snapshot()
        let pointer = try #require(
            Array("a".utf8).span.withUnsafeBytes { snapshot.recordPointer(of: $0) })
        #expect(pointer.isDelta)
        #expect(throws: StorageError.deltaFollows(at: pointer.position)) {
            try Array("a".utf8).span.withUnsafeBytes { _ = try snapshot.payload(of: $0) }
        }
    }

    @Test func `a delta record for an absent key is refused with its complete batch`() throws {
        try commit(.put("a", "1"), .put("b", "1"))
        try commit(.remove("b"))
        try expectRefused("x", .put("a", "2"), .delta("x", "1"))
        try expectRefused("b", .delta("b", "1"))
        try expectRefused("a", .remove("a"), .delta("a", "2"))
        try expectRefused("x", .put("x", "1"), .delta("x", "2"), .remove("x"), .delta("x", "3"))
        try commit(.remove("a"), .put("a", "2"), .delta("a", "3"), .put("y", ""), .delta("y", ""))
        #expect(try payloads("a", in: engine.snapshot()) == ["3", "2"])
        #expect(try payloads("y", in: engine.snapshot()) == ["", ""])
        #expect(engine.snapshot().commit == 3)
    }

    @Test func `older states and the complete history of a key are readable`() throws {
        try commit(.put("a", "1"))
        try commit(.delta("a", "2"))
        try commit(.remove("a"), .put("b", "x"))
        try commit(.put("a", "3"), .delta("a", "4"))
        try commit(.delta("a", "5"))
        let snapshot = engine.snapshot()
        let expected = [[], ["1"], ["2", "1"], [], ["4", "3"], ["5", "4", "3"]]
        for (commit, state) in expected.enumerated() {
            let found = try payloads("a", in: snapshot, asOf: CommitID(commit))
            #expect(found == state, "commit \(commit)")
        }
        var history = Array("a".utf8).span.withUnsafeBytes { snapshot.history(of: $0) }
        var found: [String] = []
        while let logged = try history.next() {
            let payload = String(decoding: logged.operation.payload, as: UTF8.self)
            found.append("\(logged.commit) \(logged.operation.kind) \(payload)")
        }
        #expect(
            found == ["5 delta 5", "4 delta 4", "4 put 3", "3 remove ", "2 delta 2", "1 put 1"])
        #expect(!history.isCompactedAway)
    }

    @Test func `a state that was compacted away is unknown, not damaged`() throws {
        try commit(.put("a", String(repeating: "1", count: 800)))
        try commit(.delta("a", String(repeating: "2", count: 800)))
        let segments = engine.snapshot().segments.files.count
        try commit(.put("a", String(repeating: "3", count: 800)))
        try commit(.put("b", String(repeating: "4", count: 800)))
        try #require(segments == 2)
        engine.compactEverything()
        while try engine.compactionStep() {}
        let snapshot = engine.snapshot()
        #expect(snapshot.compactedThrough >= 3)
        #expect(try payloads("a", in: snapshot, asOf: 2) == nil)
        #expect(try payloads("a", in: snapshot, asOf: snapshot.compactedThrough)?.count == 1)
    }
}
