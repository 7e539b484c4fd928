import SheafSimulator
import SheafStorage
import SheafSystem
import SheafTestSupport
import Synchronization
import Testing

/// Tests of a store without threads: its counts, its times, and the lengths of its files.
@Suite struct StoreEngineTests {
    private let volume = SimulatedVolume(seed: 10)
    private let clock = FakeClock(wallMilliseconds: 5_000)

    private func open() throws -> StoreEngine {
        try StoreEngine(opening: volume, options: options())
    }

    private func options(segmentLength: Int? = 4_096) -> LogStoreOptions {
        var options = SmallStore.options(seed: 10)
        options.clock = clock.clock
        options.segmentLength = segmentLength
        return options
    }

    /// Returns a batch with a put of 24 bytes, whose record has 88 bytes.
    private func batch(_ number: UInt8) throws -> WriteBatch {
        var batch = WriteBatch()
        try batch.put([1, number], [number, number])
        return batch
    }

    private func append(_ number: UInt8, to engine: StoreEngine) throws {
        _ = try engine.append(batch(number))
    }

    private func size(of name: String) -> Int? {
        volume.snapshotFiles()[name]?.count
    }

    @Test func `the counts of pending and live bytes follow appends and flushes`() throws {
        let engine = try open()
        #expect(engine.tailSegment == 0 && engine.begunSegment == 0)
        #expect(engine.lastCommit == 0 && engine.durableCommit == 0)
        #expect(engine.pendingLength == 0 && !engine.hasPendingCommits)
        #expect(try !engine.flush())
        // A header of 128 bytes precedes the first record.
        for (number, length) in [(1, 216), (2, 304), (2, 392)] as [(UInt8, Int)] {
            try append(number, to: engine)
            #expect(engine.pendingLength == length && engine.hasPendingCommits)
        }
        #expect(engine.tailSegment == 1 && engine.begunSegment == 0)
        #expect(engine.lastCommit == 3 && engine.durableCommit == 0 && engine.pendingCommits == 3)
        #expect(engine.liveByteCount == 48)
        #expect(try engine.flush())
        #expect(engine.pendingLength == 0 && !engine.hasPendingCommits)
        #expect(engine.durableCommit == 3 && engine.pendingCommits == 0)
        #expect(engine.begunSegment == 1)
        #expect(engine.snapshot().end == LogPosition(segment: 1, offset: 392))
        try append(3, to: engine)
        #expect(engine.pendingLength == 88 && engine.pendingCommits == 1)
        #expect(engine.liveByteCount == 72)
        try engine.close()
        let again = try open()
        #expect(again.tailSegment == 1 && again.begunSegment == 0)
        #expect(again.lastCommit == 4 && again.durableCommit == 4 && again.pendingCommits == 0)
        #expect(again.liveByteCount == 72)
        try append(4, to: again)
        #expect(again.tailSegment == 2)
        try again.close()
    }

