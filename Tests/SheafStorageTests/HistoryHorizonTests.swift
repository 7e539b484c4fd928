import SheafStorage
import SheafTestSupport
import Testing

/// The bounds of the history that compaction keeps, to the commit, the byte and the millisecond.
@Suite struct HistoryHorizonTests {
    private static let count: UInt64 = 20
    private let volume = SimulatedVolume(seed: 3)
    private let clock = FakeClock()

    /// Commits values of a key, each in its own segment and a second after the one before.
    init() throws {
        for number in 1...Self.count {
            clock.advance(milliseconds: 1_000)
            let engine = try engine(HistoryHorizon(commits: .max, bytes: .max))
            var batch = WriteBatch()
            try batch.put([1], [UInt8(number)])
            _ = try engine.append(batch)
            try engine.flush()
            try engine.close()
        }
    }

    private func engine(_ history: HistoryHorizon) throws -> StoreEngine {
        var options = LogStoreOptions()
        options.clock = clock.clock
        options.segmentLength = 1 << 20
        options.history = history
        return try StoreEngine(opening: volume, options: options)
    }

    /// Returns the payloads of the key, newest first, as far as the log contains them.
    private func payloads(in snapshot: LogSnapshot) throws -> [[UInt8]] {
        var payloads: [[UInt8]] = []
        var position =
            ([1] as [UInt8]).span.withUnsafeBytes { snapshot.recordPointer(of: $0) }?.position
            ?? .none
        while position != .none, let operation = try snapshot.segments.operation(at: position) {
            payloads.append(Array(operation.payload))
            position = operation.previous
        }
        return payloads
    }

    /// Checks that compaction keeps exactly the newest `kept` commits as they were written.
    private func check(_ history: HistoryHorizon, keeps kept: UInt64) throws {
        let engine = try engine(history)
        #expect(engine.snapshot().commit == Self.count)
        let horizons = engine.compactionPlans(everything: true).map(\.horizonCommit)
        // One plan covers all older segments.
        #expect(horizons == (kept < Self.count ? [Self.count - kept] : []), "\(history)")
        engine.compactEverything()
        while try engine.compactionStep() {}
        // The value at the horizon stays, because the state of that commit contains it.
        let oldest = max(Self.count - min(kept, Self.count), 1)
        #expect(
            try payloads(in: engine.snapshot())
                == (oldest...Self.count).reversed().map { [UInt8($0)] }, "\(history)")
        try engine.close()
    }

    @Test(arguments: [0, 1, 2, 5, 10, 18, 19, 20, 21, .max] as [UInt64])
    func `compaction keeps exactly the given number of commits`(commits: UInt64) throws {
        try check(HistoryHorizon(commits: commits, bytes: .max), keeps: min(commits, Self.count))
    }

    @Test(arguments: [1, 2, 5, 19] as [UInt64], [-1, 0, 1])
    func `compaction keeps the segments with the given number of newest bytes`(
        segments: UInt64, difference: Int
    ) throws {
        let engine = try engine(HistoryHorizon(commits: .max, bytes: .max))
        let files = engine.snapshot().segments.files
        let sealed = files.compactMap { $0.footer?.contentLength }
        let growing = files.filter { $0.footer == nil }.reduce(0) { $0 + $1.content.count }
        try engine.close()
        try #require(sealed.count == Int(Self.count))
        let bytes = growing + sealed.suffix(Int(segments)).reduce(0, +) + difference
        // A byte more than whole segments have needs one more segment.
        try check(
            HistoryHorizon(commits: .max, bytes: bytes),
            keeps: difference > 0 ? segments + 1 : segments)
    }

    @Test(
        arguments: [0, 1, 1_000, 1_001, 4_999, 5_000, 5_001, 18_999, 19_000, 19_001, .max]
            as [UInt64])
    func `compaction keeps the commits younger than the given age`(milliseconds: UInt64) throws {
        // The newest commit has just been written, and each other one is a second older.
        let kept = (0..<Self.count).count { $0 * 1_000 < milliseconds }
        try check(
            HistoryHorizon(commits: .max, bytes: .max, milliseconds: milliseconds),
            keeps: UInt64(kept))
    }

    @Test func `a commit beyond one of the bounds is not kept`() throws {
        try check(HistoryHorizon(commits: 10, bytes: .max, milliseconds: 5_000), keeps: 5)
    }

    @Test func `a commit within the age but not the number is not kept`() throws {
        try check(HistoryHorizon(commits: 3, bytes: .max, milliseconds: 5_000), keeps: 3)
    }

    @Test func `a store keeps the history of the documented defaults`() {
        let history = LogStoreOptions().history
        #expect(history.commits == 10_000 && history.bytes == 2_097_152)
        #expect(history.milliseconds == nil)
    }
}
