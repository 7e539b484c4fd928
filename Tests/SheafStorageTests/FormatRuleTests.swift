import SheafStorage
import SheafTestSupport
import Testing

/// Rules of `format-spec/log.md` that concern a running store and not only bytes.
@Suite struct FormatRuleTests {
    private let files: [String: [UInt8]]
    private let base = "0000000001-0000000002.base"

    init() throws {
        files = try FormatVectorFiles().files
    }

    @Test func `a key of 1,024 bytes can be put and removed, but a longer one is refused`() throws {
        let volume = SimulatedVolume()
        let longest = [UInt8](repeating: 0xFE, count: 1_024)
        for isPut in [true, false, true] {
            let engine = try StoreEngine(opening: volume)
            var batch = WriteBatch()
            if isPut { try batch.put(longest, [1]) } else { try batch.remove(longest) }
            _ = try engine.append(batch)
            try engine.close()
            // The first round recovers from the log, the second one from a checkpoint.
            for _ in 0..<2 {
                let again = try StoreEngine(opening: volume)
                #expect(again.snapshot().count == (isPut ? 1 : 0))
                let removed = FormatVectorFiles.pointers(again.snapshot(), removed: true)
                #expect(removed.map(\.0) == (isPut ? [] : [longest]))
                try again.writeCheckpoint()
                try again.close()
            }
        }
        var batch = WriteBatch()
        let refusal = StorageError.limit(name: "maximumKeyLength", value: 1_025, limit: 1_024)
        #expect(throws: refusal) { try batch.put(longest + [1], []) }
        #expect(throws: refusal) { try batch.remove(longest + [1]) }
    }

    @Test func `a store at the last commit ID refuses further commits`() throws {
        let right = files[base] ?? []
        let footer = FormatVectorBytes.sealingFooter(
            FormatVectorBytes.setting(Array(right[424...]), 8, at: 24, to: .max))
        let volume = SimulatedVolume(files: [base: right[..<424] + footer])
        for usesCheckpoint in [false, true] {
            let engine = try StoreEngine(opening: volume)
            #expect((engine.recovery.usedCheckpoint != nil) == usesCheckpoint)
            #expect(engine.snapshot().commit == .max)
            var batch = WriteBatch()
            try batch.put([1], [1])
            let refusal = StorageError.commitsExhausted
            #expect(throws: refusal) { try engine.append(batch) }
            #expect(try !engine.flush())
            engine.compactEverything()
            while try engine.compactionStep() {}
            try engine.writeCheckpoint()
            try engine.close()
        }
    }

    @Test func `unknown files are kept, even with file name extensions of the store`() throws {
        let foreign = [
            "+1.tmp", "FF.tmp", "0001.tmp", "0123456789ABCDEF.tmp", "00123456789abcdef.tmp",
            "0123456789abcde.tmp", ".tmp", "1.log", "0000000000.log", "4294967296.log",
            "0000000002-0000000001.base", "7.checkpoint", "notes",
        ]
        var files = files
        for name in foreign + ["0123456789abcdef.tmp"] { files[name] = [1] }
        let volume = SimulatedVolume(files: files)
        try StoreEngine(opening: volume).close()
        let left = try volume.names()
        for name in foreign { #expect(left.contains(name), "\(name)") }
        #expect(!left.contains("0123456789abcdef.tmp"))
    }

    @Test func `a removal that compaction has dropped is not restored from an older checkpoint`()
        throws
    {
        // The checkpoint precedes the compaction that dropped the removal of car:2. Commit 9, which
        // puts car:2 again, is truncated.
        var files = files
        files["0000000006.log"] = Array((files["0000000006.log"] ?? []).prefix(224))
        let engine = try FormatVectorFiles.open(files)
        #expect(engine.recovery.usedCheckpoint == FormatVectorStore.checkpoint)
        #expect(engine.snapshot().commit == 8)
        let removed = FormatVectorFiles.pointers(engine.snapshot(), removed: true)
        #expect(removed.map(\.0) == [Array("car:4".utf8)])
    }

    @Test func `recovery seals the tail, so that later damage to its last bytes is detected`()
        throws
    {
        let last = "0000000006.log"
        for cut in [224, 360, 480] {
            var files = files
            files[last] = Array((files[last] ?? []).prefix(cut))
            let volume = SimulatedVolume(files: files)
            let engine = try StoreEngine(opening: volume)
            let end = engine.snapshot().end.offset
            #expect(end == min(cut, 360))
            // The process dies; the footer written by recovery remains.
            let sealed = volume.snapshotFiles()
            for offset in 128..<end {
                var damaged = sealed
                damaged[last]?[offset] ^= 0x10
                let found = #expect(throws: StorageError.self) {
                    try FormatVectorFiles.open(damaged)
                }
                guard case .corrupt(let damage) = found else {
                    Issue.record("Offset \(offset): \(String(describing: found))")
                    continue
                }
                #expect(damage.file == last)
            }
        }
    }
}
