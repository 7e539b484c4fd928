import SheafBytes
import SheafStorage
import SheafTestSupport
import Testing

/// Tests of the operations and the header fields of the base files that compaction writes.
///
/// Each commit has its own segment, in which its first operation is at offset 192.
@Suite struct KeptOperationTests {
    private let volume = SimulatedVolume(seed: 21)
    private let clock = FakeClock(wallMilliseconds: 5_000)

    /// Opens a store; at most `limit` live bytes are in a base file.
    private func open(
        history: UInt64 = 0, limit: Int? = nil, _ volume: SimulatedVolume? = nil
    ) throws -> StoreEngine {
        var options = SmallStore.options(seed: 21)
        options.clock = clock.clock
        options.segmentLength = 1
        options.history = HistoryHorizon(commits: history, bytes: .max)
        options.freeGarbage = 1 << 40
        options.compactedLength = limit
        return try StoreEngine(opening: volume ?? self.volume, options: options)
    }

    /// Commits an operation of the key 1 for each letter of put, delta and removal, and a put of
    /// another key for each other character.
    private func commit(_ log: String, to engine: StoreEngine) throws {
        for kind in log {
            let number = UInt8(engine.lastCommit + 1)
            var batch = WriteBatch()
            switch kind {
            case "p": try batch.put([1], [number])
            case "d": try batch.extend([1], [number])
            case "r": try batch.remove([1])
            default: try batch.put([2, number], [number])
            }
            _ = try engine.append(batch)
            try engine.flush()
        }
    }

    private func compact(_ engine: StoreEngine) throws {
        engine.compactEverything()
        while try engine.compactionStep() {}
    }

    private func position(_ commit: CommitID) -> LogPosition {
        LogPosition(segment: UInt32(commit), offset: 192)
    }

    /// Returns the log with a dot for each operation that compaction has dropped.
    private func kept(of log: String, in engine: StoreEngine) throws -> String {
        let segments = engine.snapshot().segments
        var kept = ""
        for (index, kind) in log.enumerated() {
            let commit = CommitID(index + 1)
            guard let found = try segments.loggedOperation(at: position(commit)) else {
                kept.append(".")
                continue
            }
            kept.append(kind)
            let payload: [UInt8] = kind == "r" ? [] : [UInt8(commit)]
            #expect(found.commit == commit && Array(found.operation.payload) == payload)
        }
        return kept
    }

    private func records(of file: Segment) -> [Record] {
        var scanner = RecordScanner(file: file.sealedBytes, header: file.header)
        var records: [Record] = []
        while case .record(let record) = scanner.next() { records.append(record) }
        return records
    }

    /// Returns the position of the newest removal of a key that is still in the log.
    private func removal(of key: [UInt8], in engine: StoreEngine) -> LogPosition? {
        key.withUnsafeBytes { engine.snapshot().removal(of: $0) }?.position
    }

    /// Compacts a log twice, with these limits of base files.
    private func check(
        _ history: UInt64, _ log: String, _ expected: String, limits: [Int?]
    ) throws {
        for limit in limits {
            let engine = try open(history: history, limit: limit, SimulatedVolume(seed: 21))
            try commit(log, to: engine)
            #expect(try kept(of: log, in: engine) == log)
            // Compacting base files again changes nothing.
            for round in 1...2 {
                try compact(engine)
                #expect(try kept(of: log, in: engine) == expected, "round \(round)")
            }
            #expect(engine.checkLiveBytes() == [])
            #expect(engine.snapshot().removalsCompactedThrough == LogPosition.none)
            try engine.close()
        }
    }

