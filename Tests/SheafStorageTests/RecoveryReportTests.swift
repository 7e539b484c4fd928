import SheafStorage
import SheafTestSupport
import Testing

/// Tests of what an opening reports and changes, with the vector store and with small ones.
@Suite struct RecoveryReportTests {
    private let files: [String: [UInt8]]
    private let last = "0000000006.log"

    init() throws {
        files = try FormatVectorFiles().files
    }

    /// Opens the vector store with its last begun segment changed.
    private func open(last bytes: [UInt8]) throws -> StoreEngine {
        var changed = files
        changed[last] = bytes
        return try FormatVectorFiles.open(changed)
    }

    @Test func `an opening reports the length of the records that it has replayed`() throws {
        // Four records follow the checkpoint; before it are a compacted one and two in segment 3.
        let later = 192 + 192 + 96 + 136
        let engine = try FormatVectorFiles.open(files)
        #expect(engine.recovery.replayedLength == later)
        #expect(engine.recovery.unusableCheckpoints == [] && engine.recovery.torn == nil)
        var changed = files
        changed[FormatVectorStore.checkpoint] = nil
        let again = try FormatVectorFiles.open(changed)
        #expect(again.recovery.usedCheckpoint == nil)
        #expect(again.recovery.replayedLength == later + 216 + 96 + 160)
    }

    @Test func `an opening reports the invalid bytes after the last commit`() throws {
        let right = try #require(files[last])
        for (bytes, commit, offset, reason) in [
            (
                FormatVectorBytes.flipping(right, at: 300), 8, 224,
                "the record's checksum does not match"
            ),
            (Array(right.prefix(224 + 63)), 8, 224, "the file ends inside a record header"),
            (Array(right.prefix(359)), 8, 232, "the record length 136 is wrong"),
            (Array(right.prefix(200)), 7, 136, "the record length 96 is wrong"),
            (Array(right.prefix(128)), 7, 128, "the last commit is incomplete"),
        ] as [([UInt8], CommitID, Int, String)] {
            let engine = try open(last: bytes)
            #expect(engine.snapshot().commit == commit, "\(reason)")
            let damage = StorageError.Damage(file: last, offset: offset, reason: reason)
            #expect(engine.recovery.torn == damage)
        }
        for bytes in [right, Array(right.prefix(224)), right + [0, 0, 0]] {
            #expect(try open(last: bytes).recovery.torn == nil)
        }
    }

    @Test func `unusable checkpoints are reported with the reason`() throws {
        let name = FormatVectorStore.checkpoint
        let right = try #require(files[name])
        func sealed(_ size: Int, at offset: Int, to value: UInt64) -> [UInt8] {
            FormatVectorBytes.sealingCheckpoint(
                FormatVectorBytes.setting(right, size, at: offset, to: value))
        }
        let cases: [([UInt8], String)] = [
            (Array(right.prefix(4_159)), "0: the file is shorter than a checkpoint's header"),
            (FormatVectorBytes.flipping(right, at: 0), "0: the file does not begin with SHEAFCKP"),
            (
                FormatVectorBytes.flipping(right, at: 100),
                "4152: the header's checksum does not match"
            ),
            (sealed(4, at: 8, to: 3), "8: the checkpoint has version 3 and pages of 4160 bytes"),
            (
                sealed(8, at: 16, to: 7),
                "16: the checkpoint belongs to store 100f0e0d0c0b0a090000000000000007"
            ),
            (right + [0], "8369: the file has 8369 bytes and should have 8368"),
            (sealed(4, at: 64, to: 2), "8368: the file has 8368 bytes and should have 12528"),
            (sealed(8, at: 88, to: 8), "88: the index progress 8 is past the checkpoint's commit"),
            (
                FormatVectorBytes.flipping(right, at: 4_200),
                "72: the hash of the pages does not match"
            ),
            (sealed(8, at: 32, to: 6), "32: the checkpoint covers commit 6"),
            (
                sealed(8, at: 40, to: 1 << 32 | 384),
                "40: compaction has dropped removals after this checkpoint"
            ),
            (
                sealed(4, at: 8_336, to: 1),
                "8336: an entry of the live bytes is invalid or out of order"
            ),
        ]
        for (bytes, reason) in cases {
            var changed = files
            changed[name] = bytes
            let engine = try FormatVectorFiles.open(changed)
            #expect(engine.recovery.unusableCheckpoints == ["\(name):\(reason)"])
            #expect(engine.snapshot().commit == 9)
        }
    }

