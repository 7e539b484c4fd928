import SheafStorage
import SheafTestSupport
import Testing

/// The store of the vectors with fields changed on purpose, and all checksums right again.
///
/// It may open or be refused; what counts is that the process is still there at the end.
@Suite struct FormatVectorHostileTests {
    private let files: [String: [UInt8]]
    private let seal: FormatVectorSeal

    init() throws {
        files = try FormatVectorFiles().files
        seal = FormatVectorSeal(files)
    }

    @Test func `sealing what was not changed changes nothing`() {
        #expect(seal.sealing(files) == files)
    }

    @Test func `a changed field with right checksums does no harm`() {
        for (name, bytes) in files {
            for offset in bytes.indices {
                // Most of a checkpoint is unused, and pages have tests of their own.
                if name.hasSuffix(".checkpoint"), bytes[offset] == 0, offset % 64 != 0 { continue }
                for changed in changes(bytes, at: offset) where changed != bytes {
                    var changedFiles = files
                    changedFiles[name] = changed
                    use(seal.sealing(changedFiles))
                }
            }
        }
    }

    /// Numbers that are a little wrong, and such that are as large or as small as can be.
    private func changes(_ bytes: [UInt8], at offset: Int) -> [[UInt8]] {
        let byte = UInt64(bytes[offset])
        var changes = [(1, byte ^ 1), (1, byte ^ 0x80), (1, byte &+ 1)]
        if offset % 4 == 0 { changes += [(4, .max), (4, 0)] }
        if offset % 8 == 0 { changes += [(8, .max), (8, .max - 1)] }
        return changes.compactMap { size, value in
            guard offset + size <= bytes.count else { return nil }
            return FormatVectorBytes.setting(bytes, size, at: offset, to: value)
        }
    }

    /// Opens a store and does everything with it that can be done.
    private func use(_ files: [String: [UInt8]]) {
        do throws(StorageError) {
            let volume = SimulatedVolume(files: files)
            var options = LogStoreOptions()
            options.segmentLength = 480
            options.recordLength = 100
            options.history = HistoryHorizon(commits: 1, bytes: 1)
            options.checkpointLength = 1
            let engine = try StoreEngine(opening: volume, options: options)
            var batch = WriteBatch()
            for removed in [false, true] {
                for (key, place) in FormatVectorFiles.places(engine.snapshot(), removed: removed) {
                    _ = try? key.withUnsafeBytes {
                        try engine.snapshot().operation(of: $0, at: place)
                    }
                    if key.count < 1_000, key.first ?? 0 != 0 {
                        try batch.put(key, [UInt8](repeating: 7, count: 90))
                    }
                }
            }
            try batch.remove([7])
            _ = try engine.append(batch)
            try engine.flush()
            try engine.prepareNextSegment()
            engine.compactEverything()
            while try engine.compactionStep() {}
            try engine.close()
        } catch {
            // Refused: that is what errors are for.
        }
    }
}
