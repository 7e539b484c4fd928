import SheafBytes
import SheafStorage
import SheafTestSupport

/// A seeded workload on a simulated disk, checked for crash safety at every change of the disk.
///
/// Before each call that changes the disk, several post-crash images are drawn, opened and
/// compared.
package final class CrashSimulation {
    private let seed: UInt64
    let hasFaults: Bool
    var random: SeededRandom
    var imageRandom: SeededRandom
    var options = LogStoreOptions()
    /// The number of newest commits whose complete history must be kept.
    var keptCommits: CommitID = 0
    var volume: SimulatedVolume
    var engine: StoreEngine?
    var model = StoreModel()
    /// Of ten operations, the number of delta records.
    private var deltaShare = 0
    /// The last commit acknowledged as durable.
    let acknowledged = LastCommit()
    var phase = Phase.create
    var violation: (any Error)?
    /// Snapshots that readers still hold.
    var held: [LogSnapshot] = []
    /// The readers in other processes.
    var readers: [SimulatedReader] = []
    /// The last commit that any reader has seen since the last power cut.
    var seenByReaders: CommitID = 0
    var readerRandom: SeededRandom
    /// The situation when images were last drawn.
    var lastSituation: Situation?
    private var lastFlushedSegment: UInt32 = 0
    private let clock = FakeClock()
    package internal(set) var report = Report()

    /// Creates the workload of `seed`; with an odd seed, disk calls also fail sometimes.
    package init(seed: UInt64, isTraced: Bool = false) {
        self.seed = seed
        hasFaults = seed % 2 == 1
        random = SeededRandom(seed: seed, "life")
        imageRandom = SeededRandom(seed: seed, "images")
        readerRandom = SeededRandom(seed: seed, "readers")
        volume = SimulatedVolume(seed: seed)
        if isTraced { volume.startTrace() }
        drawOptions()
    }

    /// Runs the workload; throws the first violation.
    package func run() throws {
        report.runs = 1
        do {
            try reopen()
            for _ in 0..<40 + random.below(40) { try step() }
            heal()
            try close()
        } catch {
            let calls = volume.trace.isEmpty ? "" : "\n\(volume.trace)"
            throw Violation(
                "\(violation ?? error)\nin image \(report.total) of seed \(seed), during "
                    + "\(phase.rawValue); to print the preceding calls: "
                    + "sheaf-check simulate --seed \(seed) --lives 1\(calls)")
        }
        for (name, bytes) in volume.snapshotFiles().sorted(by: { $0.key < $1.key }) {
            record(XXH3.hash64(Array(name.utf8)))
            record(XXH3.hash64(bytes))
        }
    }

    /// Adds a value to the digest that compares two runs of the same seed.
    func record(_ value: UInt64) {
        report.digest = (report.digest ^ value) &* 0x9E37_79B9_7F4A_7C15
        report.digest ^= report.digest >> 29
    }

    private func drawOptions() {
        options.clock = clock.clock
        options.runsMaintenance = false
        options.segmentLength = 600 + random.below(3_000)
        options.recordLength = 200 + random.below(1_000)
        options.stagingThreshold = 1 + random.below(600)
        options.checkpointLength = 300 + random.below(4_000)
        // The limit is so low that some compaction plans skip the first segment.
        options.freeGarbage = random.below(8_000)
        options.compactedLength = random.below(6_000)
        keptCommits = CommitID(random.below(12))
        // With a byte limit as well, the commit limit alone guarantees nothing.
        let hasByteBound = random.chance(1, in: 3)
        options.history = HistoryHorizon(
            commits: keptCommits, bytes: hasByteBound ? random.below(3_000) : .max)
        if hasByteBound { keptCommits = 0 }
        deltaShare = random.below(7)
        let identifiers = SeededSource(seed: seed)
        options.random = { identifiers.next() }
    }

    private func step() throws {
        clock.advance(milliseconds: UInt64(random.below(50)))
        if hasFaults, random.chance(1, in: 4) { injectFault() }
        do {
            try act()
        } catch let error as StorageError {
            try recover(from: error)
        }
        if let violation { throw violation }
    }

    private func act() throws {
        guard engine != nil else { return try reopen() }
        let draw = random.below(20)
        if draw >= 18 {
            dropEngine()
            if draw == 18 { cutPower() } else { killWriter() }
            return try reopen()
        }
        guard let engine else { return }
        switch draw {
        case 0..<8:
            for _ in 0...random.below(3) { try append(to: engine) }
            try flush(engine)
        case 8:
            // A later flush completes the commit, or a crash loses it.
            try append(to: engine)
        case 9:
            try during(.prepare) { try engine.prepareNextSegment() }
        case 10:
            try during(.roll) { try engine.trimSealedSegments() }
        case 11:
            try during(.checkpoint) { try engine.writeCheckpoint() }
        case 12..<15:
            try during(.compact) {
                if random.chance(1, in: 2) { engine.compactEverything() }
                for _ in 0...random.below(12) { try engine.compactionStep(budget: 700) }
            }
            if random.chance(1, in: 2) { try checkLiveBytes(engine) }
        case 15:
            held.append(engine.snapshot())
            if held.count > 3 { held.removeFirst() }
        case 16:
            for snapshot in held { try check(snapshot) }
        default:
            try close()
            try reopen()
        }
    }

    private func append(to engine: StoreEngine) throws {
        let isDurable = engine.snapshot().commit == engine.lastCommit
        var (batch, staged) = (ModelBatch(after: model), Set<Int>())
        if isDurable, random.chance(1, in: 4) { (batch, staged) = try stagedBatch(in: engine) }
        if !staged.isEmpty, random.chance(1, in: 6) { return }
        // Some commits span several segments.
        let count = random.chance(1, in: 40) ? 150 : random.chance(1, in: 10) ? 30 : 4
        for _ in 0...random.below(count) {
            let key = random.below(model.keyCount)
            let draw = random.below(10)
            let length = random.below(random.chance(1, in: 8) ? 900 : 60)
            guard !staged.contains(key) else { continue }
            switch draw {
            case 0..<2: try batch.remove(key)
            case 2..<2 + deltaShare: try batch.appendDelta(key, random.bytes(length))
            default: try batch.put(key, random.bytes(length))
            }
        }
        guard !batch.changes.isEmpty else { return }
        if random.chance(1, in: 30) { try expectRefusal(batch, by: engine) }
        let commit = try engine.append(batch.batch)
        engine.whenDurable(commit) { [acknowledged] result in
            if case .success(let commit) = result { acknowledged.value = commit }
        }
        model.commit(batch.changes)
        report.commits += 1
        if batch.hasStaged { report.stagedCommits += 1 }
        guard commit == model.last else {
            throw Violation("commit \(model.last) was numbered \(commit)")
        }
    }

    /// Returns a batch with puts that are in files already, and their keys.
    private func stagedBatch(in engine: StoreEngine) throws -> (ModelBatch, Set<Int>) {
        let keys = Set((0...random.below(model.keyCount)).map { _ in random.below(model.keyCount) })
        let puts = keys.sorted().map {
            ($0, random.bytes(1 + random.below(random.chance(1, in: 4) ? 900 : 60)))
        }
        // The simulated disk also draws from `random` during the call.
        var removals = SeededRandom(seed: random.next(), "removals")
        return (try ModelBatch(after: model, staging: puts, in: engine, &removals), keys)
    }

    /// Verifies that a delta record without a base is refused without side effects.
    private func expectRefusal(_ batch: ModelBatch, by engine: StoreEngine) throws {
        var refused = batch
        guard try refused.appendDeltaToAbsentKey() else { return }
        do throws(StorageError) {
            _ = try engine.append(refused.batch)
        } catch {
            guard case .noRecordForDelta = error else { throw error }
            return
        }
        throw Violation("a delta record without a base was accepted")
    }

    private func flush(_ engine: StoreEngine) throws {
        let segment = engine.tailSegment
        let isRoll = segment != lastFlushedSegment
        lastFlushedSegment = segment
        let isFirst = acknowledged.value == 0
        try during(isFirst ? .create : isRoll ? .roll : .commit) { try engine.flush() }
        try expectAcknowledged()
    }

    private func close() throws {
        guard let engine else { return }
        try during(.close) { try engine.close() }
        try expectAcknowledged()
        self.engine = nil
    }

    private func expectAcknowledged() throws {
        let last = acknowledged.value
        guard last == model.last else {
            throw Violation("commit \(model.last) was flushed; acknowledged: \(last)")
        }
    }

    func cutPower() {
        readers = []
        volume = volume.powerCut(seed: random.next())
    }

    /// Ends the process of the writer, whose readers live on.
    func killWriter() {
        // The next process draws other file identities; its readers see the same files.
        guard random.chance(1, in: 2) else { return }
        readers = []
        volume = volume.processDeath(seed: random.next())
    }

    func reopen() throws {
        let observed = ObservedVolume(volume) { [unowned self] in
            self.read()
            self.takeImages()
        }
        let isFirst = acknowledged.value == 0
        try during(isFirst ? .create : .recover) {
            engine = try StoreEngine(opening: observed, options: options)
        }
        guard let engine else { return }
        let last = engine.snapshot().commit
        try checkRange(last)
        guard last >= seenByReaders else {
            throw Violation("a reader saw commit \(seenByReaders), the store is at \(last)")
        }
        model.rewind(to: last)
        acknowledged.value = last
        try check(engine.snapshot())
    }

    private func read() {
        guard violation == nil else { return }
        do { try readBeside() } catch { violation = error }
    }

    private func during(_ phase: Phase, _ body: () throws -> Void) throws {
        self.phase = phase
        try body()
        if let violation { throw violation }
    }

    func dropEngine() {
        // Releasing an engine may remove files, before which images are drawn: they read `engine`.
        withExtendedLifetime(engine) { engine = nil }
        // Snapshots of the old engine stay readable, but recovery may roll back commits they show.
        held = []
    }

    func checkRange(_ last: CommitID) throws {
        let acknowledged = acknowledged.value
        guard last >= acknowledged, last <= model.last else {
            throw Violation(
                "the store is at commit \(last), not within \(acknowledged)...\(model.last)")
        }
    }

    func check(_ snapshot: LogSnapshot) throws {
        try model.check(snapshot)
        try model.checkChains(snapshot, kept: keptCommits)
    }

    /// Verifies the live-byte counts against a recount.
    func checkLiveBytes(_ engine: StoreEngine) throws {
        if let difference = engine.checkLiveBytes().first { throw Violation(difference) }
    }
}
