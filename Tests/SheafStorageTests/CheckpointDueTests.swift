import SheafStorage
import SheafTestSupport
import Testing

/// Tests of the growth of the log after which a checkpoint is due, and of the files it leaves.
@Suite struct CheckpointDueTests {
    private let volume = SimulatedVolume(seed: 12)

    private func open(
        due length: Int, _ volume: SimulatedVolume? = nil
    ) throws -> StoreEngine {
        var options = SmallStore.options(seed: 12)
        options.segmentLength = 1 << 20
        options.checkpointLength = length
        return try StoreEngine(opening: volume ?? self.volume, options: options)
    }

    /// Returns the file names of the checkpoints after these commits.
    private func checkpoints(_ commits: CommitID...) -> [String] {
        commits.map { FileName.name(ofCheckpoint: $0) }
    }

    /// Commits a put whose record has 88 bytes.
    private func put(_ number: UInt8, to engine: StoreEngine) throws {
        var batch = WriteBatch()
        batch.keepsIndexProgress = true
        try batch.put([1, number], [number, number])
        _ = try engine.append(batch)
        try engine.flush()
    }

    private func names(_ suffix: String) throws -> [String] {
        try volume.names().filter { $0.hasSuffix(suffix) }.sorted()
    }

    private func pointer(_ number: UInt8, _ engine: StoreEngine) throws -> RecordPointer {
        try #require([1, number].withUnsafeBytes { engine.snapshot().recordPointer(of: $0) })
    }

    @Test func `a checkpoint is due after a length of records since the last one`() throws {
        let engine = try open(due: 176)
        #expect(!engine.isCheckpointDue())
        for number in 1...6 as ClosedRange<UInt8> {
            try put(number, to: engine)
            #expect(engine.isCheckpointDue() == (number % 2 == 0))
            #expect(engine.isCheckpointDue(atClose: true) == (number % 2 == 0))
            try engine.writeCheckpointIfWorthwhile()
            #expect(!engine.isCheckpointDue())
        }
        #expect(try names(".checkpoint") == checkpoints(4, 6))
        try engine.close()
        // Replayed records count, too.
        let again = try open(due: 176)
        try put(7, to: again)
        #expect(!again.isCheckpointDue())
        try again.close()
        let third = try open(due: 176)
        #expect(third.recovery.replayedLength == 88 && !third.isCheckpointDue())
        try put(8, to: third)
        #expect(third.isCheckpointDue())
        // A due checkpoint is written when the store is closed.
        try third.close()
        #expect(try names(".checkpoint") == checkpoints(6, 8))
    }

    @Test func `without a checkpoint, all replayed records count`() throws {
        let engine = try open(due: 1 << 30)
        for number in 1...3 as ClosedRange<UInt8> { try put(number, to: engine) }
        try engine.close()
        for (length, isDue) in [(264, true), (265, false)] {
            let again = try open(due: length, volume.processDeath())
            #expect(again.recovery.replayedLength == 264)
            #expect(again.isCheckpointDue() == isDue)
        }
    }

    @Test func `a store is closed with a checkpoint after 512 KiB of records`() throws {
        for (length, isDue) in [(524_288, true), (524_280, false)] {
            let volume = SimulatedVolume(seed: 12)
            var options = SmallStore.options(seed: 12)
            options.checkpointLength = nil
            let engine = try StoreEngine(opening: volume, options: options)
            var batch = WriteBatch()
            try batch.put([1], [UInt8](repeating: 1, count: length - 64 - 20 - 1))
            _ = try engine.append(batch)
            try engine.flush()
            #expect(engine.isCheckpointDue(atClose: true) == isDue, "\(length)")
            #expect(!engine.isCheckpointDue())
            try engine.close()
            let checkpoints = volume.snapshotFiles().keys.filter { $0.hasSuffix(".checkpoint") }
            #expect(checkpoints.count == (isDue ? 1 : 0), "\(length)")
        }
    }

