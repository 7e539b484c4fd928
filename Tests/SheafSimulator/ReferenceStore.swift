import SheafBytes
import SheafStorage
package import SheafTestSupport

/// The files of a store whose every state is known, to be damaged and opened.
package struct ReferenceStore: Sendable {
    /// How the store was left.
    package enum Ending: String, CaseIterable, Sendable {
        case closed
        /// The process died with a segment in use, one prepared, and files that a base replaced.
        case crashed
        /// The process died right after it had written a checkpoint of everything.
        case checkpointed
    }

    /// Bytes that reached the disk with one flush; only the last such run may be taken for torn.
    struct Extent: Sendable {
        let bytes: Range<Int>
        /// The last commit at its end.
        let commit: CommitID
    }

    package let ending: Ending
    package let files: [String: [UInt8]]
    let model: StoreModel
    let options: LogStoreOptions
    /// The file that was written last, and what each flush added to it.
    let newestSegment: String
    private let extents: [Extent]
    private let commitBefore: CommitID

    /// The bytes of all files.
    package var byteCount: Int { files.values.reduce(0) { $0 + $1.count } }

    /// The names of all files, in order.
    package var names: [String] { files.keys.sorted() }

    /// Makes a store of about `byteCount` bytes.
    ///
    /// Stores of the same seed and another `life` differ in nothing but the bytes of payloads.
    package init(
        seed: UInt64, ending: Ending, byteCount: Int = 256 << 10, life: UInt64 = 0
    ) throws {
        self.ending = ending
        var maker = try Maker(seed: seed, byteCount: byteCount, life: life)
        try maker.fill()
        options = maker.options
        let tail = maker.engine.tailSegment
        newestSegment = FileName.name(ofSegment: tail)
        var extents = maker.extents(in: tail)
        let commitBefore = extents.first.map { $0.commit - 1 } ?? maker.model.last
        switch ending {
        case .closed:
            try maker.engine.close()
            let start = extents.last?.bytes.upperBound ?? 0
            extents.append(
                Extent(
                    bytes: start..<start + SegmentFooter.length, commit: maker.model.last))
        case .crashed:
            try maker.engine.prepareNextSegment()
            maker.leaveReplacedFiles()
        case .checkpointed:
            try maker.engine.writeCheckpoint()
        }
        self.extents = extents
        self.commitBefore = commitBefore
        model = maker.model
        files = maker.volume.snapshotFiles()
    }

    /// The files on a simulated disk.
    package func volume() -> SimulatedVolume {
        SimulatedVolume(files: files)
    }

    /// The oldest commit at which the store may be found when these bytes of `file` are damaged.
    ///
    /// Where a flush is damaged and a later one is not, the later one proves that the bytes had
    /// reached the disk. A run of damage at the very end looks as if a crash had left it.
    func oldestCommit(file: String, damaged: [Range<Int>]) -> CommitID {
        // Closing and checkpoints leave a name behind that knows how far the log goes.
        guard file == newestSegment, ending == .crashed else { return model.last }
        var intact = extents.count
        while intact > 0, damaged.contains(where: { $0.overlaps(extents[intact - 1].bytes) }) {
            intact -= 1
        }
        return intact == 0 ? commitBefore : extents[intact - 1].commit
    }

    /// The bytes of each flush in the newest segment.
    var flushes: [Range<Int>] { extents.map(\.bytes) }
}

extension ReferenceStore {
    /// Fills a store with a bit of everything.
    private struct Maker {
        /// How many of the newest commits keep their whole history.
        private static let keptCommits: CommitID = 40

        let volume: SimulatedVolume
        let engine: StoreEngine
        let options: LogStoreOptions
        var model = StoreModel(keyCount: 120)
        private var random: SeededRandom
        private var payloads: SeededRandom
        private let byteCount: Int
        private var retired = 0
        private var ends: [(position: LogPosition, commit: CommitID)] = []