    @Test(
        arguments: [
            // The last two commits are after the horizon.
            (2, "ppp--", "..p--"), (2, "pppp-", "..pp-"), (2, "ppppp", "..ppp"),
            (2, "pdd--", "pdd--"), (2, "ppdd-", ".pdd-"), (2, "pdpd-", "..pd-"),
            (2, "pdpp-", "..pp-"), (2, "pddp-", "pddp-"), (2, "pdp--", "..p--"),
            (2, "ppddd", ".pddd"), (2, "pdppd", "..ppd"), (2, "pdppp", "..ppp"),
            (2, "prp--", "..p--"), (2, "pr-p-", ".r-p-"), (2, "prr-r", "..r-r"),
            (2, "pdr-p", "..r-p"), (2, "prpdd", "..pdd"), (2, "-rpd--", "-.pd--"),
            // Nothing is before the horizon.
            (5, "ppppp", "ppppp"), (4, "ppppp", "ppppp"), (3, "ppppp", ".pppp"),
        ] as [(UInt64, String, String)])
    func `the operations after the horizon, the newest one up to it and its bases are kept`(
        history: UInt64, log: String, expected: String
    ) throws {
        // Without a limit there is one base file, and with zero one for each file with live bytes.
        try check(history, log, expected, limits: [nil, 0])
    }

    @Test func `the kept operations of a long chain are those of a short one`() throws {
        let (deltas, puts) = (String(repeating: "d", count: 18), String(repeating: "p", count: 20))
        try check(2, "ppppp\(deltas)--", "....p\(deltas)--", limits: [nil])
        try check(20, "ppp\(puts)", "..p\(puts)", limits: [nil])
    }

    @Test func `a removal is dropped with the file that starts the log, and kept in later files`()
        throws
    {
        for (limit, expected) in [(nil, "..---"), (0, ".r---")] as [(Int?, String)] {
            let engine = try open(history: 2, limit: limit, SimulatedVolume(seed: 21))
            try commit("pr---", to: engine)
            try compact(engine)
            #expect(try kept(of: "pr---", in: engine) == expected)
            let dropped: LogPosition = limit == nil ? position(2) : .none
            let left: LogPosition? = limit == nil ? nil : position(2)
            #expect(engine.snapshot().removalsCompactedThrough == dropped)
            try commit("-", to: engine)
            #expect(removal(of: [1], in: engine) == left)
            // A put of another key has 23 bytes, and a removal 21.
            #expect(engine.liveByteCount == 4 * 23 + (limit == nil ? 0 : 21))
            #expect(engine.checkLiveBytes() == [])
            try engine.close()
        }
    }

    @Test func `removals after the newest checkpoint are kept until there is another`() throws {
        let engine = try open()
        try commit("pr", to: engine)
        try engine.writeCheckpoint()
        try commit("pr-", to: engine)
        try compact(engine)
        #expect(try kept(of: "prpr-", in: engine) == "...r-")
        #expect(engine.snapshot().removalsCompactedThrough == LogPosition.none)
        try engine.writeCheckpoint()
        try commit("-", to: engine)
        try compact(engine)
        try commit("-", to: engine)
        #expect(try kept(of: "prpr---", in: engine) == "....---")
        #expect(engine.snapshot().removalsCompactedThrough == position(4))
        #expect(removal(of: [1], in: engine) == nil)
        // The newest checkpoint still has the removal.
        let again = try open(volume.processDeath())
        #expect(again.recovery.usedCheckpoint == FileName.name(ofCheckpoint: 5))
        #expect(removal(of: [1], in: again) == nil && again.liveByteCount == 3 * 23)
        #expect(again.checkLiveBytes() == [])
        try again.close()
        // Later base files keep the position.
        try compact(engine)
        #expect(engine.snapshot().removalsCompactedThrough == position(4))
        try engine.close()
    }

    @Test func `many removals are dropped from the tree`() throws {
        let engine = try open()
        let keys: [[UInt8]] = (0..<600).map { [1, UInt8($0 / 256), UInt8($0 % 256)] }
        for removes in [false, true] {
            var batch = WriteBatch()
            for key in keys {
                if removes { try batch.remove(key) } else { try batch.put(key, []) }
            }
            _ = try engine.append(batch)
            try engine.flush()
        }
        try commit("-", to: engine)
        #expect(engine.snapshot().tree.count(in: .all) == 601)
        try compact(engine)
        try commit("-", to: engine)
        #expect(engine.snapshot().tree.count(in: .all) == 2)
        #expect(engine.liveByteCount == 46)
        #expect(engine.checkLiveBytes() == [])
        try engine.close()
    }