    @Test func `repaired index entries and weights count as growth`() throws {
        let engine = try open(due: 88 + 10)
        try put(1, to: engine)
        let target = try pointer(1, engine)
        var removal = IndexChanges()
        try removal.removeEntries([255] + [UInt8](repeating: 1, count: 20))
        var entries = IndexChanges()
        try entries.addEntry([255] + [UInt8](repeating: 1, count: 8), to: target)
        var another = IndexChanges()
        try another.addEntry([255], to: target)
        for (changes, isDue) in [(removal, false), (entries, false), (another, true)] {
            #expect(engine.repairIndexEntries(of: engine.snapshot(), changes))
            #expect(engine.isCheckpointDue() == isDue)
        }
        try engine.writeCheckpoint()
        // A pointer with a weight has 20 bytes.
        for number in 1...5 as ClosedRange<UInt64> {
            #expect(!engine.isCheckpointDue(), "\(number)")
            engine.setWeights([([1, 1], target, number)])
        }
        #expect(engine.isCheckpointDue())
        try engine.close()
    }

    @Test func `entries of a commit for earlier operations count as growth`() throws {
        for (length, isDue) in [(88 + 88 + 3, true), (88 + 88 + 4, false)] {
            let engine = try open(due: length, SimulatedVolume(seed: 12))
            try put(1, to: engine)
            var batch = WriteBatch()
            try batch.put([1, 2], [2, 2])
            try batch.indexChanges.addEntry([255, 1, 1], to: try pointer(1, engine))
            _ = try engine.append(batch)
            try engine.flush()
            #expect(engine.isCheckpointDue() == isDue)
            try engine.close()
        }
    }

    @Test func `an empty store has no checkpoint, and a repeated one keeps the earlier`() throws {
        let engine = try open(due: 1 << 30)
        try engine.writeCheckpoint()
        #expect(try volume.names() == [FileName.syncedName])
        for number in 1...2 as ClosedRange<UInt8> {
            try put(number, to: engine)
            for _ in 0..<2 { try engine.writeCheckpoint() }
        }
        #expect(try names(".checkpoint") == checkpoints(1, 2))
        try engine.close()
        // The oldest of two checkpoints is removed after another opening as well.
        let again = try open(due: 1 << 30)
        try put(3, to: again)
        try again.writeCheckpoint()
        #expect(try names(".checkpoint") == checkpoints(2, 3))
        try again.close()
    }

    @Test func `a failed checkpoint leaves no file, and one of two earlier ones`() throws {
        let engine = try open(due: 1 << 30)
        for number in 1...2 as ClosedRange<UInt8> {
            try put(number, to: engine)
            try engine.writeCheckpoint()
        }
        try put(3, to: engine)
        for operation in [VolumeError.Operation.write, .synchronize, .rename] {
            volume.inject(
                SimulatedFault(.error(.noSpace), of: operation, onFilesEndingIn: ".tmp"))
            let error = #expect(throws: StorageError.self) { try engine.writeCheckpoint() }
            #expect(error?.isFull == true)
            #expect(try names(".tmp") == [])
            #expect(try names(".checkpoint") == checkpoints(2))
        }
        try engine.writeCheckpoint()
        #expect(try names(".checkpoint") == checkpoints(2, 3))
        try engine.close()
    }

    @Test func `an unusable checkpoint is reported, and an earlier one is used`() throws {
        let engine = try open(due: 1 << 30)
        for number in 1...2 as ClosedRange<UInt8> {
            try put(number, to: engine)
            try engine.writeCheckpoint()
        }
        try put(3, to: engine)
        try engine.close()
        let (older, newer) = (FileName.name(ofCheckpoint: 1), FileName.name(ofCheckpoint: 2))
        #expect(try open(due: 1 << 30, volume.processDeath()).recovery.usedCheckpoint == newer)
        volume.corrupt(newer, .flipBit(at: 4_200, bit: 0))
        func recovery() throws -> RecoveryReport {
            let engine = try StoreEngine(opening: volume.processDeath())
            #expect(engine.snapshot().commit == 3 && engine.snapshot().count == 3)
            return engine.recovery
        }
        let second = try recovery()
        #expect(second.usedCheckpoint == older && second.replayedLength == 176)
        let report = "\(newer):72: the hash of the pages does not match"
        #expect(second.unusableCheckpoints == [report])
        volume.corrupt(older, .truncate(to: 100))
        let third = try recovery()
        #expect(third.usedCheckpoint == nil && third.replayedLength == 264)
        #expect(
            third.unusableCheckpoints == [
                report, "\(older):0: the file is shorter than a checkpoint's header",
            ])
    }
}
