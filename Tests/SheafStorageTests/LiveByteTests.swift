import SheafStorage
import SheafTestSupport
import Testing

/// Tests of the live bytes that a store counts, across flushes, compactions and openings.
@Suite struct LiveByteTests {
    private let volume = SimulatedVolume(seed: 22)

    /// Opens a store in which each commit has its own segment.
    private func open(_ volume: SimulatedVolume? = nil) throws -> StoreEngine {
        var options = SmallStore.options(seed: 22)
        options.segmentLength = 1
        options.history = HistoryHorizon(commits: 0, bytes: .max)
        options.freeGarbage = 1 << 40
        return try StoreEngine(opening: volume ?? self.volume, options: options)
    }

    /// Appends a put of 23 bytes.
    private func put(_ key: UInt8, to engine: StoreEngine) throws {
        var batch = WriteBatch()
        try batch.put([1, key], [7])
        _ = try engine.append(batch)
    }

    /// Appends a delta of 27 bytes.
    private func extend(_ key: UInt8, in engine: StoreEngine) throws {
        var batch = WriteBatch()
        try batch.extend([1, key], [7, 7, 7, 7, 7])
        _ = try engine.append(batch)
    }

    @Test func `the bases of superseded deltas are garbage once all of them are durable`() throws {
        let engine = try open()
        try put(1, to: engine)
        try put(2, to: engine)
        try engine.flush()
        try extend(1, in: engine)
        try extend(1, in: engine)
        #expect(engine.liveByteCount == 2 * 23 + 2 * 27)
        try put(1, to: engine)
        // The newest delta is garbage at once, and its bases once they can be read.
        #expect(engine.liveByteCount == 3 * 23 + 27)
        #expect(engine.checkLiveBytes() == [])
        #expect(engine.liveByteCount == 3 * 23 + 27)
        try engine.flush()
        for _ in 0..<2 {
            #expect(engine.checkLiveBytes() == [])
            #expect(engine.liveByteCount == 2 * 23)
        }
        // The bases are in the published part of the log, but the put is pending.
        try extend(2, in: engine)
        try engine.flush()
        try put(2, to: engine)
        #expect(engine.liveByteCount == 3 * 23)
        #expect(engine.checkLiveBytes() == [])
        try engine.flush()
        #expect(engine.checkLiveBytes() == [])
        #expect(engine.liveByteCount == 2 * 23)
        try engine.close()
    }

    @Test func `the bases of deltas that the replayed log supersedes are subtracted once`() throws {
        let engine = try open()
        try put(1, to: engine)
        try extend(1, in: engine)
        try extend(1, in: engine)
        try put(2, to: engine)
        try engine.flush()
        try engine.writeCheckpoint()
        try put(1, to: engine)
        try engine.flush()
        let again = try open(volume.processDeath())
        #expect(again.recovery.usedCheckpoint == FileName.name(ofCheckpoint: 4))
        // The put and the first delta still count.
        #expect(again.liveByteCount == 3 * 23 + 27)
        for _ in 0..<2 {
            #expect(again.checkLiveBytes() == [])
            #expect(again.liveByteCount == 2 * 23)
        }
        try again.close()
        try engine.close()
    }

    @Test func `counts of a checkpoint are added up for files that were merged since`() throws {
        let engine = try open()
        for key in 1...6 as ClosedRange<UInt8> { try put(key, to: engine) }
        try put(2, to: engine)
        try engine.flush()
        try engine.writeCheckpoint()
        engine.compactEverything()
        while try engine.compactionStep() {}
        #expect(engine.liveByteCount == 6 * 23)
        #expect(engine.checkLiveBytes() == [])
        try put(3, to: engine)
        try engine.flush()
        let again = try open(volume.processDeath())
        #expect(again.recovery.usedCheckpoint == FileName.name(ofCheckpoint: 7))
        #expect(again.snapshot().segments.files.map(\.header.kind) == [.base, .log, .log])
        #expect(again.liveByteCount == 6 * 23)
        #expect(again.checkLiveBytes() == [])
        // Compaction of all files, after which the counts begin with a single one.
        again.compactEverything()
        while try again.compactionStep() {}
        #expect(again.snapshot().segments.files.map(\.header.kind) == [.base])
        #expect(again.liveByteCount == 6 * 23)
        #expect(again.checkLiveBytes() == [])
        try again.close()
        try engine.close()
    }

    @Test func `wrong counts are reported for each file, and in total if that differs`() throws {
        let engine = try open()
        for key in 1...3 as ClosedRange<UInt8> { try put(key, to: engine) }
        try engine.flush()
        try engine.writeCheckpoint()
        let image = volume.processDeath().snapshotFiles()
        try engine.close()
        let name = FileName.name(ofCheckpoint: 3)
        let checkpoint = try #require(image[name])
        func file(_ segment: UInt32, _ count: Int) -> String {
            "\(count) live bytes counted in the file of segment \(segment), but 23 found"
        }
        for (counts, reports) in [
            ([23, 23, 23], []), ([28, 23, 18], [file(1, 28), file(3, 18)]),
            ([23, 24, 23], [file(2, 24), "70 live bytes counted in total, but 69 found"]),
        ] as [([UInt64], [String])] {
            var bytes = checkpoint
            // Entries of sixteen bytes at the end of the checkpoint, each with a length at 8.
            for (index, count) in counts.enumerated() {
                bytes = FormatVectorBytes.setting(
                    bytes, 8, at: bytes.count - 48 + 16 * index + 8, to: count)
            }
            var files = image
            files[name] = FormatVectorBytes.sealingCheckpoint(bytes)
            let again = try open(SimulatedVolume(files: files))
            #expect(again.recovery.usedCheckpoint == name)
            #expect(again.checkLiveBytes() == reports)
            // Nothing is compared while a commit is pending.
            try put(1, to: again)
            #expect(again.checkLiveBytes() == [])
            try again.close()
        }
    }
}
