import SheafStorage
import SheafTestSupport
import Testing

/// The growth of the log after which a base file with garbage is compacted again.
@Suite struct RepeatedCompactionTests {
    private func engine(
        history: Int, _ volume: SimulatedVolume = SimulatedVolume(seed: 6),
        segmentLength: Int = 32 << 10
    ) throws -> StoreEngine {
        var options = SmallStore.options(seed: 6)
        options.segmentLength = segmentLength
        options.history = HistoryHorizon(commits: 0, bytes: history)
        // All garbage is excessive.
        options.liveShare = 1
        options.freeGarbage = 0
        return try StoreEngine(opening: volume, options: options)
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

    /// Commits a put whose record has this length before its padding.
    private func put(_ key: [UInt8], recordLength: Int, _ engine: StoreEngine) throws {
        var batch = WriteBatch()
        let count = recordLength - 64 - 20 - key.count
        try batch.put(key, [UInt8](repeating: 5, count: count))
        _ = try engine.append(batch)
        try engine.flush()
    }

    @Test func `the growth that makes a compaction worthwhile is counted to the byte`() throws {
        // A quarter of the base file is 184 bytes.
        for (history, lengths, isDue) in [
            (0, [88, 88], false), (0, [88, 96], true), (184, [88, 96], true),
            (185, [88, 96], false), (192, [96, 96], true), (193, [96, 96], false),
        ] as [(Int, [Int], Bool)] {
            let volume = SimulatedVolume(seed: 6)
            let first = try self.engine(history: history, volume, segmentLength: 1 << 20)
            for key in 1...8 as ClosedRange<UInt8> {
                try put([1, key], recordLength: 87, first)
            }
            try first.close()
            // No segment but the one in use follows the base file.
            let engine = try self.engine(history: history, volume, segmentLength: 1 << 20)
            engine.compactEverything()
            while try engine.compactionStep() {}
            let base = try #require(engine.snapshot().segments.files.first)
            // A compacted record with entries of 24 bytes and operations of 23, and the directory.
            let length = 128 + 64 + 8 * (24 + 23) + 64 + 16
            #expect(base.footer?.contentLength == length && length + 88 == 4 * 184)
            for (number, length) in lengths.enumerated() {
                try put([2, UInt8(number)], recordLength: length, engine)
            }
            #expect(engine.isGarbageExcessive())
            #expect(try engine.compactionStep() == isDue, "\(history), \(lengths)")
            #expect(try !engine.compactionStep())
            #expect((engine.snapshot().segments.files.first === base) == !isDue)
            try engine.close()
        }
    }
}
