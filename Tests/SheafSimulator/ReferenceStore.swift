import SheafBytes
import SheafStorage
package import SheafTestSupport

/// The files of a store with known content, used as input for damage.
package struct ReferenceStore: Sendable {
    /// The end of the process that wrote the store.
    package enum Ending: String, CaseIterable, Sendable {
        case closed
        /// The process died with an open segment, a prepared segment and a replaced file.
        case crashed
        /// The process died immediately after it wrote a complete checkpoint.
        case checkpointed
    }

    /// Bytes written by one flush; only a suffix of flushes may be treated as torn.
    struct Extent: Sendable {
        let bytes: Range<Int>
        /// The last commit at the end of the extent.
        let commit: CommitID
    }

    package let ending: Ending
    package let files: [String: [UInt8]]
    let model: StoreModel
    let options: LogStoreOptions
    /// The name of the newest segment; `extents` lists the flushes in it.
    let newestSegment: String
    private let extents: [Extent]
    private let commitBefore: CommitID

    /// The total length of all files.
    package var byteCount: Int { files.values.reduce(0) { $0 + $1.count } }

    /// The names of all files, sorted.
    package var names: [String] { files.keys.sorted() }

    /// Creates a store of about `byteCount` bytes.
    ///
    /// Stores of the same seed and another `seedOffset` differ only in the bytes of payloads.
    package init(
        seed: UInt64, ending: Ending, byteCount: Int = 256 << 10, seedOffset: UInt64 = 0
    ) throws {
        self.ending = ending
        var maker = try Maker(seed: seed, byteCount: byteCount, seedOffset: seedOffset)
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

    /// Returns a simulated volume with the files.
    package func volume() -> SimulatedVolume {
        SimulatedVolume(files: files)
    }

    /// Returns the oldest commit the store may recover to with these bytes of `file` damaged.
    ///
    /// An intact later flush proves that the damaged bytes were once durable. Damage up to the end
    /// of the log is indistinguishable from a crash.
    func oldestCommit(file: String, damaged: [Range<Int>]) -> CommitID {
        // The footer or checkpoint records where the log ends.
        guard file == newestSegment, ending == .crashed else { return model.last }
        var intact = extents.count
        while intact > 0, damaged.contains(where: { $0.overlaps(extents[intact - 1].bytes) }) {
            intact -= 1
        }
        return intact == 0 ? commitBefore : extents[intact - 1].commit
    }

    /// The range of each flush in the newest segment.
    var flushes: [Range<Int>] { extents.map(\.bytes) }
}

extension ReferenceStore {
    /// Writer of a store with puts, removals, delta records, checkpoints and a base file.
    private struct Maker {
        /// The number of newest commits that keep their complete history.
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

        init(seed: UInt64, byteCount: Int, seedOffset: UInt64) throws(StorageError) {
            random = SeededRandom(seed: seed, "reference store")
            payloads = SeededRandom(seed: seed &+ seedOffset, "payloads")
            self.byteCount = byteCount
            volume = SimulatedVolume(seed: seed)
            var options = LogStoreOptions()
            options.segmentLength = max(byteCount / 20, 2_048)
            options.recordLength = 1_000
            options.history = HistoryHorizon(commits: Self.keptCommits, bytes: .max)
            options.clock = FakeClock().clock
            options.runsMaintenance = false
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
            // Later only the older checkpoint still contains these keys.
            try retire(5)
            let retirement = (commit: model.last, segment: engine.tailSegment)
            try write(until: byteCount * 3 / 4)
            try engine.writeCheckpoint()
            try write(until: byteCount)
            // The next compaction drops the removals, so that only the newer checkpoint still
            // records them.
            while engine.tailSegment <= retirement.segment
                || model.last < retirement.commit + 2 * Self.keptCommits
            { try commit() }
            // The newest segment needs several flushes so that damage can hit one of them.
            while extents(in: engine.tailSegment).count < 6 { try commit() }
            // Only payloads differ; no later record reveals the difference.
            try put(retired, payloads.bytes(100))
        }

        /// Returns the extent of each flush in segment `number`.
        func extents(in number: UInt32) -> [Extent] {
            var start = 0
            return ends.filter { $0.position.segment == number }.map { end in
                defer { start = end.position.offset }
                return Extent(bytes: start..<end.position.offset, commit: end.commit)
            }
        }

        /// Compacts everything, but fails to remove the last replaced file.
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

        /// Removes the first keys permanently.
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
                case 1, 2: try batch.appendDelta(key, payloads.bytes(random.below(100)))
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
