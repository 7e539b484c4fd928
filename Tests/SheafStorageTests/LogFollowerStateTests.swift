import SheafBytes
import SheafStorage
import SheafTestSupport
import Testing

/// Tests of the states of a reader that follows a writer through random steps.
@Suite struct LogFollowerStateTests {
    private static let keys: [[UInt8]] = (1...10).map { [1, $0] }

    private static func open(_ volume: SimulatedVolume, seed: UInt64) throws -> StoreEngine {
        var options = SmallStore.options(seed: seed)
        options.history = HistoryHorizon(commits: 3, bytes: .max)
        return try StoreEngine(opening: volume, options: options)
    }

    /// Commits random changes; returns their keys.
    private static func commit(
        to engine: StoreEngine, _ random: inout SeededRandom
    ) throws -> Set<[UInt8]> {
        let snapshot = engine.snapshot()
        var changed: Set<[UInt8]> = []
        var batch = WriteBatch()
        for _ in 0...random.below(3) {
            let key = keys[random.below(keys.count)]
            guard changed.insert(key).inserted else { continue }
            let isPresent = key.withUnsafeBytes { snapshot.recordPointer(of: $0) } != nil
            if isPresent, random.chance(1, in: 3) {
                try batch.remove(key)
            } else if isPresent, random.chance(1, in: 2) {
                try batch.extend(key, random.bytes(random.below(30)))
            } else {
                try batch.put(key, random.bytes(random.below(30)))
            }
        }
        _ = try engine.append(batch)
        try engine.flush()
        return changed
    }

    /// Returns the payloads of each key that has some, the newest first.
    private static func payloads(_ snapshot: LogSnapshot) throws -> [[UInt8]: [[UInt8]]] {
        var payloads: [[UInt8]: [[UInt8]]] = [:]
        for key in keys {
            let operations = try key.withUnsafeBytes { try snapshot.operations(of: $0) }
            guard !operations.isEmpty else { continue }
            payloads[key] = operations.map { Array($0.operation.payload) }
        }
        return payloads
    }

    /// Advances a reader after changes of keys, and compares its state with that of the writer.
    private static func advance(
        _ follower: LogFollower, _ engine: StoreEngine, changed: Set<[UInt8]>, seed: UInt64
    ) throws {
        let before = follower.snapshot
        let advance = try follower.advance()
        let (found, log) = (follower.snapshot, engine.snapshot())
        #expect(found.commit == log.commit && found.commitAt == log.commitAt, "seed \(seed)")
        #expect(found.count == log.count, "seed \(seed)")
        #expect(try payloads(found) == payloads(log), "seed \(seed)")
        #expect(advance != nil || changed.isEmpty, "seed \(seed)")
        if let advance {
            #expect(advance.snapshot === found, "seed \(seed)")
            if let keys = advance.changedKeys {
                #expect(keys.count == changed.count && Set(keys) == changed, "seed \(seed)")
            } else {
                #expect(log.removalsCompactedThrough >= before.end, "seed \(seed)")
            }
        }
        let again = try follower.advance()
        #expect(again == nil, "seed \(seed)")
        #expect(follower.snapshot === found, "seed \(seed)")
    }

    @Test func `a reader has the keys of the writer, and those that have changed`() throws {
        for seed in 0..<16 as Range<UInt64> {
            var random = SeededRandom(seed: seed, "followed commits")
            let volume = SimulatedVolume(seed: seed)
            var engine = try Self.open(volume, seed: seed)
            _ = try Self.commit(to: engine, &random)
            let follower = try LogFollower(try LogReader(volume))
            var changed: Set<[UInt8]> = []
            for _ in 0..<60 {
                switch random.below(12) {
                case 0: try engine.writeCheckpoint()
                case 1:
                    engine.compactEverything()
                    while try engine.compactionStep() {}
                case 2:
                    try engine.close()
                    engine = try Self.open(volume, seed: seed)
                case 3...5:
                    try Self.advance(follower, engine, changed: changed, seed: seed)
                    changed = []
                default: changed.formUnion(try Self.commit(to: engine, &random))
                }
            }
            try Self.advance(follower, engine, changed: changed, seed: seed)
            try engine.close()
        }
    }

    @Test func `index entries of a reader stay, and are complete up to their commit`() throws {
        let volume = SimulatedVolume(seed: 20)
        let engine = try Self.open(volume, seed: 20)
        var random = SeededRandom(seed: 20, "followed commits")
        _ = try Self.commit(to: engine, &random)
        let follower = try LogFollower(try LogReader(volume))
        let target = RecordPointer(position: LogPosition(segment: 1, offset: 192), length: 25)
        var changes = IndexChanges()
        try changes.addEntry([255, 1], to: target)
        try changes.addEntry([255, 2], to: target)
        let first = follower.indexed(by: changes)
        #expect(first === follower.snapshot)
        #expect(first.indexMark.commit == 1 && first.indexMark.end == first.end)
        #expect(first.tree.count(in: IndexChanges.all) == 2)
        _ = try Self.commit(to: engine, &random)
        let advanced = try follower.advance()
        let second = try #require(advanced).snapshot
        // The entries for the new commit are missing.
        #expect(second.commit == 2 && second.indexMark == first.indexMark)
        #expect(second.tree.count(in: IndexChanges.all) == 2)
        var removals = IndexChanges()
        try removals.removeEntries([255, 1])
        let third = follower.indexed(by: removals)
        #expect(third.indexMark.commit == 2 && third.indexMark.end == second.end)
        #expect(third.tree.count(in: IndexChanges.all) == 1)
        #expect(second.tree.count(in: IndexChanges.all) == 2)
        try engine.close()
    }
}