    @Test func `a key that is put while its removal is dropped is kept`() throws {
        let engine = try open()
        try commit("pr-", to: engine)
        engine.compactEverything()
        #expect(try engine.compactionStep(budget: 1))
        try commit("p", to: engine)
        while try engine.compactionStep() {}
        #expect(try kept(of: "pr-p", in: engine) == "..-p")
        #expect(engine.snapshot().count == 2)
        #expect(engine.liveByteCount == 2 * 23 - 1)
        #expect(engine.checkLiveBytes() == [])
        try engine.close()
    }

    @Test func `the header of a base file follows from those of the files it replaces`() throws {
        let engine = try open(limit: 46)
        for number in 1...5 as ClosedRange<UInt64> {
            clock.setWall(milliseconds: 5_000 + number)
            try commit("-", to: engine)
        }
        let logs = engine.snapshot().segments.files
        clock.setWall(milliseconds: 9_000)
        try compact(engine)
        let files = engine.snapshot().segments.files
        let segments: [ClosedRange<UInt32>] = [1...2, 3...4, 5...5]
        #expect(files.map(\.header.segments) == segments)
        for (base, (first, last)) in zip(files, [(logs[0], logs[1]), (logs[2], logs[3])]) {
            let (header, footer) = (base.header, try #require(base.footer))
            let replaced = try #require(last.footer)
            #expect(header.kind == .base && header.store == engine.store)
            #expect(header.firstCommit == first.header.firstCommit)
            #expect(header.createdAt == 9_000 && header.compactedThrough == 4)
            #expect(header.chainHash == first.header.chainHash)
            #expect(footer.chainHash == replaced.chainHash)
            #expect(footer.lastCommit == CommitID(last.header.segments.upperBound))
            #expect(footer.lastCommitAt == 5_000 + footer.lastCommit)
            // Two entries of 24 bytes and operations of 23 are padded to 96 bytes.
            #expect(footer.recordCount == 2 && footer.directoryOffset == 128 + 64 + 96)
            #expect(footer.contentLength == footer.directoryOffset + 64 + 16)
            let records = records(of: base)
            #expect(records.map(\.kind) == [.compacted, .directory])
            #expect(records.map(\.operationCount) == [2, 1])
            for record in records {
                #expect(record.commit == footer.lastCommit && record.part == 0)
                #expect(record.time == footer.lastCommitAt && record.synced == LogPosition.none)
            }
        }
        try engine.close()
        let again = try open()
        #expect(again.recovery.replayedLength == 2 * (64 + 96) + 88)
        try again.close()
    }

    @Test func `a record of a base file has up to 32 KiB of operations`() throws {
        for (length, counts) in [(22_768, [2, 1]), (22_769, [1, 1, 2])] {
            let engine = try open(SimulatedVolume(seed: 21))
            for (key, count) in [(1, 10_000), (2, length)] as [(UInt8, Int)] {
                var batch = WriteBatch()
                try batch.put([key], [UInt8](repeating: key, count: count - 20 - 1))
                _ = try engine.append(batch)
                try engine.flush()
            }
            try commit("-", to: engine)
            try compact(engine)
            let base = try #require(engine.snapshot().segments.files.first)
            #expect(records(of: base).map(\.operationCount) == counts, "\(length)")
            #expect(engine.checkLiveBytes() == [])
            try engine.close()
        }
    }

    @Test func `a base file keeps the horizon of an earlier compaction that was later`() throws {
        let engine = try open(limit: 69)
        try commit("-------", to: engine)
        engine.compactEverything()
        // The first of two base files.
        #expect(try engine.compactionStep())
        let first = try #require(engine.snapshot().segments.files.first)
        #expect(first.header.segments == 1...3 && first.header.compactedThrough == 6)
        try engine.close()
        // No log file is before the horizon, so that of the base file is commit 3.
        let again = try open(history: 100)
        try compact(again)
        let second = try #require(again.snapshot().segments.files.first)
        #expect(second !== first && second.header.segments == 1...3)
        #expect(second.header.compactedThrough == 6)
        #expect(again.snapshot().compactedThrough == 6)
        try again.close()
    }
}
