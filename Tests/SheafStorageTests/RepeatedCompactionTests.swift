import SheafStorage
import SheafTestSupport
import Testing

/// The growth of the log after which a base file with garbage is compacted again.
@Suite struct RepeatedCompactionTests {
    private func engine(history: Int) throws -> StoreEngine {
        var options = SmallStore.options(seed: 6)
        options.segmentLength = 32 << 10
        options.history = HistoryHorizon(commits: 0, bytes: history)
        // All garbage is excessive.
        options.liveShare = 1
        options.freeGarbage = 0
        return try StoreEngine(opening: SimulatedVolume(seed: 6), options: options)
    }

    private func put(_ numbers: Range<Int>, _ engine: StoreEngine) throws {
        for number in numbers {
            var batch = WriteBatch()
            try batch.put([1, UInt8(number)], [UInt8](repeating: UInt8(number), count: 2_500))
            _ = try engine.append(batch)
            try engine.flush()
        }
    }

    @Test(arguments: [0, 1 << 20])
    func `a base file is kept until the log grows by a quarter of it, and by the kept history`(
        history: Int
    ) throws {
        let engine = try engine(history: history)
        try put(0..<40, engine)
        engine.compactEverything()
        while try engine.compactionStep() {}
        let base = engine.snapshot().segments.files[0]
        try #require(base.header.kind == .base)
        // A sixth of the base file becomes garbage.
        try put(0..<6, engine)
        #expect(engine.isGarbageExcessive())
        #expect(try !engine.compactionStep())
        // The log has grown by more than a quarter of the base file.
        try put(6..<16, engine)
        #expect(try engine.compactionStep() == (history == 0))
        #expect((engine.snapshot().segments.files[0] === base) == (history > 0))
        try engine.close()
    }
}
