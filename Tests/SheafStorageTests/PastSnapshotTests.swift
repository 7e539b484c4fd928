import SheafBytes
import SheafStorage
import SheafTestSupport
import Testing

/// Tests of the states and the times of earlier commits, against what the store had then.
@Suite struct PastSnapshotTests {
    /// The state of a store after a commit.
    private struct Moment {
        let commit: CommitID
        let commitAt: UInt64
        let snapshot: LogSnapshot
        /// The payload of the newest operation of each key that has one.
        let payloads: [[UInt8]: [UInt8]]
        /// The keys that the commit changed, and the length of its operations.
        var changed: Set<[UInt8]> = []
        var lengths: [Int] = []
    }

    private static let keys: [[UInt8]] = (1...8).map { [1, $0] }
    private static let commitCount = 30

    /// A store and its state after each commit, that before the first one included.
    private struct Scene {
        let engine: StoreEngine
        private(set) var moments: [Moment] = []
        private let clock = FakeClock(wallMilliseconds: 1_000)
        private var now: UInt64 = 1_000
        private var random: SeededRandom

        /// Makes random commits, whose records are short if `seed` is odd.
        init(seed: UInt64) throws {
            random = SeededRandom(seed: seed, "past states")
            var options = SmallStore.options(seed: seed)
            options.clock = clock.clock
            options.history = HistoryHorizon(commits: 10, bytes: .max)
            options.freeGarbage = 1 << 40
            if seed % 2 == 1 { options.recordLength = 60 }
            engine = try StoreEngine(opening: SimulatedVolume(seed: seed), options: options)
            moments.append(
                Moment(commit: 0, commitAt: 0, snapshot: engine.snapshot(), payloads: [:]))
            for _ in 0..<PastSnapshotTests.commitCount { try commit() }
        }

        private mutating func commit() throws {
            let step = UInt64(random.below(3))
            clock.advance(milliseconds: step)
            now += step
            var payloads = moments[moments.count - 1].payloads
            var changed: Set<[UInt8]> = []
            var lengths: [Int] = []
            var batch = WriteBatch()
            for _ in 0...random.below(4) {
                let key = PastSnapshotTests.keys[random.below(8)]
                let payload = random.bytes(1 + random.below(20))
                changed.insert(key)
                if random.chance(1, in: 4) {
                    try batch.remove(key)
                    payloads[key] = nil
                    lengths.append(22)
                    continue
                }
                if payloads[key] != nil, random.chance(1, in: 2) {
                    try batch.extend(key, payload)
                } else {
                    try batch.put(key, payload)
                }
                payloads[key] = payload
                lengths.append(22 + payload.count)
            }
            let commit = try engine.append(batch)
            try engine.flush()
            moments.append(
                Moment(
                    commit: commit, commitAt: now, snapshot: engine.snapshot(), payloads: payloads,
                    changed: changed, lengths: lengths))
        }
    }

    /// Returns the pointers of the keys of a tree; those of removals follow a zero byte.
    private func pointers(
        _ snapshot: LogSnapshot, in range: KeyRange = .all
    ) -> [[UInt8]: RecordPointer] {
        var pointers: [[UInt8]: RecordPointer] = [:]
        snapshot.tree.forEach(in: range) { key, value in
            pointers[Array(key)] = RecordPointer(value)
            return true
        }
        return pointers
    }

    /// Compares the state after a commit with the one that the store had, in a range of its tree.
    ///
    /// The log must have all commits after `since`.
    private func check(
        _ moment: Moment, of log: LogSnapshot, later: ArraySlice<Moment>, in range: KeyRange,
        since: CommitID
    ) throws {
        let past = try log.past(moment.commit)
        let expected = pointers(moment.snapshot, in: range)
        #expect(pointers(past.snapshot, in: range) == expected, "commit \(moment.commit)")
        #expect(past.snapshot.commit == moment.commit)
        #expect(past.snapshot.commitAt == moment.commitAt)
        // Its log ends with the commit.
        var commits = past.snapshot.commits(since: since)
        var numbers: [CommitID] = []
        while let commit = try commits.next() { numbers.append(commit.id) }
        #expect(numbers == Array((since + 1)..<(moment.commit + 1)))
        for key in Self.keys {
            let pointer = try key.withUnsafeBytes {
                try log.recordPointer(of: $0, asOf: moment.commit)
            }
            #expect(pointer == expected[key], "\(key) of commit \(moment.commit)")
        }
        let changed = later.reduce(into: Set<[UInt8]>()) { $0.formUnion($1.changed) }
        #expect(past.changedKeys.map(\.key) == changed.sorted { $0.lexicographicallyPrecedes($1) })
        for change in past.changedKeys {
            #expect(change.pointer == expected[change.key], "commit \(moment.commit)")
            let payload = change.payload.map { Array($0) } ?? []
            let newest = moment.payloads[change.key] ?? []
            #expect(payload == newest, "commit \(moment.commit)")
        }
    }

