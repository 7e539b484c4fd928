import SheafBytes
import SheafStorage
import SheafTestSupport
import Testing

/// Compaction: the history it keeps, the data it drops, and the snapshots readers hold.
@Suite struct HistoryTests {
    private let volume = SimulatedVolume(seed: 3)
    private let clock = FakeClock()

    private func engine(
        _ history: HistoryHorizon = HistoryHorizon(commits: 0, bytes: .max),
        segmentLength: Int = 1_000
    ) throws -> StoreEngine {
        var options = LogStoreOptions()
        options.clock = clock.clock
        options.segmentLength = segmentLength
        options.history = history
        return try StoreEngine(opening: volume, options: options)
    }

    private func put(_ key: String, _ payload: String, _ engine: StoreEngine) throws {
        var batch = WriteBatch()
        try batch.put(Array(key.utf8), Array(payload.utf8))
        _ = try engine.append(batch)
        try engine.flush()
    }

    private func remove(_ keys: [String], _ engine: StoreEngine) throws {
        var batch = WriteBatch()
        for key in keys { try batch.remove(Array(key.utf8)) }
        _ = try engine.append(batch)
        try engine.flush()
    }

    private func compact(_ engine: StoreEngine) throws {
        engine.compactEverything()
        while try engine.compactionStep() {}
    }

    private func payload(_ key: String, in snapshot: LogSnapshot) throws -> String? {
        let key = Array(key.utf8)
        return try key.span.withUnsafeBytes { try snapshot.payload(of: $0) }.map {
            String(decoding: $0, as: UTF8.self)
        }
    }

    /// Returns the payloads of a key, newest first, as far as the log contains them.
    private func history(of key: String, in snapshot: LogSnapshot) throws -> [String] {
        let key = Array(key.utf8)
        var payloads: [String] = []
        var position =
            key.span.withUnsafeBytes { snapshot.recordPointer(of: $0) }?.position ?? .none
        while position != .none, let operation = try snapshot.segments.operation(at: position) {
            payloads.append(String(decoding: operation.payload, as: UTF8.self))
            position = operation.previous
        }
        return payloads
    }

    @Test func `a snapshot is unaffected by compactions, checkpoints and removed files`() throws {
        let engine = try engine()
        var snapshots: [LogSnapshot] = []
        for round in 0..<12 {
            for number in 0..<10 { try put("key\(number)", "\(round).\(number)", engine) }
            if round % 3 == 2 { try remove(["key\(round % 10)"], engine) }
            snapshots.append(engine.snapshot())
            try compact(engine)
            try engine.writeCheckpoint()
            try engine.trimSealedSegments()
            try engine.prepareNextSegment()
        }
        try engine.close()
        for (round, snapshot) in snapshots.enumerated() {
            for number in 0..<10 {
                let isRemoved = round % 3 == 2 && number == round % 10
                let expected = isRemoved ? nil : "\(round).\(number)"
                #expect(try payload("key\(number)", in: snapshot) == expected, "round \(round)")
            }
        }
    }

    @Test func `the history of the requested number of commits is kept`() throws {
        let engine = try engine(HistoryHorizon(commits: 20, bytes: .max))
        for number in 1...200 { try put("key", "\(number)", engine) }
        try compact(engine)
        let history = try history(of: "key", in: engine.snapshot())
        #expect(history == (1...200).reversed().prefix(history.count).map { "\($0)" })
        // The kept history includes the replaced operation before it and the rest of its segment.
        #expect((21..<60).contains(history.count), "\(history.count)")
    }

    @Test func `the history of the requested number of bytes is kept`() throws {
        let engine = try engine(HistoryHorizon(commits: .max, bytes: 5_000))
        for number in 1...200 { try put("key", "\(number)", engine) }
        try compact(engine)
        let snapshot = engine.snapshot()
        let history = try history(of: "key", in: snapshot)
        // Fifty commits need about 5,000 bytes, including headers and footers of segments.
        #expect((40..<70).contains(history.count), "\(history.count)")
    }