        init(seed: UInt64, byteCount: Int, life: UInt64) throws(StorageError) {
            random = SeededRandom(seed: seed, "reference store")
            payloads = SeededRandom(seed: seed &+ life, "payloads")
            self.byteCount = byteCount
            volume = SimulatedVolume(seed: seed)
            var options = LogStoreOptions()
            options.segmentLength = max(byteCount / 20, 2_048)
            options.recordLength = 1_000
            options.history = HistoryHorizon(commits: Self.keptCommits, bytes: .max)
            options.clock = FakeClock().clock
            options.isHousekeepingAutomatic = false
            let identifiers = SeededSource(seed: seed)
            options.random = { identifiers.next() }
            self.options = options
            engine = try StoreEngine(opening: volume, options: options)
        }

        mutating func fill() throws {
            try write(until: byteCount * 5 / 8)
            engine.compactEverything()
            while try engine.compactionStep() {}
            try engine.writeCheckpoint()
            // Only the older checkpoint will know these keys, when all else has forgotten them.
            try retire(5)
            let retirement = (commit: model.last, segment: engine.tailSegment)
            try write(until: byteCount * 3 / 4)
            try engine.writeCheckpoint()
            try write(until: byteCount)
            // What is folded next should take the removals with it, which then only the newer
            // checkpoint knows of.
            while engine.tailSegment <= retirement.segment
                || model.last < retirement.commit + 2 * Self.keptCommits
            { try commit() }
            // The newest segment should have more than one flush to lose.
            while extents(in: engine.tailSegment).count < 6 { try commit() }
            // Another life has other bytes here: no record that follows would tell.
            try put(retired, payloads.bytes(100))
        }

        /// What each flush added to segment `number`.
        func extents(in number: UInt32) -> [Extent] {
            var start = 0
            return ends.filter { $0.position.segment == number }.map { end in
                defer { start = end.position.offset }
                return Extent(bytes: start..<end.position.offset, commit: end.commit)
            }
        }

        /// Folds everything once more, and keeps the last file that should go.
        func leaveReplacedFiles() {
            let replaced = engine.compactionPlans(everything: true).flatMap { plan in
                plan.files.filter { $0.name != FileName.name(ofBase: plan.segments) }
            }
            volume.inject(
                SimulatedFault(
                    .error(.inputOutput), atCall: max(replaced.count, 1), of: .remove,
                    forEver: true))
            engine.compactEverything()
            while (try? engine.compactionStep()) == true {}
            volume.removeFaults()
        }

        private mutating func write(until length: Int) throws {
            while volume.snapshotFiles().values.reduce(0, { $0 + $1.count }) < length {
                for _ in 0..<10 { try commit() }
                try engine.trimSealedSegments()
            }
        }

        /// Removes the first keys, which are not written again.
        private mutating func retire(_ count: Int) throws {
            var batch = ModelBatch(after: model)
            for key in 0..<count { try batch.remove(key) }
            retired = count
            try commit(batch)
        }

        private mutating func put(_ key: Int, _ payload: [UInt8]) throws {
            var batch = ModelBatch(after: model)
            try batch.put(key, payload)
            try commit(batch)
        }

        private mutating func commit() throws {
            var batch = ModelBatch(after: model)
            for _ in 0...random.below(random.chance(1, in: 12) ? 30 : 3) {
                let key = retired + random.below(model.keyCount - retired)
                switch random.below(6) {
                case 0: try batch.remove(key)
                case 1, 2: try batch.extend(key, payloads.bytes(random.below(100)))
                default: try batch.put(key, payloads.bytes(random.below(300)))
                }
            }
            try commit(batch)
        }

        private mutating func commit(_ batch: ModelBatch) throws {
            _ = try engine.append(batch.batch)
            try engine.flush()
            model.commit(batch.changes)
            ends.append((engine.snapshot().end, model.last))
        }
    }
}
