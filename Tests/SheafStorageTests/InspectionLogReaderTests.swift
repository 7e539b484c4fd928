import SheafStorage
import SheafTestSupport
import Testing

@Suite struct InspectionLogReaderTests {
    private let seed: UInt64 = 31

    @Test func `reading commits after a given one returns all later commits`() throws {
        for files in [try SmallStore.small(seed: seed).files, try longCommits()] {
            let reader = try LogReader(SimulatedVolume(files: files))
            let all = try identifiers(reader.commits())
            #expect(all == all.sorted() && Set(all).count == all.count)
            let last = try #require(all.last)
            for since in 0...last + 2 {
                #expect(try identifiers(reader.commits(since: since)) == all.filter { $0 > since })
                #expect(try reader.commit(since)?.id == (all.contains(since) ? since : nil))
            }
        }
    }

    @Test func `a commit has the written operations with their positions`() throws {
        let reader = try LogReader(SimulatedVolume(files: try longCommits()))
        let commit = try #require(try reader.commit(3))
        let operations = try commit.operations()
        #expect(commit.operationCount == 12 && operations.count == 12)
        #expect(!commit.isCompacted)
        for (number, logged) in operations.enumerated() {
            #expect(logged.operation.key.elementsEqual("key\(number)".utf8))
            #expect(logged.operation.payload.elementsEqual("payload 3 of \(number)".utf8))
            #expect(logged.operation.previous < logged.position)
        }
        let segments = Set(operations.map(\.position.segment))
        #expect(segments.count > 1)
    }

    @Test func `bytes after a header that are no record are reported as a torn tail`() throws {
        var files = try longCommits().filter { $0.key.hasSuffix(".log") }
        let last = try #require(files.keys.max())
        // A header without a valid record after it, and without proof that there was one.
        files[last]?.replaceSubrange(128..., with: repeatElement(7, count: 40))
        let reader = try LogReader(SimulatedVolume(files: files))
        var commits = reader.commits(since: 1_000)
        #expect(try commits.next() == nil)
        #expect(commits.tornTail?.file == last)
        #expect(commits.tornTail == (try reader.statistics().tornTail))
    }

    @Test func `a read-only volume refuses every change`() throws {
        let (files, _) = try SmallStore.small(seed: seed)
        let base = SimulatedVolume(files: files)
        let volume = ReadOnlyVolume(base)
        let name = try #require(files.keys.min())
        #expect(throws: VolumeError.self) { try volume.open(name, .write) }
        #expect(throws: VolumeError.self) { try volume.open("new", .create) }
        #expect(throws: VolumeError.self) { try volume.rename(name, to: "new") }
        #expect(throws: VolumeError.self) { try volume.remove(name) }
        #expect(throws: VolumeError.self) { try volume.lock() }
        #expect(throws: StorageError.self) { try StoreEngine(opening: volume) }
        #expect(try Verifier.verify(volume).findings == [])
        #expect(base.snapshotFiles() == files)
    }

    @Test func `statistics omit files that a writer has removed meanwhile`() throws {
        let (files, _) = try SmallStore.small(seed: seed)
        let volume = SimulatedVolume(files: files)
        let reader = try LogReader(volume)
        let expected = try reader.statistics()
        let names = files.keys.filter { $0.hasSuffix(".closed") || $0.hasSuffix(".site") }
        #expect(!names.isEmpty)
        for name in names { try volume.remove(name) }
        #expect(try reader.statistics().logBytes == expected.logBytes)
    }

    @Test func `statistics match the files and the keys`() throws {
        let (files, content) = try SmallStore.small(seed: seed)
        let reader = try LogReader(SimulatedVolume(files: files))
        let statistics = try reader.statistics()
        #expect(statistics.directoryBytes == files.values.reduce(0) { $0 + $1.count })
        #expect(statistics.keyCount == content.payloads.count)
        #expect(statistics.lastCommit == content.lastCommit)
        #expect(statistics.liveBytes > 0 && statistics.liveBytes < statistics.logBytes)
        #expect(statistics.firstCompleteCommit == 7)
        #expect(statistics.compactedThrough == 6)
        #expect(statistics.usedCheckpoint == "00000000000000000012.checkpoint")
    }

    @Test func `the replayed bytes are those of the records after the checkpoint`() throws {
        let volume = SimulatedVolume(seed: seed)
        var options = SmallStore.options(seed: seed)
        options.segmentLength = 8_192
        let engine = try StoreEngine(opening: volume, options: options)
        #expect(engine.recovery.replayedLength == 0)
        var content = SmallStore.Content()
        for number in 1...4 { try SmallStore.commit(number, to: engine, &content) }
        let covered = engine.snapshot().end
        try engine.writeCheckpoint()
        for number in 5...7 { try SmallStore.commit(number, to: engine, &content) }
        let end = engine.snapshot().end
        try engine.close()
        try #require(covered.segment == 1 && end.segment == 1)

        // The mark of the simulated system is no part of the store.
        let files = volume.snapshotFiles().filter { $0.key != FileName.syncedName }
        let log = files.filter { !$0.key.hasSuffix(".checkpoint") }
        #expect(log.count < files.count)
        for (files, start) in [(files, covered.offset), (log, SegmentHeader.length)] {
            let reader = try LogReader(SimulatedVolume(files: files))
            #expect(try reader.statistics().replayedBytes == end.offset - start)
            let again = try StoreEngine(opening: SimulatedVolume(files: files), options: options)
            #expect(again.recovery.replayedLength == end.offset - start)
            try again.close()
        }
    }

    /// Returns a store in which each commit spans several segments.
    private func longCommits() throws -> [String: [UInt8]] {
        let volume = SimulatedVolume(seed: seed)
        var options = SmallStore.options(seed: seed)
        options.recordLength = 100
        let engine = try StoreEngine(opening: volume, options: options)
        for commit in 1...4 {
            var batch = WriteBatch()
            for number in 0..<12 {
                try batch.put(
                    Array("key\(number)".utf8), Array("payload \(commit) of \(number)".utf8))
            }
            _ = try engine.append(batch)
            try engine.flush()
        }
        try engine.close()
        return volume.snapshotFiles()
    }

    private func identifiers(_ reader: CommitReader) throws -> [CommitID] {
        var reader = reader
        var found: [CommitID] = []
        while let commit = try reader.next() { found.append(commit.id) }
        return found
    }
}
