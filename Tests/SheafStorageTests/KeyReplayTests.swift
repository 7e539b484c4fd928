import SheafStorage
import SheafTestSupport
import Testing

/// Tests of the keys that opening a store reads from the log, with and without a checkpoint.
@Suite struct KeyReplayTests {
    private static func open(
        _ volume: SimulatedVolume, seed: UInt64, segmentLength: Int = 704
    ) throws -> StoreEngine {
        var options = SmallStore.options(seed: seed)
        options.segmentLength = segmentLength
        options.freeGarbage = 1 << 40
        return try StoreEngine(opening: volume, options: options)
    }

    /// The keys of a store, and the lengths of the live operations of each.
    private struct Model {
        /// The length of a put and of its deltas, or that of a removal.
        var lengths: [[UInt8]: [Int]] = [:]
        var present: Set<[UInt8]> = []

        var liveLength: Int { lengths.values.reduce(0) { $0 + $1.reduce(0, +) } }

        /// Adds a random change of a key to a batch.
        mutating func change(
            _ key: [UInt8], _ batch: inout WriteBatch, _ random: inout SeededRandom
        ) throws {
            let payload = random.bytes(random.below(20))
            let length = 20 + key.count + payload.count
            if random.chance(1, in: 5) {
                try batch.remove(key)
                present.remove(key)
                lengths[key] = [20 + key.count]
            } else if present.contains(key), random.chance(2, in: 3) {
                try batch.extend(key, payload)
                lengths[key, default: []].append(length)
            } else {
                try batch.put(key, payload)
                present.insert(key)
                lengths[key] = [length]
            }
        }
    }

    /// Returns keys that often begin with each other, or differ in a late byte only.
    ///
    /// They have a common prefix, unless `seed` is odd.
    private static func keys(_ seed: UInt64, _ random: inout SeededRandom) -> [[UInt8]] {
        let values: [UInt8] = [0, 1, 0x80, 0xFF]
        let prefix = [7] + random.bytes(random.below(12))
        return (0..<20).map { _ in
            let first = seed % 2 == 0 ? prefix : [UInt8(1 + random.below(4))]
            return first
                + (0..<random.below(11)).map { _ in
                    random.chance(3, in: 4) ? 0 : values[random.below(4)]
                }
        }
    }

    /// Returns the pointer of each key of the tree; removed keys have a zero byte as prefix.
    private static func pointers(_ snapshot: LogSnapshot) -> [[UInt8]: RecordPointer] {
        var pointers: [[UInt8]: RecordPointer] = [:]
        snapshot.tree.forEach { key, value in
            pointers[Array(key)] = RecordPointer(value)
            return true
        }
        return pointers
    }

    /// Opens files with their checkpoints and without, and compares the keys with those of a store.
    private static func compare(
        _ engine: StoreEngine, _ files: [String: [UInt8]], seed: UInt64, liveLength: Int
    ) throws {
        let expected = pointers(engine.snapshot())
        for usesCheckpoint in [false, true] {
            let kept = files.filter { usesCheckpoint || !$0.key.hasSuffix(".checkpoint") }
            let again = try open(SimulatedVolume(files: kept), seed: seed)
            #expect((again.recovery.usedCheckpoint != nil) == usesCheckpoint)
            let found = pointers(again.snapshot())
            #expect(found == expected, "seed \(seed)")
            #expect(again.snapshot().commit == engine.snapshot().commit)
            if !usesCheckpoint { #expect(again.liveByteCount == liveLength, "seed \(seed)") }
            #expect(again.checkLiveBytes() == [], "seed \(seed)")
            #expect(again.liveByteCount == liveLength, "seed \(seed)")
            try again.close()
        }
    }

    @Test func `opening finds the same keys in the log as in a checkpoint and the log after it`()
        throws
    {
        for seed in 0..<40 as Range<UInt64> {
            var random = SeededRandom(seed: seed, "replayed keys")
            let volume = SimulatedVolume(seed: seed)
            let engine = try Self.open(volume, seed: seed)
            let keys = Self.keys(seed, &random)
            var model = Model()
            for round in 0..<12 {
                var batch = WriteBatch()
                for _ in 0...random.below(8) {
                    try model.change(keys[random.below(keys.count)], &batch, &random)
                }
                _ = try engine.append(batch)
                try engine.flush()
                // Some checkpoints are before the end of the base file.
                if round == Int(seed % 8) { try engine.writeCheckpoint() }
            }
            #expect(engine.checkLiveBytes() == [], "seed \(seed)")
            #expect(engine.liveByteCount == model.liveLength, "seed \(seed)")
            let image = volume.processDeath().snapshotFiles()
            try Self.compare(engine, image, seed: seed, liveLength: model.liveLength)
            // Base files have the same operations; removals are dropped up to the checkpoint.
            engine.compactEverything()
            while try engine.compactionStep() {}
            var batch = WriteBatch()
            try batch.put([9], [])
            _ = try engine.append(batch)
            try engine.flush()
            #expect(engine.checkLiveBytes() == [], "seed \(seed)")
            let compacted = volume.processDeath().snapshotFiles()
            try Self.compare(engine, compacted, seed: seed, liveLength: engine.liveByteCount)
            try engine.close()
        }
    }

    @Test func `a key whose first change is a delta has no other live bytes`() throws {
        // A crafted log, in which the kind of an operation is changed. Records of 88 bytes follow
        // the header of 128 bytes, and their operations have 23, or 22 if they are removals.
        for (log, offset, liveLength) in [
            ([(1, true)], 192, 23), ([(1, true), (2, true)], 192, 46),
            ([(1, true), (2, true)], 280, 46), ([(1, true), (1, true)], 280, 46),
            ([(1, true), (1, false), (1, true)], 368, 23),
            ([(1, true), (2, false), (1, true)], 368, 68),
        ] as [([(key: UInt8, isPut: Bool)], Int, Int)] {
            let volume = SimulatedVolume(seed: 23)
            let engine = try Self.open(volume, seed: 23)
            for (key, isPut) in log {
                var batch = WriteBatch()
                if isPut { try batch.put([1, key], [7]) } else { try batch.remove([1, key]) }
                _ = try engine.append(batch)
                try engine.flush()
            }
            try engine.close()
            let files = volume.snapshotFiles()
            let name = FileName.name(ofSegment: 1)
            var changed = files
            let put = try #require(files[name])
            #expect(put[offset] == Operation.Kind.put.rawValue)
            changed[name] = FormatVectorBytes.setting(put, 1, at: offset, to: 3)
            let sealed = FormatVectorChecksums(files).sealing(changed)
            let again = try Self.open(SimulatedVolume(files: sealed), seed: 23)
            #expect(again.snapshot().commit == CommitID(log.count))
            #expect(again.liveByteCount == liveLength, "\(log) at \(offset)")
            #expect(again.checkLiveBytes() == [], "\(log) at \(offset)")
            try again.close()
        }
    }
}
