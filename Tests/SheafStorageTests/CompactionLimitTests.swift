import SheafStorage
import SheafTestSupport
import Testing

/// The maximum number of live bytes in a base file.
@Suite struct CompactionLimitTests {
    private static let count = 6
    private let volume = SimulatedVolume(seed: 4)

    /// Commits keys of equal length, each in its own segment.
    init() throws {
        for number in 1...Self.count {
            let engine = try engine(limit: nil)
            var batch = WriteBatch()
            try batch.put([1, UInt8(number)], [UInt8](repeating: 7, count: 100))
            _ = try engine.append(batch)
            try engine.flush()
            try engine.close()
        }
    }

    private func engine(limit: Int?) throws -> StoreEngine {
        var options = LogStoreOptions()
        options.clock = FakeClock().clock
        options.segmentLength = 1 << 20
        options.history = HistoryHorizon(commits: 0, bytes: 0)
        options.compactedLength = limit
        return try StoreEngine(opening: volume, options: options)
    }

    /// Returns the number of files and of live bytes of each plan to compact all segments.
    private func plans(limit: Int) throws -> (files: [Int], live: [Int]) {
        let engine = try engine(limit: limit)
        let plans = engine.compactionPlans(everything: true)
        try engine.close()
        return (plans.map(\.files.count), plans.map(\.liveLength))
    }

    @Test func `a plan has as many files as may be live in one base file, to the byte`() throws {
        let all = try plans(limit: 1 << 20)
        try #require(all.files == [Self.count])
        let length = all.live[0] / Self.count
        try #require(length > 100 && length * Self.count == all.live[0])
        for (limit, files) in [
            (6 * length, [6]), (6 * length - 1, [5, 1]), (3 * length, [3, 3]),
            (2 * length, [2, 2, 2]), (2 * length - 1, [1, 1, 1, 1, 1, 1]), (0, [1, 1, 1, 1, 1, 1]),
        ] {
            #expect(try plans(limit: limit).files == files, "\(limit)")
        }
    }
}
