import SheafBytes
import SheafStorage
import SheafTestSupport
import Testing

/// Batches whose operations change the tree in the order of their keys.
@Suite struct LargeBatchTests {
    private enum Change {
        case put(String, String, weight: UInt64?)
        case appendDelta(String, String)
        case remove(String)
    }

    private func open(_ volume: SimulatedVolume, leastSorted: Int) throws -> StoreEngine {
        var options = LogStoreOptions()
        options.segmentLength = 60_000
        options.recordLength = 500
        options.minimumEntriesForSorting = leastSorted
        options.history = HistoryHorizon(commits: .max, bytes: .max)
        return try StoreEngine(opening: volume, options: options)
    }

    /// Returns random changes, whose deltas have a payload to build on.
    private func changes(
        _ count: Int, _ present: inout Set<String>, removes: Bool, _ random: inout SeededRandom
    ) -> [Change] {
        // Some batches have ascending keys, which need no sorting.
        let ascends = random.chance(1, in: 3)
        return (0..<(ascends ? 400 : count)).map { number in
            let key = "key \(1_000 + (ascends ? number : random.below(400)))"
            if removes, random.chance(1, in: 5) {
                present.remove(key)
                return .remove(key)
            }
            if removes, present.contains(key), random.chance(1, in: 3) {
                return .appendDelta(key, "delta \(number)")
            }
            present.insert(key)
            let weight = random.chance(1, in: 2) ? random.next() : nil
            return .put(key, "put \(number)", weight: weight)
        }
    }

    private func commit(_ changes: ArraySlice<Change>, to engine: StoreEngine) throws {
        var batch = WriteBatch()
        batch.keepsIndexProgress = true
        for change in changes {
            switch change {
            case .put(let key, let payload, let weight):
                try batch.put(Array(key.utf8), Array(payload.utf8))
                if let weight { batch.weigh(weight) }
                try batch.addIndexEntries([0xFF] + payload.utf8.reversed() + key.utf8)
            case .appendDelta(let key, let payload):
                try batch.extend(Array(key.utf8), Array(payload.utf8))
            case .remove(let key): try batch.remove(Array(key.utf8))
            }
        }
        _ = try engine.append(batch)
        try engine.flush()
    }

    /// Returns all that a snapshot has: histories of the keys, index entries and weights.
    private func contents(_ engine: StoreEngine) throws -> [String] {
        let snapshot = engine.snapshot()
        var found: [String] = []
        for number in 0..<400 {
            let key = Array("key \(1_000 + number)".utf8)
            var history = key.span.withUnsafeBytes { snapshot.history(of: $0) }
            while let logged = try history.next() {
                let payload = String(decoding: logged.operation.payload, as: UTF8.self)
                found.append("\(number): \(logged.operation.kind) \(payload)")
            }
        }
        var targets: [(String, RecordPointer, UInt64?)] = []
        snapshot.tree.forEach { key, value in
            if let pointer = RecordPointer(value) {
                targets.append((String(decoding: key, as: UTF8.self), pointer, value.weight))
            }
            return true
        }
        for (key, pointer, weight) in targets {
            // The key of an index entry may have been removed since.
            let newest = try? snapshot.operations(at: pointer).first?.operation
            let payload = newest.map { String(decoding: $0.payload, as: UTF8.self) } ?? "removed"
            found.append("\(key) → \(payload), weight \(weight ?? 0)")
        }
        return found
    }

    @Test(arguments: [false, true])
    func `a large batch changes a store like many small ones`(removes: Bool) throws {
        for seed in 0..<2 as Range<UInt64> {
            var random = SeededRandom(seed: seed, "large batches")
            let volumes = [SimulatedVolume(seed: seed), SimulatedVolume(seed: seed + 100)]
            let (large, small) = (
                try open(volumes[0], leastSorted: 256), try open(volumes[1], leastSorted: .max)
            )
            var present: Set<String> = []
            for _ in 0..<3 {
                let changes = changes(256 + random.below(500), &present, removes: removes, &random)
                try commit(changes[...], to: large)
                for start in stride(from: 0, to: changes.count, by: 100) {
                    try commit(changes[start..<min(start + 100, changes.count)], to: small)
                }
                #expect(try contents(large) == contents(small), "seed \(seed)")
                #expect(large.checkLiveBytes() == [], "seed \(seed)")
            }
            let expected = try contents(large)
            try large.close()
            let reopened = try open(volumes[0], leastSorted: 256)
            // Weights and index entries are not in the log.
            #expect(
                try contents(reopened).prefix { !$0.contains("→") }
                    == expected.prefix { !$0.contains("→") }, "seed \(seed)")
            #expect(reopened.checkLiveBytes() == [], "seed \(seed)")
        }
    }

    /// Returns the distance in the log between two operations of equal length in one commit.
    private func distance(recordLength: Int) throws -> Int {
        var options = LogStoreOptions()
        options.recordLength = recordLength
        let engine = try StoreEngine(opening: SimulatedVolume(seed: 1), options: options)
        var batch = WriteBatch()
        let keys: [[UInt8]] = [[1, 1], [1, 2]]
        for key in keys { try batch.put(key, [UInt8](repeating: 7, count: 40)) }
        _ = try engine.append(batch)
        try engine.flush()
        let snapshot = engine.snapshot()
        let offsets = try keys.map { key in
            try #require(key.withUnsafeBytes { snapshot.recordPointer(of: $0) }).position.offset
        }
        try engine.close()
        return offsets[1] - offsets[0]
    }

    @Test func `a record has operations up to exactly its target length`() throws {
        let length = try distance(recordLength: 1 << 20)
        #expect(try distance(recordLength: 2 * length) == length)
        // The second operation follows the header of another record.
        #expect(try distance(recordLength: 2 * length - 1) > length)
    }
}
