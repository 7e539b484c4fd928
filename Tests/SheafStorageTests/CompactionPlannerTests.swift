import SheafStorage
import SheafTestSupport
import Testing

/// Tests of the choice of files that are compacted together; each record has its own segment.
@Suite struct CompactionPlannerTests {
    /// The lengths of a file's puts: those that stay, and those that are removed afterwards.
    private typealias File = (live: [Int], garbage: [Int])

    /// The bytes of a segment file beside its operations: 128 + 64 + 88.
    private static let overhead = 280
    /// The length of operations with which a file is no longer small.
    private static let largeLength = (64 << 10) - overhead

    private func engine(
        _ volume: SimulatedVolume, limit: Int = 1 << 30, excessive: Bool = true,
        recordLength: Int = 1 << 30,
        history: HistoryHorizon = HistoryHorizon(commits: 0, bytes: .max)
    ) throws -> StoreEngine {
        var options = SmallStore.options(seed: 8)
        options.segmentLength = 1
        options.recordLength = recordLength
        options.history = history
        options.compactedLength = limit
        options.liveShare = 1
        options.freeGarbage = excessive ? 0 : 1 << 40
        return try StoreEngine(opening: volume, options: options)
    }

    private func commit(
        _ engine: StoreEngine, _ fill: (inout WriteBatch) throws -> Void
    ) throws {
        var batch = WriteBatch()
        try fill(&batch)
        _ = try engine.append(batch)
        try engine.flush()
    }

    /// Commits puts of these lengths in the log; a header and a key take 23 bytes of each.
    private func put(_ file: Int, _ lengths: [Int], to engine: StoreEngine) throws {
        try commit(engine) { batch in
            for (index, length) in lengths.enumerated() {
                try batch.put(
                    [1, UInt8(file), UInt8(index)], [UInt8](repeating: 7, count: length - 23))
            }
        }
    }

    private func remove(_ keys: [[UInt8]], from engine: StoreEngine) throws {
        try commit(engine) { batch in
            for key in keys { try batch.remove(key) }
        }
    }

    /// Fills a store with files, and an unsealed one that removes the garbage of the others.
    private func fill(_ engine: StoreEngine, _ files: [File]) throws {
        var garbage: [[UInt8]] = [[2]]
        for (index, file) in files.enumerated() {
            try put(index + 1, file.live + file.garbage, to: engine)
            for number in file.garbage.indices {
                garbage.append([1, UInt8(index + 1), UInt8(file.live.count + number)])
            }
        }
        try remove(garbage, from: engine)
    }

    /// Returns the segments of each plan, such as `1...3`.
    private func segments(_ plans: [CompactionPlan]) -> [String] {
        plans.map { "\($0.segments)" }
    }

    /// Returns the segments of each file of a store.
    private func segments(of engine: StoreEngine) -> [String] {
        engine.snapshot().segments.files.map { "\($0.header.segments)" }
    }

    /// Returns the segments of the plan that is due in a store with these files.
    private func due(
        _ files: [File], limit: Int = 1 << 30, excessive: Bool = true
    ) throws -> [String] {
        let engine = try engine(SimulatedVolume(seed: 8), limit: limit, excessive: excessive)
        try fill(engine, files)
        return segments(engine.compactionPlans(everything: false))
    }

    private func compact(_ engine: StoreEngine) throws {
        engine.compactEverything()
        while try engine.compactionStep() {}
    }

    @Test func `eight consecutive files of less than 64 KiB are merged, and no fewer`() throws {
        let small: File = ([48], [])
        let large: File = ([Self.largeLength], [])
        func many(_ file: File, _ count: Int) -> [File] { Array(repeating: file, count: count) }
        func plans(_ files: [File]) throws -> [String] {
            try due(files, excessive: false)
        }
        #expect(try plans(many(small, 7)) == [])
        #expect(try plans(many(small, 8)) == ["1...8"])
        #expect(try plans(many(small, 9)) == ["1...9"])
        #expect(try plans(many(small, 7) + [large] + many(small, 8)) == ["9...16"])
        #expect(try plans(many(small, 8) + [large] + many(small, 9)) == ["1...8"])
        #expect(try plans(many(small, 4) + [large] + many(small, 4)) == [])
        let almostLarge: File = ([Self.largeLength - 8], [])
        #expect(try plans(many(almostLarge, 8)) == ["1...8"])
        #expect(try plans(many(almostLarge, 4) + [large] + many(almostLarge, 3)) == [])
    }

