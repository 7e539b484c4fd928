import SheafStorage
import SheafTestSupport
import Testing

/// Tests of weights that keys get without a commit.
@Suite struct StoredWeightTests {
    private let volume = SimulatedVolume(seed: 18)
    private let engine: StoreEngine

    init() throws {
        engine = try StoreEngine(opening: volume, options: SmallStore.options(seed: 18))
    }

    private func append(_ number: UInt8) throws {
        var batch = WriteBatch()
        try batch.put([1, number], [number])
        _ = try engine.append(batch)
    }

    private func pointer(_ number: UInt8) throws -> RecordPointer {
        try #require([1, number].withUnsafeBytes { engine.snapshot().recordPointer(of: $0) })
    }

    private func weight(_ number: UInt8, in log: LogSnapshot) -> UInt64? {
        [1, number].withUnsafeBytes { log.tree.find($0) }?.weight
    }

    @Test func `weights are published at once while nothing is pending`() throws {
        for number in 1...2 as ClosedRange<UInt8> { try append(number) }
        try engine.flush()
        let before = engine.snapshot()
        engine.setWeights([([1, 1], try pointer(1), 7), ([1, 2], try pointer(2), 8)])
        let after = engine.snapshot()
        #expect(weight(1, in: after) == 7 && weight(2, in: after) == 8)
        #expect(weight(1, in: before) == nil && weight(2, in: before) == nil)
        #expect(after.commit == before.commit && after.end == before.end)
        #expect(after.indexMark == before.indexMark && after.segments === before.segments)
        // A later operation has no weight, and a checkpoint keeps that of others.
        try append(1)
        try engine.flush()
        try engine.writeCheckpoint()
        #expect(weight(1, in: engine.snapshot()) == nil && weight(2, in: engine.snapshot()) == 8)
        let again = try StoreEngine(opening: volume.processDeath())
        #expect(again.recovery.usedCheckpoint != nil)
        #expect(weight(1, in: again.snapshot()) == nil && weight(2, in: again.snapshot()) == 8)
        try engine.close()
    }

    @Test func `weights are published with pending commits, except those of changed keys`() throws {
        for number in 1...2 as ClosedRange<UInt8> { try append(number) }
        try engine.flush()
        let pointers = try [1, 2].map { try pointer($0) }
        try append(2)
        engine.setWeights([([1, 1], pointers[0], 7), ([1, 2], pointers[1], 8)])
        // No snapshot has a part of the pending commit.
        #expect(weight(1, in: engine.snapshot()) == nil)
        try engine.flush()
        #expect(weight(1, in: engine.snapshot()) == 7)
        #expect(weight(2, in: engine.snapshot()) == nil)
        // An absent key gets no entry.
        engine.setWeights([([1, 3], pointers[0], 9), ([1, 1], pointers[1], 9)])
        #expect(engine.snapshot().count == 2)
        #expect(weight(1, in: engine.snapshot()) == 7)
        #expect(engine.checkLiveBytes() == [])
        try engine.close()
    }
}
