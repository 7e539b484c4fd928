import SheafStorage
import SheafTestSupport
import Testing

/// Tests of the comparison of two logs by the hashes of their segments.
@Suite struct LogComparisonTests {
    private let clock = FakeClock()

    /// Opens a store in which each commit has its own segment.
    private func open(_ volume: SimulatedVolume, seed: UInt64 = 14) throws -> StoreEngine {
        var options = SmallStore.options(seed: seed)
        options.clock = clock.clock
        options.segmentLength = 1
        options.history = HistoryHorizon(commits: 0, bytes: .max)
        return try StoreEngine(opening: volume, options: options)
    }

    private func put(_ payload: UInt8, to engine: StoreEngine) throws {
        var batch = WriteBatch()
        try batch.put([1], [payload])
        _ = try engine.append(batch)
        try engine.flush()
    }

    /// Creates a store with three commits, and a copy of it.
    private func twins() throws -> (StoreEngine, StoreEngine) {
        let volume = SimulatedVolume(seed: 14)
        let engine = try open(volume)
        for number in 1...3 as ClosedRange<UInt8> { try put(number, to: engine) }
        try engine.close()
        return (try open(volume), try open(volume.copy(identity: 99)))
    }

    private func compact(_ engine: StoreEngine) throws {
        engine.compactEverything()
        while try engine.compactionStep() {}
    }

    /// Returns the last common segment of two logs, which are compared in both directions.
    private func common(_ one: StoreEngine, _ other: StoreEngine) -> UInt32 {
        let end = one.snapshot().commonEnd(with: other.snapshot())
        #expect(other.snapshot().commonEnd(with: one.snapshot()) == end)
        #expect(end == LogPosition.none || end.offset == 0xFFFF_FFFF)
        return end.segment
    }

    private func areSame(_ one: StoreEngine, _ other: StoreEngine) -> Bool {
        let isSame = one.snapshot().isSameLog(as: other.snapshot())
        #expect(other.snapshot().isSameLog(as: one.snapshot()) == isSame)
        return isSame
    }

    @Test func `logs are common up to the last sealed segment with the same commits`() throws {
        let (one, other) = try twins()
        #expect(common(one, other) == 3 && areSame(one, other))
        // The segment of the next commit is not sealed yet.
        for engine in [one, other] { try put(4, to: engine) }
        #expect(common(one, other) == 3 && areSame(one, other))
        for engine in [one, other] { try put(5, to: engine) }
        #expect(common(one, other) == 4 && areSame(one, other))
        try put(6, to: one)
        #expect(common(one, other) == 4 && !areSame(one, other))
        try put(7, to: other)
        #expect(common(one, other) == 5 && !areSame(one, other))
        for number in 8...9 as ClosedRange<UInt8> {
            for engine in [one, other] { try put(number, to: engine) }
            #expect(common(one, other) == 5 && !areSame(one, other))
        }
    }

    @Test func `a base file ends where its last segment ended`() throws {
        let (one, other) = try twins()
        try compact(one)
        #expect(one.snapshot().segments.files.count == 1)
        #expect(common(one, other) == 3 && areSame(one, other))
        try put(4, to: one)
        try put(5, to: other)
        for engine in [one, other] { try put(6, to: engine) }
        #expect(common(one, other) == 3)
        // The base file of one log has commits that the other one lacks.
        try compact(one)
        #expect(
            one.snapshot().segments.files.map(\.name) == [
                "0000000001-0000000004.base", "0000000005.log",
            ])
        #expect(common(one, other) == 0)
        #expect(common(one, one) == 4 && areSame(one, one))
    }

    @Test func `logs of different stores have nothing in common, unless both are empty`() throws {
        let seeds: [UInt64] = [14, 15]
        let engines = try seeds.map { try open(SimulatedVolume(seed: $0), seed: $0) }
        let (one, other) = (engines[0], engines[1])
        #expect(common(one, other) == 0 && areSame(one, other))
        try put(1, to: one)
        #expect(common(one, other) == 0 && !areSame(one, other))
        try put(1, to: other)
        for engine in engines { try put(2, to: engine) }
        #expect(one.snapshot().end == other.snapshot().end)
        #expect(common(one, other) == 0 && !areSame(one, other))
    }

    @Test func `logs with commits of different times differ`() throws {
        let (one, other) = try twins()
        try put(4, to: one)
        clock.advance(milliseconds: 1)
        try put(4, to: other)
        #expect(one.snapshot().commit == other.snapshot().commit)
        #expect(one.snapshot().end == other.snapshot().end)
        #expect(!areSame(one, other))
    }
}
