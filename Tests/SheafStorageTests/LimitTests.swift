import SheafStorage
import SheafTestSupport
import Testing

/// The limits of keys and payloads, at their values and one beyond.
@Suite struct LimitTests {
    @Test func `a key has 1 to 1,024 bytes`() throws {
        let engine = try StoreEngine(opening: SimulatedVolume())
        var batch = WriteBatch()
        let longest = [UInt8](repeating: 0xFE, count: Limits.maximumKeyLength)
        for key in [[1], [0xFE], longest] {
            try batch.put(key, key)
            try batch.remove(key)
            try batch.put(key, key)
        }
        for refuse in [Self.put, Self.remove] {
            #expect(throws: Self.limit("maximumKeyLength", 1_025, 1_024)) {
                try refuse(&batch, longest + [1])
            }
            for key in [[], [0], [0, 1], [0xFF], [0xFF, 1]] as [[UInt8]] {
                #expect {
                    try refuse(&batch, key)
                } throws: { error in
                    guard case .invalidKey = error as? StorageError else { return false }
                    return true
                }
            }
        }
        // A removed key needs one more byte in the tree, even the longest one.
        try batch.remove(longest)
        // Refused operations leave nothing in the batch.
        #expect(batch.count == 10)
        _ = try engine.append(batch)
        try engine.flush()
        let snapshot = engine.snapshot()
        #expect(snapshot.count == 2)
        #expect(longest.span.withUnsafeBytes { snapshot.removal(of: $0) } != nil)
        for key in [[1], [0xFE]] as [[UInt8]] {
            #expect(
                try key.span.withUnsafeBytes { try snapshot.payload(of: $0).map(Array.init) } == key
            )
        }
        for key in [[], [0], [0xFF], longest + [1]] as [[UInt8]] {
            #expect(try key.span.withUnsafeBytes { try snapshot.payload(of: $0) } == nil)
        }
    }

    @Test func `an emptied batch equals a new one`() throws {
        var batch = WriteBatch()
        try batch.put([1], [2])
        try batch.extend([1], [3])
        try batch.addIndexEntries([255, 1])
        batch.keepsIndexProgress = true
        batch.earliestTime = 1 << 40
        batch.removeAll()
        #expect(batch.count == 0 && batch.byteCount == 0)
        #expect(batch.indexChanges.isEmpty && !batch.keepsIndexProgress)
        #expect(batch.earliestTime == 0)
    }

    @Test func `a payload has up to 32 MiB`() throws {
        let volume = SimulatedVolume()
        let engine = try StoreEngine(opening: volume)
        var batch = WriteBatch()
        var payload = [UInt8](repeating: 9, count: Limits.maximumPayloadLength)
        payload[payload.count - 1] = 1
        try batch.put([1], payload)
        try batch.put([2], [])
        _ = try engine.append(batch)
        try engine.close()
        let snapshot = try StoreEngine(opening: volume.powerCut(seed: 1)).snapshot()
        let isComplete = try ([1] as [UInt8]).span.withUnsafeBytes { key in
            try snapshot.payload(of: key).map { payload.elementsEqual($0) }
        }
        #expect(isComplete == true)
        #expect(
            try ([2] as [UInt8]).span.withUnsafeBytes { try snapshot.payload(of: $0)?.count } == 0)
        payload.append(1)
        #expect(
            throws: Self.limit("maximumPayloadLength", payload.count, Limits.maximumPayloadLength)
        ) {
            try batch.put([1], payload)
        }
        #expect(batch.count == 2)
    }

    @Test func `limits that no test can reach have their documented values`() {
        #expect(Limits.maximumCommitLength == 1_073_741_824)
        #expect(Limits.maximumCommitOperations == 16_777_216)
        #expect(Limits.maximumPendingLength == 67_108_864)
        #expect(Limits.maximumFileLength == 4_294_967_295)
        #expect(Limits.maximumBaseFileLength == 2_147_483_647)
        #expect(Limits.maximumSegments == 4_278_190_078)
        #expect(Limits.maximumFiles == 4_194_304)
    }

    @Test func `the directory of a store has at most 4,194,304 files`() throws {
        for count in [0, 4_194_303, 4_194_304] { try Limits.check(fileCount: count) }
        #expect(throws: Self.limit("maximumFiles", 4_194_305, 4_194_304)) {
            try Limits.check(fileCount: 4_194_305)
        }
    }

    @Test func `the records of a base file have at most 2,147,483,647 bytes`() throws {
        for length in [0, 2_147_483_646, 2_147_483_647] { try Limits.check(baseFileLength: length) }
        #expect(throws: Self.limit("maximumBaseFileLength", 2_147_483_648, 2_147_483_647)) {
            try Limits.check(baseFileLength: 2_147_483_648)
        }
    }

    @Test func `a commit has at most the given number of operations`() throws {
        var batch = WriteBatch(maximumCount: 4)
        try batch.put([1], [1])
        try batch.extend([1], [2])
        try batch.remove([1])
        try batch.put([2], 3, [4])
        #expect(throws: Self.limit("maximumCommitOperations", 5, 4)) { try batch.put([3], []) }
        #expect(throws: Self.limit("maximumCommitOperations", 5, 4)) { try batch.remove([2]) }
        #expect(batch.count == 4)
        batch.removeAll()
        for key: UInt8 in 1...4 { try batch.put([key], []) }
        #expect(throws: Self.limit("maximumCommitOperations", 5, 4)) { try batch.put([5], []) }
    }

    @Test func `writers wait for compaction after a flush, for ten milliseconds at most`() {
        #expect(GroupCommitter.pause(afterFlushOf: 4_000_000, delay: 0.5) == 2_000_000)
        #expect(GroupCommitter.pause(afterFlushOf: 9_999_999, delay: 1) == 9_999_999)
        #expect(GroupCommitter.pause(afterFlushOf: 10_000_000, delay: 1) == 10_000_000)
        #expect(GroupCommitter.pause(afterFlushOf: 10_000_001, delay: 1) == 10_000_000)
    }

    @Test func `compaction waits in proportion to its bytes, and less near the limit of garbage`() {
        for (pressure, nanoseconds) in [
            (0, 1_000_000_000), (0.875, 1_000_000_000), (0.9375, 625_000_000),
            (0.96875, 312_500_000), (1, 0), (1.5, 0),
        ] as [(Double, UInt64)] {
            let pause = MaintenanceThread.pause(
                after: 4_000, pressure: pressure, bytesPerSecond: 4_000)
            #expect(pause == nanoseconds, "\(pressure)")
        }
        for (length, rate, nanoseconds) in [
            (3, 2, 1_500_000_000), (67_108_864, 67_108_864, 1_000_000_000), (0, 5, 0),
            (3, 1, 3_000_000_000), (3, 0, 3_000_000_000), (3, -5, 3_000_000_000),
        ] as [(Int, Int, UInt64)] {
            let pause = MaintenanceThread.pause(after: length, pressure: 0, bytesPerSecond: rate)
            #expect(pause == nanoseconds, "\(length) bytes")
        }
    }

    @Test func `operations are sorted from 400,000 tree entries on, and if there is one in 128`() {
        var options = LogStoreOptions()
        for (operations, entries, sorts) in [
            (3_125, 396_875, true), (3_124, 396_876, false), (3_126, 396_874, true),
            (3_125, 396_874, false), (1, 127, false), (7_812, 992_188, false),
            (7_813, 992_187, true), (400_000, 0, true), (399_999, 0, false),
        ] {
            #expect(options.sorts(operations, into: entries) == sorts, "\(operations)")
        }
        options.minimumEntriesForSorting = 0
        #expect(options.sorts(1, into: 127) && !options.sorts(1, into: 128))
    }

    @Test func `the options of a store have their documented defaults`() {
        let options = LogStoreOptions()
        #expect(options.durability == .full)
        #expect(options.liveShare == 0.55 && options.freeGarbage == 2_097_152)
        #expect(options.compactionBytesPerSecond == 67_108_864)
        #expect(options.idleMilliseconds == 1_000)
        #expect(options.transactionLength == 1_073_741_824)
        #expect(options.stagingThreshold == 33_554_432)
        #expect(options.runsMaintenance)
    }

    @Test func `the lengths of segments follow the store, the flushes and the options`() {
        var options = LogStoreOptions()
        for (liveBytes, length) in [
            (0, 1_048_576), (16_777_231, 1_048_576), (16_777_232, 1_048_577),
            (268_435_455, 16_777_215), (268_435_456, 16_777_216), (.max, 16_777_216),
        ] as [(Int, Int)] {
            #expect(options.segmentLength(liveBytes: liveBytes) == length)
        }
        #expect(options.stagedSegmentLength == 67_108_864 && options.bulkSegmentLength == 0)
        for (flush, length) in [
            (1, 2), (1_073_741_823, 2_147_483_646), (1_073_741_824, 2_147_483_646),
            (.max, 2_147_483_646),
        ] as [(Int, Int)] {
            options.bulkFlushLength = flush
            #expect(options.bulkSegmentLength == length)
        }
        options.segmentLength = 5
        #expect(options.segmentLength(liveBytes: 1 << 40) == 5)
        #expect(options.stagedSegmentLength == 5)
    }

    @Test func `a store keeps its two newest checkpoints`() throws {
        let volume = SimulatedVolume()
        let engine = try StoreEngine(opening: volume)
        for number in 1...4 {
            var batch = WriteBatch()
            try batch.put([1], [UInt8(number)])
            _ = try engine.append(batch)
            try engine.flush()
            try engine.writeCheckpoint()
            let names = volume.snapshotFiles().keys.filter { $0.hasSuffix(".checkpoint") }
            let kept = (max(number - 1, 1)...number).map {
                FileName.name(ofCheckpoint: CommitID($0))
            }
            #expect(names.sorted() == kept.sorted())
        }
        try engine.close()
    }

    @Test func `a verification lists up to 10,000 findings, and counts further ones`() {
        var verification = Verification()
        for number in 1...10_000 {
            verification.add(Finding(.note, "1.log", at: number, "a note"))
        }
        #expect(verification.findings.count == 10_000 && verification.omittedCount == 0)
        #expect(!verification.isDamaged)
        // Damage is noticed even if it is not listed.
        verification.add(Finding(.damage, "1.log", at: 0, "damage"))
        #expect(verification.findings.count == 10_000 && verification.omittedCount == 1)
        #expect(verification.isDamaged)
    }

    @Test func `limits are consistent with each other`() {
        // A record holds the longest operation, and a segment the longest record.
        let longest = Limits.maximumKeyLength + Limits.maximumPayloadLength
        #expect(Operation.headerLength + longest + Record.headerLength <= Record.maximumLength)
        #expect(Limits.maximumCommitLength < Int(UInt32.max))
        #expect(Limits.maximumKeyLength <= Int(UInt16.max))
    }

    private static func put(_ batch: inout WriteBatch, _ key: [UInt8]) throws {
        try batch.put(key, [])
    }

    private static func remove(_ batch: inout WriteBatch, _ key: [UInt8]) throws {
        try batch.remove(key)
    }

    private static func limit(_ name: String, _ value: Int, _ limit: Int) -> StorageError {
        .limit(name: name, value: value, limit: limit)
    }
}
