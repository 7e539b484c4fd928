import SheafStorage
import SheafTestSupport
import Testing

/// Delta records across compaction, recovery, checkpoints and damage.
@Suite struct DeltaChainTests {
    private let volume = SimulatedVolume(seed: 7)

    private func open(_ history: HistoryHorizon = HistoryHorizon(commits: 0, bytes: .max)) throws
        -> StoreEngine
    {
        var options = LogStoreOptions()
        options.segmentLength = 1_000
        options.history = history
        return try StoreEngine(opening: volume, options: options)
    }

    private func commit(_ engine: StoreEngine, _ build: (inout WriteBatch) throws -> Void) throws {
        var batch = WriteBatch()
        try build(&batch)
        _ = try engine.append(batch)
        try engine.flush()
    }

    private func compact(_ engine: StoreEngine) throws {
        engine.compactEverything()
        while try engine.compactionStep() {}
    }

    private func payloads(_ key: String, in snapshot: LogSnapshot) throws -> [String] {
        try Array(key.utf8).span.withUnsafeBytes { try snapshot.operations(of: $0) }.map {
            String(decoding: $0.operation.payload, as: UTF8.self)
        }
    }

    private func put(_ key: String, _ payload: String) -> (inout WriteBatch) throws -> Void {
        { try $0.put(Array(key.utf8), Array(payload.utf8)) }
    }

    private func extend(_ key: String, _ payload: String) -> (inout WriteBatch) throws -> Void {
        { try $0.extend(Array(key.utf8), Array(payload.utf8)) }
    }

    private func fill(_ engine: StoreEngine) throws {
        for number in 0..<20 { try commit(engine, put("filler\(number)", "\(number)")) }
    }

    @Test func `compaction keeps the operations of a key until they are superseded`()
        throws
    {
        let engine = try open()
        try commit(engine, put("a", "1"))
        for number in 2...4 {
            try fill(engine)
            try commit(engine, extend("a", "\(number)"))
        }
        try fill(engine)
        try compact(engine)
        #expect(try payloads("a", in: engine.snapshot()) == ["4", "3", "2", "1"])
        #expect(engine.checkLiveBytes() == [])
        let live = engine.usage().liveBytes
        try commit(engine, put("a", "5"))
        #expect(engine.checkLiveBytes() == [])
        #expect(engine.usage().liveBytes == live - 3 * 22)
        try fill(engine)
        try compact(engine)
        try compact(engine)
        let key = Array("a".utf8)
        var history = key.span.withUnsafeBytes { engine.snapshot().history(of: $0) }
        #expect(try history.next() != nil)
        #expect(try history.next() == nil)
        #expect(history.isCompactedAway)
        #expect(engine.checkLiveBytes() == [])
    }

    @Test func `a key with delta records is recovered with and without a checkpoint`() throws {
        let engine = try open()
        try commit(engine, put("a", "1"))
        try commit(engine, extend("a", "2"))
        try engine.writeCheckpoint()
        try commit(engine, extend("a", "3"))
        try engine.close()
        for usesCheckpoint in [true, false] {
            var files = volume.snapshotFiles()
            if !usesCheckpoint { files = files.filter { !$0.key.hasSuffix(".checkpoint") } }
            let again = try StoreEngine(opening: SimulatedVolume(files: files))
            #expect((again.recovery.usedCheckpoint != nil) == usesCheckpoint)
            #expect(try payloads("a", in: again.snapshot()) == ["3", "2", "1"])
            #expect(again.checkLiveBytes() == [])
            try commit(again) { try $0.remove(Array("a".utf8)) }
            #expect(again.checkLiveBytes() == [])
            try again.close()
        }
    }

    @Test func `live bytes of a checkpoint are recounted for segments compacted since`() throws {
        var engine = try open()
        try commit(engine, put("a", "1"))
        for number in 2...9 { try commit(engine, extend("a", "\(number)")) }
        try fill(engine)
        try engine.writeCheckpoint()
        try commit(engine, put("a", "new"))
        try fill(engine)
        try compact(engine)
        #expect(engine.checkLiveBytes() == [])
        // After a process crash, recovery starts from the checkpoint.
        let left = volume.processDeath(seed: 1)
        engine = try StoreEngine(opening: left)
        #expect(engine.recovery.usedCheckpoint != nil)
        #expect(engine.checkLiveBytes() == [])
        #expect(try payloads("a", in: engine.snapshot()) == ["new"])
        #expect(try Verifier.verifyFiles(of: left).findings.allSatisfy { $0.severity == .note })
    }