    @Test func `the statistics have the number, the bytes and the times of flushes`() throws {
        let time = Mutex<UInt64>(1_000)
        var end: UInt64 = 0
        // The first change of the disk in a flush takes its complete time.
        let observed = ObservedVolume(volume) { time.withLock { $0 = max($0, end) } }
        var options = options()
        options.clock = Clock(
            wallMilliseconds: { 5_000 }, monotonicNanoseconds: { time.withLock { $0 } })
        let engine = try StoreEngine(opening: observed, options: options)
        #expect(engine.flushStatistics.count == 0 && engine.flushStatistics.byteCount == 0)
        var found: [[UInt64]] = []
        for (number, duration) in [(1, 500), (2, 900), (3, 300)] as [(UInt8, UInt64)] {
            try append(number, to: engine)
            end = time.withLock { $0 } + duration
            #expect(try engine.flush())
            let all = engine.flushStatistics
            found.append([
                all.count, all.byteCount, all.nanoseconds, all.lastNanoseconds,
                all.longestNanoseconds,
            ])
        }
        #expect(try !engine.flush())
        #expect(
            found == [
                [1, 216, 500, 500, 500], [2, 304, 1_400, 900, 900], [3, 392, 1_700, 300, 900],
            ])
        #expect(engine.flushStatistics.count == 3)
        try engine.close()
    }

    @Test func `the time of a commit never decreases, and is at least that of its batch`() throws {
        let engine = try open()
        for (number, wall, earliest, expected) in [
            (1, 5_000, 0, 5_000), (2, 4_000, 0, 5_000), (3, 4_500, 7_000, 7_000),
            (4, 6_000, 6_500, 7_000), (5, 7_001, 0, 7_001), (6, 9_000, 8_000, 9_000),
        ] as [(UInt8, UInt64, UInt64, UInt64)] {
            clock.setWall(milliseconds: wall)
            var batch = try batch(number)
            batch.earliestTime = earliest
            _ = try engine.append(batch)
            #expect(engine.appendedAt == expected, "commit \(number)")
            try engine.flush()
            #expect(engine.snapshot().commitAt == expected, "commit \(number)")
        }
        try engine.close()
        clock.setWall(milliseconds: 1_000)
        let again = try open()
        #expect(again.appendedAt == 9_000 && again.snapshot().commitAt == 9_000)
        try append(7, to: again)
        #expect(again.appendedAt == 9_000)
        try again.close()
    }

    @Test func `a segment has records up to exactly its length`() throws {
        // A header of 128 bytes, a footer of 88, and three records of 88.
        for (length, expected) in [
            (480, [1, 1, 1, 2, 2, 2, 3]), (479, [1, 1, 2, 2, 3, 3, 4]),
        ] as [(Int, [UInt32])] {
            for flushesEach in [true, false] {
                let engine = try StoreEngine(
                    opening: SimulatedVolume(seed: 10), options: options(segmentLength: length))
                var segments: [UInt32] = []
                for number in 1...7 as ClosedRange<UInt8> {
                    try append(number, to: engine)
                    if flushesEach { try engine.flush() }
                    segments.append(engine.tailSegment)
                }
                #expect(segments == expected, "\(length) bytes")
                try engine.close()
                #expect(engine.snapshot().count == 7)
            }
        }
    }

    /// Returns a batch whose record and the header of its segment have `length` bytes.
    private func batch(filling length: Int) throws -> WriteBatch {
        var batch = WriteBatch()
        // The headers of the segment, the record and the operation, and the key.
        try batch.put([1], [UInt8](repeating: 1, count: length - 128 - 64 - 20 - 1))
        return batch
    }

    /// Appends short records to an engine whose first segment is full, and returns their segments.
    private func segments(
        after length: Int, flushesEach: Bool
    ) throws -> [UInt32] {
        var options = options(segmentLength: 480)
        // Segments of a bulk load have twice this length.
        options.bulkFlushLength = 1 << 20
        let engine = try StoreEngine(opening: SimulatedVolume(seed: 10), options: options)
        _ = try engine.append(batch(filling: length))
        #expect(engine.pendingLength == length)
        var segments: [UInt32] = []
        for number in 1...8 as ClosedRange<UInt8> {
            if flushesEach { try engine.flush() }
            try append(number, to: engine)
            segments.append(engine.tailSegment)
        }
        try engine.close()
        #expect(engine.snapshot().count == 9)
        return segments
    }

    @Test func `segments that begin in a long flush have the length for bulk loads`() throws {
        // The footer of the first segment takes 88 bytes, and the bound is 128 KiB.
        let short = try segments(after: 130_976, flushesEach: false)
        #expect(short == [2, 2, 2, 3, 3, 3, 3, 3])
        let long = try segments(after: 130_984, flushesEach: false)
        #expect(long == [2, 2, 2, 2, 2, 2, 2, 2])
    }

    @Test func `segments that begin after long flushes have the length for bulk loads`() throws {
        // The average of a single flush is an eighth of it.
        let short = try segments(after: 1_048_568, flushesEach: true)
        #expect(short == [2, 2, 2, 3, 3, 3, 4, 4])
        let long = try segments(after: 1_048_576, flushesEach: true)
        #expect(long == [2, 2, 2, 2, 2, 2, 2, 2])
    }

    @Test func `a segment that begins within a batch counts the records before it as live`()
        throws
    {
        // 17 MiB are live before the second record, and its segment has a sixteenth of them.
        for (length, segment) in [(1_113_808, 2), (1_113_816, 3)] as [(Int, UInt32)] {
            let engine = try StoreEngine(
                opening: SimulatedVolume(seed: 10), options: options(segmentLength: nil))
            var batch = WriteBatch()
            try batch.put([2], [UInt8](repeating: 1, count: 17_825_771))
            try batch.put([1, 1], [1, 1])
            _ = try engine.append(batch)
            #expect(engine.tailSegment == 2)
            // A header, the second record, this one and a footer fill the segment.
            _ = try engine.append(self.batch(filling: 128 + length))
            #expect(engine.tailSegment == segment, "\(length)")
            try engine.close()
        }
    }

    @Test func `the file of the first segment has its length from the beginning`() throws {
        for (length, size) in [(4_096, 4_096), (2 << 20, 1 << 20)] {
            let volume = SimulatedVolume(seed: 10)
            let engine = try StoreEngine(opening: volume, options: options(segmentLength: length))
            try append(1, to: engine)
            try engine.flush()
            #expect(volume.snapshotFiles()["0000000001.log"]?.count == size)
            try engine.close()
        }
    }

    @Test func `segments are filled with zeros only while flushes are short`() throws {
        // The average of a single flush is an eighth of it; the bound is 128 KiB.
        for (length, filled) in [(1_048_576, 0), (1_048_568, 65_536)] {
            let volume = SimulatedVolume(seed: 10)
            let engine = try StoreEngine(
                opening: volume, options: options(segmentLength: 64 << 10))
            var batch = WriteBatch()
            // The headers of the segment, the record and the operation, and the key.
            try batch.put([1], [UInt8](repeating: 1, count: length - 128 - 64 - 20 - 1))
            _ = try engine.append(batch)
            #expect(engine.pendingLength == length)
            try engine.flush()
            try engine.prepareNextSegment()
            #expect(volume.snapshotFiles()["0000000002.log"]?.count == filled, "\(length)")
            try engine.close()
        }
    }

    @Test func `segments of a bulk load are long once 128 KiB of its flush are pending`() throws {
        // A segment with one record has 4,096 bytes, or 4,088.
        for (length, expected) in [(3_880, 33), (3_872, 34)] as [(Int, UInt32)] {
            var options = options(segmentLength: 1)
            options.bulkFlushLength = 1 << 20
            let engine = try StoreEngine(opening: SimulatedVolume(seed: 10), options: options)
            for _ in 0..<40 {
                var batch = WriteBatch()
                try batch.put([1], [UInt8](repeating: 1, count: length - 64 - 20 - 1))
                _ = try engine.append(batch)
            }
            #expect(engine.tailSegment == expected, "\(length)")
            try engine.close()
            #expect(engine.snapshot().commit == 40)
        }
    }

    @Test func `the length of segments is a mebibyte, or a sixteenth of the live bytes`() throws {
        let engine = try StoreEngine(opening: volume, options: options(segmentLength: nil))
        try append(1, to: engine)
        try engine.flush()
        try engine.prepareNextSegment()
        #expect(size(of: "0000000002.log") == 1_048_576)
        var batch = WriteBatch()
        // With its header and key, the operation has 17 MiB.
        try batch.put([2], [UInt8](repeating: 1, count: 17_825_771))
        _ = try engine.append(batch)
        try engine.flush()
        // Many short flushes, after which segments are filled with zeros again.
        for _ in 0..<30 {
            try append(1, to: engine)
            try engine.flush()
        }
        #expect(engine.liveByteCount == 17_825_816)
        try engine.prepareNextSegment()
        let next = FileName.name(ofSegment: engine.tailSegment + 1)
        #expect(size(of: next) == 1_114_113)
        try engine.close()
    }

    @Test func `the usage has sealed files, twice the next segment, and checkpoints`() throws {
        var options = options(segmentLength: 480)
        options.liveShare = 0.5
        options.freeGarbage = 100
        let engine = try StoreEngine(opening: volume, options: options)
        #expect(engine.usage().directoryBytes == 0 && engine.usage().liveBytes == 0)
        for number in 1...4 as ClosedRange<UInt8> {
            try append(number, to: engine)
            try engine.flush()
        }
        // The first segment is sealed, with a length of 480 bytes.
        #expect(engine.usage().directoryBytes == 480 + 960 && engine.usage().liveBytes == 96)
        #expect(abs(engine.garbagePressure() - 4.9315) < 0.0001)
        try engine.writeCheckpoint()
        let name = FileName.name(ofCheckpoint: 4)
        let checkpoint = try #require(size(of: name))
        #expect(engine.usage().directoryBytes == 1_440 + checkpoint)
        try append(1, to: engine)
        try engine.flush()
        try engine.writeCheckpoint()
        #expect(engine.usage().directoryBytes == 1_440 + 2 * checkpoint)
        try engine.close()
        let again = try StoreEngine(opening: volume, options: options)
        // The second segment is sealed with two records.
        #expect(again.usage().directoryBytes == 480 + 392 + 2 * checkpoint)
        #expect(again.usage().liveBytes == 96)
        try again.close()
    }

    @Test func `garbage is excessive above nine tenths of the allowed size`() throws {
        // One segment counts 9,000 bytes, and 24 live bytes allow 48.
        for (free, isExcessive) in [(9_952, false), (9_951, true)] {
            var options = options(segmentLength: 4_500)
            options.liveShare = 0.5
            options.freeGarbage = free
            let engine = try StoreEngine(opening: SimulatedVolume(seed: 10), options: options)
            try append(1, to: engine)
            try engine.flush()
            #expect(engine.isGarbageExcessive() == isExcessive, "\(free)")
            try engine.close()
        }
    }

    @Test func `writers are delayed from 5 % above the allowed size on, and most from 15 % on`()
        throws
    {
        // One segment counts twice its length; 24 live bytes allow 48, and 10,000 with the garbage.
        for (length, expected) in [
            (5_200, 0), (5_250, 0), (5_300, 0.1), (5_500, 0.5), (5_740, 0.98), (5_750, 1),
            (8_000, 1),
        ] as [(Int, Double)] {
            var options = options(segmentLength: length)
            options.liveShare = 0.5
            options.freeGarbage = 9_952
            let engine = try StoreEngine(opening: SimulatedVolume(seed: 10), options: options)
            try append(1, to: engine)
            try engine.flush()
            #expect(engine.writerDelay == 0)
            engine.updatePressure()
            // The pressure is rounded to thousandths.
            #expect(abs(engine.writerDelay - expected) < 0.0101, "\(length)")
            try engine.close()
        }
    }
}