    @Test func `an opening removes files that are left over, and syncs their removal`() throws {
        var changed = files
        for name in ["0000000001.log", "0000000002.log", "00000000000000ab.tmp"] {
            changed[name] = [1, 2, 3]
        }
        let volume = SimulatedVolume(files: changed)
        let engine = try StoreEngine(opening: volume)
        let kept = Set(files.keys).subtracting(["0000000007.log"])
        for seed in 0..<8 as Range<UInt64> {
            let names = try volume.powerCut(seed: seed).names().filter { $0 != FileName.syncedName }
            #expect(Set(names) == kept, "seed \(seed)")
        }
        #expect(engine.snapshot().commit == 9)
        try engine.close()
    }

    /// Commits puts, and closes the store.
    private func fill(_ volume: SimulatedVolume, _ numbers: [UInt8]) throws {
        var options = SmallStore.options(seed: 16)
        options.segmentLength = 4_096
        let engine = try StoreEngine(opening: volume, options: options)
        for number in numbers {
            var batch = WriteBatch()
            try batch.put([1, number], [number, number])
            _ = try engine.append(batch)
            try engine.flush()
            try engine.prepareNextSegment()
        }
        try engine.close()
    }

    @Test func `closing leaves sealed segments without unused space, and one mark`() throws {
        let volume = SimulatedVolume(seed: 16)
        func lengths() -> [String: Int] { volume.snapshotFiles().mapValues(\.count) }
        try fill(volume, [])
        #expect(lengths() == ["SYNCED": 96])
        try fill(volume, [1, 2])
        // A header, two records of 88 bytes and a footer.
        let first = ["SYNCED": 96, "0000000001.log": 128 + 176 + 88]
        let mark = "00000000000000000002.closed"
        #expect(lengths() == first.merging([mark: 0]) { $1 })
        try fill(volume, [])
        #expect(lengths() == first.merging([mark: 0]) { $1 })
        // Marks of earlier closes are removed, even if there are several.
        try volume.write([], to: "00000000000000000001.closed")
        try fill(volume, [3])
        let second = ["0000000002.log": 128 + 88 + 88, "00000000000000000003.closed": 0]
        #expect(lengths() == first.merging(second) { $1 })
    }

    @Test func `the unused space of sealed segments is truncated while the store is open`() throws {
        let volume = SimulatedVolume(seed: 17)
        var options = SmallStore.options(seed: 17)
        options.segmentLength = 600
        let engine = try StoreEngine(opening: volume, options: options)
        func length(_ number: UInt32) -> Int? {
            volume.snapshotFiles()[FileName.name(ofSegment: number)]?.count
        }
        // Four records of 88 bytes fit beside a header and a footer, and leave 32 bytes.
        for number in 1...5 as ClosedRange<UInt8> {
            var batch = WriteBatch()
            try batch.put([1, number], [number, number])
            _ = try engine.append(batch)
            try engine.flush()
        }
        #expect(length(1) == 600)
        try engine.trimSealedSegments()
        #expect(length(1) == 568)
        // Each file is truncated once, and closed.
        let count = volume.counters[.truncate]
        try engine.trimSealedSegments()
        #expect(volume.counters[.truncate] == count)
        #expect(engine.snapshot().count == 5)
        try engine.close()
    }
}
