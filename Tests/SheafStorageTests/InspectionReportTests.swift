import SheafStorage
import SheafTestSupport
import Testing

/// Exact reports about the vector store and damaged variants of it: salvages, statistics, commits.
@Suite struct InspectionReportTests {
    private let files: [String: [UInt8]]
    private let damage: FormatVectors

    init() throws {
        files = try FormatVectorFiles().files
        damage = try FormatVectors("damage.txt")
    }

    /// Returns the lines of a salvage report.
    private func salvage(_ files: [String: [UInt8]]) throws -> [String] {
        // Default-length segments are slow, because they are filled with zeros in advance.
        var options = LogStoreOptions()
        options.segmentLength = 8_192
        let report = try Salvager.salvage(
            SimulatedVolume(files: files), into: SimulatedVolume(), options: options)
        #expect(report.store == FormatVectorStore.id)
        var lines = [
            "\(report.isComplete ? "complete" : "losses"): \(report.recordCount) records up to "
                + "commit \(report.lastCommit), lost \(report.lostCommitCount), incomplete "
                + "\(report.incompleteCommitCount), deltas \(report.lostDeltaCount)",
            "kept \(report.keptKeyCount) keys, \(report.keptPayloadBytes) bytes, "
                + "\(report.writtenCommitCount) commits",
        ]
        if let witness = report.witness {
            #expect(witness == FormatVectorStore.checkpoint)
            lines.append("keys lost \(report.lostKeyCount), outdated \(report.outdatedKeyCount)")
        }
        if report.hasLostCompactedOperations { lines.append("compacted operations are lost") }
        lines += report.missingSegments.map { "missing \($0)" }
        lines += report.damagedRanges.map { "damaged \($0.file) \($0.range): \($0.reason)" }
        lines += report.otherStoreFiles.map { "other \($0)" }
        return lines + report.notes
    }

    @Test func `a salvage reports what it found, lost and kept`() throws {
        for (name, expected) in FindingText.rows(Self.salvages) {
            let found = try salvage(damage.changing(files, in: name))
            #expect(found == expected, "\(name)")
        }
    }

    private static let salvages = """
        whole
          complete: 8 records up to commit 9, lost 0, incomplete 0, deltas 0
          kept 6 keys, 234 bytes, 1 commits
          keys lost 0, outdated 0
          0000000007.log: the segment was never begun
        torn-bit
          complete: 7 records up to commit 8, lost 0, incomplete 0, deltas 0
          kept 5 keys, 214 bytes, 1 commits
          keys lost 0, outdated 0
          0000000007.log: the segment was never begun
          0000000006.log:224: a torn tail is dropped: the record's checksum does not match
        closed-and-torn
          losses: 7 records up to commit 8, lost 1, incomplete 0, deltas 0
          kept 5 keys, 214 bytes, 1 commits
          keys lost 0, outdated 0
          0000000007.log: the segment was never begun
          0000000006.log:224: a torn tail is dropped: the record's checksum does not match
          00000000000000000009.closed names commit 9, but the last one found is 8
        torn-header
          complete: 6 records up to commit 7, lost 0, incomplete 0, deltas 0
          kept 4 keys, 18 bytes, 1 commits
          keys lost 0, outdated 0
          0000000007.log: the segment was never begun
          0000000006.log: the segment was never begun
          commit 8 was never completed and is dropped
        proven-record
          losses: 7 records up to commit 9, lost 0, incomplete 1, deltas 0
          kept 7 keys, 238 bytes, 1 commits
          keys lost 0, outdated 0
          damaged 0000000006.log 128..<224: the record's checksum does not match
          0000000007.log: the segment was never begun
        proven-header
          complete: 8 records up to commit 9, lost 0, incomplete 0, deltas 0
          kept 6 keys, 234 bytes, 1 commits
          keys lost 0, outdated 0
          damaged 0000000006.log 0..<128: the header is damaged
          0000000007.log: the segment was never begun
        sealed-record
          losses: 7 records up to commit 9, lost 1, incomplete 0, deltas 0
          kept 4 keys, 225 bytes, 1 commits
          damaged 0000000003.log 224..<384: the record's checksum does not match
          0000000007.log: the segment was never begun
        sealed-base
          losses: 7 records up to commit 9, lost 0, incomplete 0, deltas 1
          kept 5 keys, 219 bytes, 1 commits
          compacted operations are lost
          damaged 0000000001-0000000002.base 128..<344: the record's checksum does not match
          0000000007.log: the segment was never begun
        sealed-footer
          complete: 8 records up to commit 9, lost 0, incomplete 0, deltas 0
          kept 6 keys, 234 bytes, 1 commits
          keys lost 0, outdated 0
          damaged 0000000003.log 384..<472: the record length 384 is wrong
          0000000007.log: the segment was never begun
        missing
          losses: 7 records up to commit 9, lost 0, incomplete 1, deltas 0
          kept 5 keys, 134 bytes, 1 commits
          keys lost 0, outdated 0
          missing 4...4
          0000000007.log: the segment was never begun
        other-store
          losses: 7 records up to commit 9, lost 0, incomplete 1, deltas 0
          kept 5 keys, 134 bytes, 1 commits
          keys lost 0, outdated 0
          damaged 0000000004.log 0..<408: the file belongs to another store
          other 0000000004.log
          0000000007.log: the segment was never begun
        gone-before-checkpoint
          losses: 2 records up to commit 5, lost 2, incomplete 0, deltas 0
          kept 2 keys, 5 bytes, 1 commits
          keys lost 1, outdated 2
          00000000000000000007.checkpoint names commit 7, but the last one found is 5
        """