    @Test func `reading a chain beyond the length limit fails`() throws {
        let engine = try open()
        try commit(engine, put("a", "1"))
        try commit(engine) { batch in
            for _ in 1..<Limits.maximumChainLength { try batch.extend([97], [50]) }
        }
        #expect(try payloads("a", in: engine.snapshot()).count == Limits.maximumChainLength)
        try fill(engine)
        try compact(engine)
        #expect(try payloads("a", in: engine.snapshot()).count == Limits.maximumChainLength)
        try commit(engine, extend("a", "one too many"))
        let limit = Limits.maximumChainLength
        #expect(
            throws: StorageError.limit(name: "maximumChainLength", value: limit + 1, limit: limit)
        ) { _ = try payloads("a", in: engine.snapshot()) }
        try commit(engine, put("a", "2"))
        #expect(engine.checkLiveBytes() == [])
    }

    @Test func `a delta record without a base is reported as damage and does not trap`() throws {
        let files = try FormatVectorFiles().files
        let last = "0000000006.log"
        // The operation at 323 is a delta record of car:1, with its previous pointer at 331; car:4
        // was removed at 192.
        let (missing, foreign, forward) = (
            "the delta has no operation it is based on", "the chain of a key reaches another key",
            "the chain of a key does not point backward"
        )
        for (previous, report) in [
            (0, "323: \(missing)"), (6 << 32 | 192, "192: \(foreign)"),
            (6 << 32 | 323, "323: \(forward)"), (6 << 32 | 288, nil),
            (1 << 32 | 192, "323: \(missing)"),
        ] as [(UInt64, String?)] {
            var changed = files
            changed[last] = FormatVectorBytes.setting(
                try #require(files[last]), 8, at: 331, to: previous)
            changed = FormatVectorChecksums(files).sealing(changed)
            let engine = try FormatVectorFiles.open(changed)
            #expect(engine.snapshot().commit == 9)
            let error = #expect(throws: StorageError.self) {
                _ = try payloads("car:1", in: engine.snapshot())
            }
            guard case .corrupt(let damage) = error else {
                Issue.record("\(previous): \(String(describing: error))")
                continue
            }
            #expect(damage.file == last)
            if let report { #expect("\(damage.offset): \(damage.reason)" == report) }
            _ = engine.checkLiveBytes()
            try engine.writeCheckpoint()
            #expect(try Verifier.verify(SimulatedVolume(files: changed)).isDamaged)
            #expect(try FormatReaderRun(changed).status == 3)
        }
    }

    @Test func `a salvage counts the delta records that have lost their base`() throws {
        let engine = try open()
        try commit(engine, put("a", "1"))
        try commit(engine, put("b", "1"))
        try commit(engine, extend("b", "2"))
        try fill(engine)
        try commit(engine) { batch in
            try put("a", "2")(&batch)
            try extend("b", "3")(&batch)
        }
        try fill(engine)
        try commit(engine, extend("a", "3"))
        try commit(engine, extend("b", "4"))
        try engine.close()
        let files = volume.snapshotFiles()
        let snapshot = try StoreEngine(opening: SimulatedVolume(files: files)).snapshot()
        let lost = try Array("a".utf8).span.withUnsafeBytes { key in
            try snapshot.operations(of: key).map(\.position.segment)
        }
        #expect(lost.count == 2 && lost[0] != lost[1])
        var damaged = files
        damaged[FileName.name(ofSegment: lost[1])] = nil
        let target = SimulatedVolume()
        let report = try Salvager.salvage(SimulatedVolume(files: damaged), into: target)
        #expect(!report.isComplete)
        #expect(report.lostDeltaCount == 2)
        let saved = try StoreEngine(opening: target)
        #expect(try payloads("a", in: saved.snapshot()) == ["1"])
        #expect(try payloads("b", in: saved.snapshot()) == ["1"])
        #expect(try Verifier.verifyFiles(of: target).findings.allSatisfy { $0.severity == .note })
    }
}