    /// Compares the commits after one with those that were made.
    private func checkCommits(
        after moment: Moment, in log: LogSnapshot, _ later: ArraySlice<Moment>, hasLongRecords: Bool
    ) throws {
        var commits = log.commits(after: moment.snapshot.cursor)
        for expected in later {
            let next = try commits.next()
            let commit = try #require(next)
            #expect(commit.id == expected.commit && commit.time == expected.commitAt)
            #expect(commit.operationCount == expected.lengths.count && !commit.isCompacted)
            guard hasLongRecords else { continue }
            let length = 64 + expected.lengths.reduce(0, +)
            #expect(commit.byteCount == (length + 7) / 8 * 8)
        }
        let further = try commits.next()
        #expect(further == nil && commits.tornTail == nil)
    }

    @Test func `each earlier state has the keys, the times and the changes of its commit`() throws {
        for seed in 0..<6 as Range<UInt64> {
            let scene = try Scene(seed: seed)
            let log = scene.engine.snapshot()
            for (number, moment) in scene.moments.enumerated() {
                let later = scene.moments[(number + 1)...]
                try check(moment, of: log, later: later, in: .all, since: 0)
                try checkCommits(after: moment, in: log, later, hasLongRecords: seed % 2 == 0)
                let time = try log.time(of: moment.commit)
                #expect(time == moment.commitAt, "seed \(seed)")
            }
            for time in 999...(log.commitAt + 1) {
                let expected = scene.moments.last { $0.commitAt <= time }?.commit
                #expect(try log.commit(at: time) == expected, "seed \(seed)")
            }
            try scene.engine.close()
        }
    }

    @Test func `compaction keeps the states and the times from the end of a base file on`() throws {
        for seed in [10, 12, 14, 16] as [UInt64] {
            let scene = try Scene(seed: seed)
            scene.engine.compactEverything()
            while try scene.engine.compactionStep() {}
            let log = scene.engine.snapshot()
            let base = try #require(log.segments.files.first)
            let last = try #require(base.footer?.lastCommit)
            try #require(base.header.kind == .base && last > 5 && last <= 20)
            #expect(log.compactedThrough == last)
            for moment in scene.moments {
                let later = scene.moments[(Int(moment.commit) + 1)...]
                let time = try log.time(of: moment.commit)
                let hasTime = moment.commit == 0 || moment.commit >= last
                let expected = hasTime ? moment.commitAt : nil
                #expect(time == expected, "seed \(seed)")
                guard moment.commit >= last else { continue }
                // The positions of removals may have been dropped.
                try check(moment, of: log, later: later, in: log.keys, since: last)
                try checkCommits(after: moment, in: log, later, hasLongRecords: true)
            }
            let baseAt = scene.moments[Int(last)].commitAt
            for time in 999...(log.commitAt + 1) {
                let expected = scene.moments.last { $0.commitAt <= time && time >= baseAt }?.commit
                #expect(try log.commit(at: time) == expected, "seed \(seed)")
            }
            try scene.engine.close()
        }
    }

    @Test func `a state with other index entries has the same keys, and is complete`() throws {
        let scene = try Scene(seed: 20)
        let log = try scene.engine.snapshot().past(25).snapshot
        #expect(log.indexMark == IndexMark.none)
        let target = RecordPointer(position: LogPosition(segment: 1, offset: 192), length: 25)
        var changes = IndexChanges()
        for number in 1...3 as ClosedRange<UInt8> {
            try changes.addEntry([255, number], to: target)
        }
        let added = log.with(changes)
        let keys = pointers(log)
        var expected: [[UInt8]: RecordPointer] = [[255, 1]: target, [255, 2]: target]
        expected[[255, 3]] = target
        #expect(pointers(added, in: IndexChanges.all) == expected)
        var removals = IndexChanges()
        try removals.removeEntries([255, 2])
        let removed = added.with(removals)
        expected[[255, 2]] = nil
        #expect(pointers(removed, in: IndexChanges.all) == expected)
        for other in [added, removed, log.with(IndexChanges())] {
            #expect(pointers(other, in: KeyRange(to: [255])) == keys)
            #expect(other.commit == 25 && other.commitAt == log.commitAt && other.end == log.end)
            #expect(other.indexMark.commit == 25 && other.indexMark.end == log.end)
        }
        #expect(pointers(log) == keys)
        try scene.engine.close()
    }
}