    @Test func `the file with the smallest share of live bytes is compacted`() throws {
        #expect(
            try due([([60_000], [40_000]), ([30_000], [70_000]), ([55_000], [45_000])]) == ["2...2"]
        )
        // The share counts, and neither the live bytes nor the garbage.
        #expect(try due([([110_000], [90_000]), ([60_000], [40_000])]) == ["1...1"])
        #expect(try due([([130_000], [80_000]), ([60_000], [40_000])]) == ["2...2"])
        #expect(try due([([60_000], [40_000]), ([60_000], [40_000])]) == ["1...1"])
        #expect(try due([([100_000], []), ([100_000], [])]) == [])
        let files: [File] = [([30_000], [70_000])]
        #expect(try due(files, excessive: false) == [])
    }

    @Test func `a file is compacted from a tenth of garbage on, to the byte`() throws {
        // The file has 82,800 bytes, of which 8,000 and those beside operations are garbage.
        #expect(try due([([74_520], [8_000])]) == ["1...1"])
        #expect(try due([([74_528], [8_000])]) == [])
    }

    @Test func `neighbors that are small, or garbage for the greater part, are added`() throws {
        let (half, empty): (File, File) = (([45_000], [55_000]), ([30_000], [70_000]))
        #expect(try due([([60_000], [40_000]), empty, half, ([60_000], [40_000])]) == ["2...3"])
        #expect(try due([half, empty, half]) == ["1...3"])
        let small: File = ([60_000], [])
        #expect(try due([small, empty, small, ([80_000], [])]) == ["1...3"])
        #expect(try due([([80_000], []), small, empty, ([80_000], []), small]) == ["2...3"])
        // The second file has as many live bytes as others, or eight more.
        #expect(try due([empty, ([80_280], [80_000])]) == ["1...2"])
        #expect(try due([empty, ([80_288], [80_000])]) == ["1...1"])
    }

    @Test func `neighbors are added up to the limit of live bytes, later ones first`() throws {
        let files: [File] = [([45_000], [55_000]), ([30_000], [70_000]), ([45_000], [55_000])]
        for (limit, expected) in [
            (120_000, "1...3"), (119_999, "2...3"), (75_000, "2...3"), (74_999, "2...2"),
            (0, "2...2"),
        ] as [(Int, String)] {
            #expect(try due(files, limit: limit) == [expected], "\(limit)")
        }
    }

    @Test func `a plan has the lengths and the last commit of its files`() throws {
        let engine = try engine(SimulatedVolume(seed: 8))
        try fill(engine, [([45_000], [55_000]), ([30_000], [70_000]), ([80_000], [])])
        let plans = engine.compactionPlans(everything: false)
        #expect(segments(plans) == ["1...2"])
        let plan = try #require(plans.first)
        #expect(plan.length == 200_560 && plan.liveLength == 75_000)
        // All sealed files are older than the horizon.
        #expect(plan.horizonCommit == 3)
        #expect(plan.files.map(\.name) == ["0000000001.log", "0000000002.log"])
    }

    @Test func `the segments of a commit are compacted together`() throws {
        let engine = try engine(SimulatedVolume(seed: 8), limit: 0, recordLength: 1)
        try put(1, [80_000], to: engine)
        try put(2, [80_000, 80_000, 80_000], to: engine)
        try put(3, [80_000], to: engine)
        try remove([[1, 2, 1]], from: engine)
        #expect(engine.snapshot().end.segment == 6)
        #expect(segments(engine.compactionPlans(everything: false)) == ["2...4"])
        #expect(segments(engine.compactionPlans(everything: true)) == ["1...1", "2...4", "5...5"])
        // The commit of the unsealed segment begins in a sealed one.
        try put(4, [80_000, 48], to: engine)
        #expect(
            segments(engine.compactionPlans(everything: true)) == [
                "1...1", "2...4", "5...5", "6...6",
            ])
        try compact(engine)
        #expect(
            segments(of: engine) == ["1...1", "2...4", "5...5", "6...6", "7...7", "8...8"])
        #expect(engine.checkLiveBytes() == [])
        try engine.close()
    }

    @Test func `small files are merged with all segments of their commits`() throws {
        let later = try engine(SimulatedVolume(seed: 8), excessive: false, recordLength: 1)
        for number in 1...7 { try put(number, [48], to: later) }
        try put(8, [48, 80_000], to: later)
        try put(9, [80_000], to: later)
        try put(10, [48], to: later)
        #expect(segments(later.compactionPlans(everything: false)) == ["1...9"])
        let earlier = try engine(SimulatedVolume(seed: 8), excessive: false, recordLength: 1)
        try put(1, [80_000], to: earlier)
        try put(2, [80_000, 48], to: earlier)
        for number in 3...10 { try put(number, [48], to: earlier) }
        #expect(segments(earlier.compactionPlans(everything: false)) == ["2...10"])
    }

    @Test func `a base file alone is compacted again from a tenth of garbage on`() throws {
        // Beside the operations, the base file has 488 bytes; 40,000 bytes are removed.
        for (live, isDue) in [(364_392, true), (364_400, false)] {
            let engine = try engine(SimulatedVolume(seed: 8), limit: 0)
            try put(1, [live, 40_000], to: engine)
            try remove([[2]], from: engine)
            try compact(engine)
            let base = try #require(engine.snapshot().segments.files.first)
            #expect(base.name == "0000000001-0000000001.base")
            #expect(base.footer?.contentLength == live + 40_400)
            #expect(segments(engine.compactionPlans(everything: true)) == [])
            try remove([[1, 1, 1]], from: engine)
            #expect(
                segments(engine.compactionPlans(everything: true))
                    == (isDue ? ["1...1", "2...2"] : ["2...2"]), "\(live)")
        }
    }

    @Test func `a base file is merged with later files, and is always older than the horizon`()
        throws
    {
        let volume = SimulatedVolume(seed: 8)
        let first = try engine(volume)
        try fill(first, [([80_000], []), ([80_000], []), ([80_000], [])])
        try compact(first)
        #expect(segments(of: first) == ["1...3", "4...4"])
        try remove([[1, 1, 0]], from: first)
        #expect(segments(first.compactionPlans(everything: true)) == ["1...4"])
        try first.close()
        let second = try engine(volume, history: HistoryHorizon(commits: .max, bytes: .max))
        let plans = second.compactionPlans(everything: true)
        #expect(segments(plans) == ["1...3"])
        #expect(plans.map(\.horizonCommit) == [3])
        try second.close()
    }

    @Test func `removals are dropped only by a compaction that begins with the first segment`()
        throws
    {
        let volume = SimulatedVolume(seed: 8)
        func removal(_ engine: StoreEngine) -> RecordPointer? {
            ([1, 1, 0] as [UInt8]).span.withUnsafeBytes { engine.snapshot().removal(of: $0) }
        }
        let single = try engine(volume, limit: 0)
        try put(1, [80_000], to: single)
        try remove([[1, 1, 0]], from: single)
        for number in 2...3 { try put(number, [80_000], to: single) }
        try compact(single)
        #expect(single.snapshot().segments.files.map(\.header.kind) == [.base, .base, .base, .log])
        #expect(removal(single) != nil)
        try single.close()
        let merging = try engine(volume)
        #expect(removal(merging) != nil)
        try compact(merging)
        // The next commit publishes a tree without the removal.
        try put(4, [48], to: merging)
        #expect(segments(of: merging) == ["1...4", "5...5"])
        #expect(removal(merging) == nil)
        #expect(merging.snapshot().count == 3)
        #expect(merging.checkLiveBytes() == [])
        try merging.close()
    }
}
