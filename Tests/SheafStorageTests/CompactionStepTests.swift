import SheafStorage
import SheafTestSupport
import Testing

/// Tests of the steps of a compaction: their length, their progress, and their failure.
@Suite struct CompactionStepTests {
    private let volume = SimulatedVolume(seed: 9)

    /// Opens a store in which each commit has its own segment.
    private func open(_ volume: SimulatedVolume? = nil) throws -> StoreEngine {
        var options = SmallStore.options(seed: 9)
        options.segmentLength = 1
        options.history = HistoryHorizon(commits: 0, bytes: .max)
        options.freeGarbage = 1 << 40
        return try StoreEngine(opening: volume ?? self.volume, options: options)
    }

    /// Commits a put of 80,000 bytes in the log.
    private func put(_ number: UInt8, to engine: StoreEngine) throws {
        var batch = WriteBatch()
        try batch.put([1, number], [UInt8](repeating: number, count: 80_000 - 22))
        _ = try engine.append(batch)
        try engine.flush()
    }

    private func temporaries() throws -> [String] {
        try volume.names().filter { FileName($0) == .temporary }
    }

    @Test func `a step reads about its budget, and reports the length of reads and writes`() throws
    {
        let engine = try open()
        for number in 1...6 as ClosedRange<UInt8> { try put(number, to: engine) }
        engine.compactEverything()
        var progress: [[Int]] = []
        for _ in 0..<10 {
            var step: [Int] = []
            let goesOn = try engine.compactionStep(budget: 1) { step.append($0) }
            #expect(goesOn)
            progress.append(step)
        }
        // Each of the five segments has a record and a footer. The first four records, with entries
        // of 24 bytes, and the header are written when they have 256 KiB.
        var expected: [[Int]] = []
        for _ in 0..<4 { expected += [[80_064], [88]] }
        expected += [[320_480, 80_064], [88]]
        #expect(progress == expected)
        #expect(try temporaries().count == 1)
        var last: [Int] = []
        for isBusy in [true, false] {
            let goesOn = try engine.compactionStep(budget: 1) { last.append($0) }
            #expect(goesOn == isBusy)
            #expect(try temporaries() == [])
        }
        #expect(last == [])
        let files = engine.snapshot().segments.files
        #expect(files.map(\.name) == ["0000000001-0000000005.base", "0000000006.log"])
        let logs = try volume.names().filter { $0.hasSuffix(".log") }
        #expect(logs == ["0000000006.log"])
        try engine.close()
    }

    @Test func `a step ends once it has read its budget`() throws {
        // A segment has a record of 80,064 bytes and a footer of 88.
        for (budget, expected) in [
            (1, 80_064), (80_064, 80_064), (80_065, 80_152), (80_152, 80_152), (80_153, 160_216),
        ] {
            let engine = try open(SimulatedVolume(seed: 9))
            for number in 1...4 as ClosedRange<UInt8> { try put(number, to: engine) }
            engine.compactEverything()
            var read: [Int] = []
            _ = try engine.compactionStep(budget: budget) { read.append($0) }
            #expect(read == [expected], "\(budget)")
        }
    }

    @Test func `plans for files that a compaction has replaced meanwhile are left out`() throws {
        let engine = try open()
        for number in 1...4 as ClosedRange<UInt8> { try put(number, to: engine) }
        engine.compactEverything()
        #expect(try engine.compactionStep(budget: 1))
        // The same plan is queued while it runs.
        engine.compactEverything()
        while try engine.compactionStep() {}
        let files = engine.snapshot().segments.files
        #expect(files.map(\.name) == ["0000000001-0000000003.base", "0000000004.log"])
        engine.compactEverything()
        #expect(try !engine.compactionStep())
        try engine.close()
    }

    @Test func `a failed compaction is not repeated until the store is opened again`() throws {
        // The file is renamed after its last write.
        for operation in [VolumeError.Operation.write, .rename] {
            let engine = try open()
            for number in 1...4 as ClosedRange<UInt8> { try put(number, to: engine) }
            engine.compactEverything()
            volume.inject(
                SimulatedFault(.error(.inputOutput), of: operation, onFilesEndingIn: ".tmp"))
            #expect(throws: StorageError.self) { while try engine.compactionStep() {} }
            #expect(try temporaries() == [])
            engine.compactEverything()
            #expect(try !engine.compactionStep())
            // Commits are accepted, and all keys are read from the log.
            try put(5, to: engine)
            #expect(engine.snapshot().count == 5)
            let kinds = engine.snapshot().segments.files.map(\.header.kind)
            #expect(!kinds.contains(.base))
            try engine.close()
            volume.removeFaults()
        }
        let engine = try open()
        engine.compactEverything()
        while try engine.compactionStep() {}
        #expect(engine.snapshot().segments.files.map(\.header.kind) == [.base])
        #expect(engine.snapshot().count == 5)
        try engine.close()
    }

    @Test func `later files contain earlier ones until a base file replaces them`() throws {
        let engine = try open()
        for number in 1...2 as ClosedRange<UInt8> { try put(number, to: engine) }
        let before = engine.snapshot().segments
        try put(3, to: engine)
        let after = engine.snapshot().segments
        #expect(after.contains(before) && after.contains(after))
        #expect(!before.contains(after))
        engine.compactEverything()
        while try engine.compactionStep() {}
        let compacted = engine.snapshot().segments
        #expect(compacted.files.count == 2 && compacted.lastNumber == 3)
        #expect(!compacted.contains(before) && !after.contains(compacted))
        try engine.close()
    }
}