    @Test func `a salvage without the base file loses the operations that deltas are based on`()
        throws
    {
        var changed = files
        changed["0000000001-0000000002.base"] = nil
        #expect(
            try salvage(changed) == [
                "losses: 6 records up to commit 9, lost 5, incomplete 0, deltas 1",
                "kept 5 keys, 219 bytes, 1 commits", "keys lost 0, outdated 0", "missing 1...2",
                "0000000007.log: the segment was never begun",
            ])
    }

    @Test func `a checkpoint shows which keys a lost record held`() throws {
        var changed = files
        changed["0000000003.log"]?[300] ^= 1
        #expect(
            try salvage(changed).prefix(3) == [
                "losses: 7 records up to commit 9, lost 1, incomplete 0, deltas 0",
                "kept 4 keys, 225 bytes, 1 commits", "keys lost 1, outdated 1",
            ])
    }

    @Test func `a salvage writes 4096 operations in a commit`() throws {
        let source = SimulatedVolume()
        var options = LogStoreOptions()
        options.segmentLength = 1 << 19
        let engine = try StoreEngine(opening: source, options: options)
        var batch = WriteBatch()
        for number in 0..<4_097 {
            try batch.put([1, UInt8(number >> 8), UInt8(number & 0xFF)], [7])
        }
        _ = try engine.append(batch)
        try engine.close()
        let report = try Salvager.salvage(source, into: SimulatedVolume(), options: options)
        #expect(report.keptKeyCount == 4_097 && report.keptPayloadBytes == 4_097)
        #expect(report.writtenCommitCount == 2)
    }

    @Test func `statistics are those of the vector store`() throws {
        let statistics = try LogReader(SimulatedVolume(files: files)).statistics()
        #expect(statistics.store == FormatVectorStore.id)
        #expect(statistics.segmentCount == 4)
        #expect(statistics.segmentBytes == 480 + 408 + 408 + 352)
        #expect(statistics.baseCount == 1 && statistics.baseBytes == 512)
        #expect(statistics.checkpoints.map(\.name) == [FormatVectorStore.checkpoint])
        #expect(statistics.checkpoints.map(\.commit) == [7])
        #expect(statistics.checkpointBytes == 8_368)
        // The segment that was prepared.
        #expect(statistics.otherCount == 1 && statistics.otherBytes == 480)
        #expect(statistics.logBytes == 2_160)
        #expect(statistics.directoryBytes == 2_160 + 8_368 + 480)
        #expect(statistics.keyCount == 6 && statistics.removedKeyCount == 1)
        #expect(statistics.indexEntryCount == 0)
        // A delta keeps the put before it alive, and a removal is live until it is dropped.
        #expect(statistics.liveBytes == 125 + 125 + (35 + 30) + 35 + 30 + 29 + 25)
        #expect(statistics.liveShare == 434 / 2_160.0)
        #expect(statistics.lastCommit == 9 && statistics.lastCommitAt == 1_780_000_009_000)
        #expect(statistics.firstCompleteCommit == 6)
        #expect(statistics.firstCompleteCommitAt == 1_780_000_006_000)
        #expect(statistics.compactedThrough == 5)
        #expect(statistics.usedCheckpoint == FormatVectorStore.checkpoint)
        #expect(statistics.unusableCheckpoints == [])
        #expect(statistics.replayedBytes == 192 + 192 + 96 + 136)
        #expect(statistics.tornTail == nil)
        #expect(StoreStatistics().liveShare == 1)
    }

    @Test func `checkpoints are counted from the newest on, whether they can be used or not`()
        throws
    {
        var changed = files
        for commit: CommitID in [3, 8] { changed[FileName.name(ofCheckpoint: commit)] = [1, 2, 3] }
        let statistics = try LogReader(SimulatedVolume(files: changed)).statistics()
        #expect(statistics.checkpoints.map(\.commit) == [8, 7, 3])
        #expect(statistics.checkpoints.map(\.byteCount) == [3, 8_368, 3])
        #expect(statistics.checkpointBytes == 8_368 + 2 * 3)
        #expect(statistics.usedCheckpoint == FormatVectorStore.checkpoint)
    }

    @Test func `each commit has its counts, its time and its position`() throws {
        let reader = try LogReader(SimulatedVolume(files: files))
        #expect(reader.lastCompactedCommit == 5)
        #expect(
            try texts(reader.commits()) == [
                "4: 2 operations, 50 bytes at 2:192, compacted",
                "5: 1 operations, 30 bytes at 2:312, compacted",
                "6: 1 operations, 96 bytes at 3:128, 1780000006000",
                "7: 3 operations, 160 bytes at 3:224, 1780000007000",
                "8: 3 operations, 480 bytes at 4:128, 1780000008000",
                "9: 2 operations, 136 bytes at 6:224, 1780000009000",
            ])
        #expect(try reader.commit(3) == nil)
        #expect(try reader.commit(4)?.operationCount == 2)
        #expect(try reader.commit(10) == nil)
    }

    private func texts(_ reader: CommitReader) throws -> [String] {
        var reader = reader
        var texts: [String] = []
        while let commit = try reader.next() {
            #expect(commit.isCompacted == (commit.time == nil))
            texts.append(
                "\(commit.id): \(commit.operationCount) operations, \(commit.byteCount) bytes at "
                    + "\(commit.position), \(commit.time.map { "\($0)" } ?? "compacted")")
        }
        return texts
    }

    @Test(
        arguments: [
            ("whole", nil), ("recovered", nil),
            ("garbage", "0000000006.log:360: the file ends inside a record header"),
            ("torn-record", "0000000006.log:232: the record length 136 is wrong"),
            ("torn-commit", "0000000006.log:136: the record length 96 is wrong"),
            ("torn-bit", "0000000006.log:224: the record's checksum does not match"),
            ("without-a-witness", "0000000004.log:128: the last commit is incomplete"),
        ] as [(String, String?)])
    func `a torn tail has its offset and its reason`(name: String, expected: String?) throws {
        let changed = try damage.changing(files, in: name)
        var commits = try LogReader(SimulatedVolume(files: changed)).commits()
        while try commits.next() != nil {}
        let found = commits.tornTail.map { "\($0.file):\($0.offset): \($0.reason)" }
        #expect(found == expected)
    }

    @Test(
        arguments: [
            ("sealed-record", [4, 5, 6], "0000000003.log:224"),
            ("sealed-base", [], "0000000001-0000000002.base:128"),
            ("proven-record", [4, 5, 6, 7], "0000000006.log:128"),
            ("unknown-record", [4, 5, 6], "0000000003.log:236"),
        ] as [(String, [CommitID], String)])
    func `commits before damage are read, and none after it`(
        name: String, expected: [CommitID], place: String
    ) throws {
        let changed = try damage.changing(files, in: name)
        var commits = try LogReader(SimulatedVolume(files: changed)).commits()
        var found: [CommitID] = []
        var error: StorageError?
        do throws(StorageError) {
            while let commit = try commits.next() { found.append(commit.id) }
        } catch let damage {
            error = damage
        }
        #expect(found == expected)
        switch error {
        case .corrupt(let damage), .unsupported(let damage):
            #expect("\(damage.file):\(damage.offset)" == place)
        default: Issue.record("The error is \(String(describing: error)).")
        }
        #expect(try commits.next() == nil)
    }
}