    @Test func `the history of the requested time is kept`() throws {
        let engine = try engine(
            HistoryHorizon(commits: .max, bytes: .max, milliseconds: 60_000))
        for number in 1...100 { try put("key", "old \(number)", engine) }
        clock.advance(milliseconds: 59_000)
        try compact(engine)
        #expect(try history(of: "key", in: engine.snapshot()).count == 100)
        for number in 1...20 { try put("key", "new \(number)", engine) }
        clock.advance(milliseconds: 2_000)
        try compact(engine)
        let history = try history(of: "key", in: engine.snapshot())
        #expect(history.count < 60, "\(history.count)")
        #expect(history.prefix(20) == (1...20).reversed().map { "new \($0)" }[...])
    }

    @Test func `many tiny segments are merged into few files`() throws {
        for number in 0..<40 {
            let engine = try engine()
            try put("key\(number)", "payload", engine)
            try engine.close()
        }
        #expect(volume.snapshotFiles().count >= 40)
        let engine = try engine()
        while try engine.compactionStep() {}
        #expect(engine.snapshot().segments.files.count <= 10)
        #expect(engine.snapshot().count == 40)
        try engine.close()
        #expect(volume.snapshotFiles().count <= 12)
    }

    @Test func `an often overwritten store with 320 KiB of live data stays below 6 MiB`() throws {
        let engine = try engine(
            HistoryHorizon(commits: 10, bytes: 64 << 10), segmentLength: 256 << 10)
        let payload = [UInt8](repeating: 3, count: 16 << 10)
        var largest = 0
        for number in 0..<1_500 {
            var batch = WriteBatch()
            try batch.put(Array("key\(number % 20)".utf8), payload)
            _ = try engine.append(batch)
            try engine.flush()
            guard number % 10 == 9 else { continue }
            try engine.trimSealedSegments()
            while try engine.compactionStep(budget: 1 << 20) {}
            largest = max(
                largest, volume.snapshotFiles().values.reduce(0) { $0 + $1.count })
        }
        // 24 MiB were written; 320 KiB are live.
        #expect(largest < 6 << 20, "\(largest)")
        try engine.close()
    }

    @Test func `a store keeps the position up to which compaction dropped removals`() throws {
        let engine = try engine()
        func removal() -> LogPosition? {
            Array("gone".utf8).span.withUnsafeBytes { engine.snapshot().removal(of: $0) }?.position
        }
        func fill() throws {
            for number in 0..<40 { try put("key\(number)", "payload", engine) }
        }
        try put("gone", "payload", engine)
        try remove(["gone"], engine)
        let dropped = try #require(removal())
        #expect(engine.snapshot().removalsCompactedThrough == LogPosition.none)
        // Later compactions of the base file keep the position.
        for _ in 0..<3 {
            try fill()
            try compact(engine)
            try engine.writeCheckpoint()
        }
        // Sealed segments that are not compacted follow the base file.
        try fill()
        let snapshot = engine.snapshot()
        #expect(removal() == nil)
        #expect(snapshot.segments.files.dropFirst().contains { $0.footer != nil })
        #expect(snapshot.removalsCompactedThrough >= dropped)
        #expect(snapshot.removalsCompactedThrough < snapshot.end)
        try engine.close()
    }

    @Test func `removed keys eventually disappear from the log and the tree`() throws {
        var engine = try engine()
        for number in 0..<50 { try put("secret\(number)", "payload\(number)", engine) }
        try put("other", "payload", engine)
        try remove((0..<50).map { "secret\($0)" }, engine)
        try engine.close()
        engine = try self.engine()
        // The first compaction keeps the removals for older checkpoints.
        try compact(engine)
        try engine.writeCheckpoint()
        try engine.close()
        engine = try self.engine()
        try compact(engine)
        #expect(engine.snapshot().count == 1)
        // A checkpoint of a snapshot that is older than the removals that compaction dropped.
        try engine.writeCheckpoint()
        try engine.writeCheckpoint()
        try engine.close()
        engine = try self.engine()
        #expect(engine.recovery.usedCheckpoint != nil)
        #expect(engine.snapshot().tree.count(in: .all) == 1)
        try put("another", "payload", engine)
        try engine.writeCheckpoint()
        try engine.close()
        for (name, bytes) in volume.snapshotFiles() {
            let text = String(decoding: bytes.filter { (0x20..<0x7F).contains($0) }, as: UTF8.self)
            #expect(!text.contains("secret"), "\(name)")
        }
    }
}
