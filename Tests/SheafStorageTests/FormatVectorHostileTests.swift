import SheafStorage
import SheafTestSupport
import Testing

/// The vector store with maliciously changed fields and valid checksums.
///
/// The store may open or be refused, but the process must not crash.
@Suite struct FormatVectorHostileTests {
    private let files: [String: [UInt8]]
    private let seal: FormatVectorChecksums

    init() throws {
        files = try FormatVectorFiles().files
        seal = FormatVectorChecksums(files)
    }

    @Test func `sealing unchanged files changes nothing`() {
        #expect(seal.sealing(files) == files)
    }

    @Test func `a changed field with valid checksums does not crash the process`() {
        let start = Int.random(in: 0..<3)
        print("changed fields from offset \(start)")
        for (name, bytes) in files {
            for offset in stride(from: start, to: bytes.count, by: 3) {
                // Most of a checkpoint is unused, and other tests cover its pages.
                if name.hasSuffix(".checkpoint"), bytes[offset] == 0, offset % 64 != 0 { continue }
                for changed in changes(bytes, at: offset) where changed != bytes {
                    var changedFiles = files
                    changedFiles[name] = changed
                    use(seal.sealing(changedFiles))
                }
            }
        }
    }

    @Test func `compaction reports an operation that names itself as the previous one`() throws {
        var changed = files
        let log = try #require(files["0000000006.log"])
        // The operation at 192 points to itself as the previous one.
        changed["0000000006.log"] = FormatVectorBytes.setting(log, 8, at: 200, to: 6 << 32 | 192)
        var options = LogStoreOptions()
        options.history = HistoryHorizon(commits: 2, bytes: .max)
        let engine = try StoreEngine(
            opening: SimulatedVolume(files: seal.sealing(changed)), options: options)
        engine.compactEverything()
        #expect(throws: StorageError.self) { while try engine.compactionStep() {} }
    }

    @Test func `a store that has used all segment numbers refuses commits`() throws {
        let name = try #require(files.keys.first { $0.hasSuffix(".base") })
        var changed = files
        changed[name] = FormatVectorBytes.setting(
            try #require(files[name]), 4, at: 36, to: UInt64(UInt32.max - 1))
        let base = try #require(seal.sealing(changed)[name])
        let engine = try StoreEngine(
            opening: SimulatedVolume(files: ["0000000001-4294967294.base": base]))
        var batch = WriteBatch()
        try batch.put([1], [2])
        #expect(
            throws: StorageError.limit(
                name: "maximumSegments", value: Int(UInt32.max - 1),
                limit: Int(Limits.maximumSegments))
        ) { try engine.append(batch) }
        try engine.prepareNextSegment()
        try engine.close()
    }

    /// Returns the bytes with the value at `offset` changed slightly, or to an extreme value.
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

    /// Opens a store and runs all operations on it.
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
                for (key, newest) in FormatVectorFiles.pointers(engine.snapshot(), removed: removed)
                {
                    _ = try? key.withUnsafeBytes {
                        try engine.snapshot().operation(of: $0, at: newest)
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
            // Errors are an accepted outcome.
        }
    }
}
