import SheafStorage
import SheafTestSupport
import Testing

/// Tests of trees that recovery builds from a log, with and without a checkpoint.
@Suite struct RebuiltTreeTests {
    /// An entry of a tree, whose key begins with a zero byte if it was removed.
    private struct Entry: Equatable {
        let key: [UInt8]
        let pointer: RecordPointer
    }

    /// The newest operation of a key, after those that it is based on.
    private struct Chain {
        var isRemoved: Bool
        var pointers: [RecordPointer]
    }

    private static let prefix = [UInt8](repeating: 5, count: 11)
    /// Ends of keys with a common prefix; some differ only after eight more bytes.
    private static let ends: [[UInt8]] = [
        [], [0], [1, 2], [1, 2, 3, 4, 5, 6, 7, 8], [1, 2, 3, 4, 5, 6, 7, 8, 0],
        [1, 2, 3, 4, 5, 6, 7, 8, 9], [1, 2, 3, 4, 5, 6, 7, 8, 9, 0],
        [1, 2, 3, 4, 5, 6, 7, 7, 255], [1, 2, 3, 4, 5, 6, 7, 9],
    ]
    private static let nestedKeys: [[UInt8]] = [[1], [1, 0], [1, 0, 0], [1, 1], [1, 255]]
    private static let distantKeys: [[UInt8]] = [
        [1], [2], [2, 0], [254, 255], [1, 255, 255, 255, 255, 255, 255, 255, 255],
        [1, 255, 255, 255, 255, 255, 255, 255, 255, 3],
        [1, 255, 255, 255, 255, 255, 255, 255, 255, 2],
    ]
    private static let keySets: [[[UInt8]]] = [
        [prefix], nestedKeys, ends.map { prefix + $0 }, distantKeys,
    ]

    /// Opens a store in which each commit has its own segment, with the number of the commit.
    private func open(_ volume: SimulatedVolume) throws -> StoreEngine {
        var options = SmallStore.options(seed: 28)
        options.segmentLength = 1
        options.history = HistoryHorizon(commits: 0, bytes: .max)
        options.compactedLength = 0
        return try StoreEngine(opening: volume, options: options)
    }

    /// Commits an operation on a key, and records it in the chain of the key.
    private func commit(
        _ commit: UInt32, _ key: [UInt8], to engine: StoreEngine,
        _ chains: inout [[UInt8]: Chain], _ random: inout SeededRandom
    ) throws {
        var batch = WriteBatch()
        var chain = chains[key] ?? Chain(isRemoved: true, pointers: [])
        let kind = random.below(4)
        let isDelta = kind < 2 && !chain.isRemoved
        let payload = kind == 3 ? [] : random.bytes(1 + random.below(20))
        if isDelta {
            try batch.extend(key, payload)
        } else {
            chain.pointers = []
            chain.isRemoved = kind == 3
            if chain.isRemoved { try batch.remove(key) } else { try batch.put(key, payload) }
        }
        chain.pointers.append(
            RecordPointer(
                position: LogPosition(segment: commit, offset: 128 + 64),
                length: 20 + key.count + payload.count, isDelta: isDelta))
        chains[key] = chain
        _ = try engine.append(batch)
        try engine.flush()
    }

    private func check(
        _ engine: StoreEngine, _ chains: [[UInt8]: Chain], _ comment: String
    ) throws {
        var expected: [Entry] = []
        for (key, chain) in chains {
            let pointer = try #require(chain.pointers.last)
            expected.append(Entry(key: chain.isRemoved ? [0] + key : key, pointer: pointer))
        }
        expected.sort { $0.key.lexicographicallyPrecedes($1.key) }
        let tree = engine.snapshot().tree
        var found: [Entry] = []
        tree.forEach { key, value in
            if let pointer = RecordPointer(value) {
                found.append(Entry(key: Array(key), pointer: pointer))
            }
            return true
        }
        #expect(found == expected, "\(comment)")
        #expect(tree.checkInvariants() == [], "\(comment)")
        let present = chains.values.count { !$0.isRemoved }
        #expect(engine.snapshot().count == present, "\(comment)")
        let live = chains.values.flatMap(\.pointers)
        #expect(engine.checkLiveBytes() == [], "\(comment)")
        let total = live.reduce(0) { $0 + $1.length }
        #expect(engine.usage().liveBytes == total, "\(comment)")
        // Files with live operations have plans of their own.
        for plan in engine.compactionPlans(everything: true) {
            var length = 0
            for pointer in live where plan.segments.contains(pointer.position.segment) {
                length += pointer.length
            }
            #expect(plan.liveLength == length, "\(comment), segments \(plan.segments)")
        }
    }

    @Test(arguments: 0..<4 as Range<UInt64>)
    func `recovery finds the newest operation of each key, in the order of the keys`(
        seed: UInt64
    ) throws {
        for (number, keys) in Self.keySets.enumerated() {
            let comment = "seed \(seed), keys \(number)"
            var random = SeededRandom(seed: seed &* 100 &+ UInt64(number), "rebuilt trees")
            let volume = SimulatedVolume(seed: seed)
            let engine = try open(volume)
            var chains: [[UInt8]: Chain] = [:]
            for commit in 1...24 as ClosedRange<UInt32> {
                let key = keys[random.below(keys.count)]
                try self.commit(commit, key, to: engine, &chains, &random)
                if commit == 12 { try engine.writeCheckpoint() }
            }
            try check(engine, chains, comment)
            try engine.close()
            for usesCheckpoint in [true, false] {
                var files = volume.snapshotFiles()
                if !usesCheckpoint { files = files.filter { !$0.key.hasSuffix(".checkpoint") } }
                let again = try open(SimulatedVolume(files: files))
                #expect((again.recovery.usedCheckpoint != nil) == usesCheckpoint)
                try check(again, chains, "\(comment), checkpoint \(usesCheckpoint)")
                try again.close()
            }
        }
    }
}
