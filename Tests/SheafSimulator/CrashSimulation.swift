import SheafBytes
import SheafStorage
import SheafTestSupport

/// A store that lives through a seeded life on a simulated disk, and loses its power at every call
/// that changes the disk: each time several states of the disk are drawn, opened and compared.
package final class CrashSimulation {
    /// What the store was doing when an image was taken.
    package enum Phase: String, CaseIterable, Sendable {
        case create, commit, roll, prepare, checkpoint, compact, recover, close
        case recoverInRecover = "recover in recover"
    }

    /// How many images were checked in each phase.
    package struct Report: Sendable {
        package var images: [Phase: Int] = [:]
        package var runs = 0
        package var commits = 0
        package var total: Int { images.values.reduce(0, +) }

        package init() {}

        /// Adds the counts of another report.
        package mutating func add(_ other: Report) {
            images.merge(other.images, uniquingKeysWith: +)
            runs += other.runs
            commits += other.commits
        }
    }

    private static let imagesPerCall = 4

    private let seed: UInt64
    private let hasFaults: Bool
    private var random: SeededRandom
    private var imageRandom: SeededRandom
    private var options = LogStoreOptions()
    /// How many of the newest commits must keep their whole history.
    private var keptCommits: CommitID = 0
    private var volume: SimulatedVolume
    private var engine: StoreEngine?
    private var model = StoreModel()
    /// The last commit that was said to be durable.
    private var acknowledged: CommitID = 0
    private var phase = Phase.create
    private var violation: (any Error)?
    private var held: [LogSnapshot] = []
    private let clock = FakeClock()
    package private(set) var report = Report()

    /// A life that `seed` decides; with faults, calls to the disk also fail now and then.
    package init(seed: UInt64, hasFaults: Bool, isTraced: Bool = false) {
        self.seed = seed
        self.hasFaults = hasFaults
        random = SeededRandom(seed: seed, "life")
        imageRandom = SeededRandom(seed: seed, "images")
        volume = SimulatedVolume(seed: seed)
        if isTraced { volume.startTrace() }
        drawOptions()
    }

    /// Lives the life; throws the first thing that was wrong.
    package func run() throws {
        report.runs = 1
        do {
            try reopen()
            for _ in 0..<40 + random.below(40) { try step() }
            volume.removeFaults()
            try close()
        } catch {
            throw Violation(
                "seed \(seed), \(phase.rawValue): \(violation ?? error)\n\(volume.trace)")
        }
    }

    private func drawOptions() {
        options.clock = clock.clock
        options.isHousekeepingAutomatic = false
        options.segmentLength = 600 + random.below(3_000)
        options.recordLength = 200 + random.below(1_000)
        options.checkpointLength = 300 + random.below(4_000)
        keptCommits = CommitID(random.below(12))
        // With a bound of bytes as well, the number of commits alone promises nothing.
        let hasByteBound = random.chance(1, in: 3)
        options.history = HistoryHorizon(
            commits: keptCommits, bytes: hasByteBound ? random.below(3_000) : .max)
        if hasByteBound { keptCommits = 0 }
        let identifiers = IdentifierSource(seed: seed)
        options.random = { identifiers.next() }
    }

    // MARK: Living

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
        guard let engine else { return try reopen() }
        switch random.below(20) {
        case 0..<9:
            for _ in 0...random.below(3) { try append(to: engine) }
            try flush(engine)
        case 9:
            try during(.prepare) { try engine.prepareNextSegment() }
        case 10:
            try during(.roll) { try engine.trimSealedSegments() }
        case 11:
            try during(.checkpoint) { try engine.writeCheckpoint() }
        case 12..<15:
            try during(.compact) {
                if random.chance(1, in: 3) { engine.compactEverything() }
                for _ in 0...random.below(6) { try engine.compactionStep(budget: 700) }
            }
        case 15:
            held.append(engine.snapshot())
            if held.count > 3 { held.removeFirst() }
        case 16:
            for snapshot in held { try check(snapshot) }
        case 17:
            try close()
            try reopen()
        case 18:
            dropEngine()
            volume = volume.powerCut(seed: random.next())
            try reopen()
        default:
            dropEngine()
            volume = volume.processDeath(seed: random.next())
            try reopen()
        }
    }

    private func append(to engine: StoreEngine) throws {
        var batch = WriteBatch()
        var changes: [(key: Int, payload: UInt64?)] = []
        for _ in 0...random.below(random.chance(1, in: 10) ? 30 : 4) {
            let key = random.below(StoreModel.keyCount)
            if random.chance(1, in: 5) {
                try batch.remove(StoreModel.key(key))
                changes.append((key, nil))
            } else {
                let length = random.below(random.chance(1, in: 8) ? 900 : 60)
                let payload = random.bytes(length)
                try batch.put(StoreModel.key(key), payload)
                changes.append((key, payload.withUnsafeBytes { XXH3.hash64($0) }))
            }
        }
        let commit = try engine.append(batch)
        model.commit(changes)
        report.commits += 1
        guard commit == model.last else {
            throw Violation("commit \(model.last) got the number \(commit)")
        }
    }

    private func flush(_ engine: StoreEngine) throws {
        let segment = engine.tailSegment
        let isRoll = segment != lastFlushedSegment
        lastFlushedSegment = segment
        let phase: Phase = acknowledged == 0 ? .create : isRoll ? .roll : .commit
        try during(phase) { try engine.flush() }
        acknowledged = model.last
    }

    private var lastFlushedSegment: UInt32 = 0

    private func close() throws {
        guard let engine else { return }
        try during(.close) { try engine.close() }
        acknowledged = model.last
        self.engine = nil
    }

    private func reopen() throws {
        let observed = ObservedVolume(volume) { [unowned self] in self.takeImages() }
        try during(acknowledged == 0 ? .create : .recover) {
            engine = try StoreEngine(opening: observed, options: options)
        }
        guard let engine else { return }
        let last = engine.snapshot().commit
        try checkRange(last)
        model.rewind(to: last)
        acknowledged = last
        try check(engine.snapshot())
    }

    private func during(_ phase: Phase, _ body: () throws -> Void) throws {
        self.phase = phase
        try body()
        if let violation { throw violation }
    }

    private func dropEngine() {
        engine = nil
        // What an old engine shows stays readable, and may be checked as long as its commits are
        // still the ones that the model knows.
        held = []
    }

    // MARK: Faults

    private func injectFault() {
        let codes: [VolumeError.Code] = [.inputOutput, .noSpace, .interrupted, .tooManyFiles]
        let effect: SimulatedFault.Effect =
            random.chance(1, in: 5) ? .short : .error(codes[random.below(codes.count)])
        volume.inject(
            SimulatedFault(
                effect, atCall: 1 + random.below(8), forEver: random.chance(1, in: 4)))
    }

    /// A call failed: the application opens the store again, perhaps after the power went too.
    private func recover(from error: StorageError) throws {
        guard hasFaults else { throw error }
        if case .corrupt = error { throw error }
        let wasDisk =
            switch error {
            case .io, .full, .poisoned: true
            default: false
            }
        guard wasDisk else { throw error }
        dropEngine()
        volume.removeFaults()
        volume =
            random.chance(1, in: 2)
            ? volume.processDeath(seed: random.next()) : volume.powerCut(seed: random.next())
        try reopen()
    }

    // MARK: Images

    /// Draws states in which the disk may be if the power goes now, and lives on in each.
    private func takeImages() {
        guard violation == nil else { return }
        do {
            for _ in 0..<Self.imagesPerCall {
                report.images[phase, default: 0] += 1
                try checkImage(volume.powerCut(seed: imageRandom.next()))
            }
            if let engine, engine.snapshot().commit > model.last {
                throw Violation("readers see commit \(engine.snapshot().commit)")
            }
        } catch {
            violation = error
        }
    }

    private func checkImage(_ image: SimulatedVolume) throws {
        var image = image
        // The power may go again while the store recovers, and again.
        var depth = 0
        while depth < 3, imageRandom.chance(1, in: 4) {
            image.crashAtCall(1 + imageRandom.below(8))
            _ = try? StoreEngine(opening: image, options: options)
            image = image.powerCut(seed: imageRandom.next())
            report.images[.recoverInRecover, default: 0] += 1
            depth += 1
        }
        let engine = try StoreEngine(opening: image, options: options)
        let last = engine.snapshot().commit
        try checkRange(last)
        try check(engine.snapshot())
        try liveOn(engine, image, model)
    }

    /// Writes a little more, loses the power again, and expects the new commits to be there.
    private func liveOn(
        _ engine: StoreEngine, _ image: SimulatedVolume, _ model: StoreModel
    ) throws {
        var model = model
        model.rewind(to: engine.snapshot().commit)
        var acknowledged = model.last
        if imageRandom.chance(1, in: 2) { image.crashAtCall(1 + imageRandom.below(6)) }
        do throws(StorageError) {
            for _ in 0...imageRandom.below(2) {
                let key = imageRandom.below(StoreModel.keyCount)
                let payload = imageRandom.bytes(imageRandom.below(200))
                var batch = WriteBatch()
                try batch.put(StoreModel.key(key), payload)
                _ = try engine.append(batch)
                model.commit([(key, payload.withUnsafeBytes { XXH3.hash64($0) })])
                try engine.flush()
                acknowledged = model.last
            }
            if imageRandom.chance(1, in: 4) { try engine.writeCheckpoint() }
        } catch {
            guard image.isPowerCut else { throw error }
        }
        let again = try StoreEngine(
            opening: image.powerCut(seed: imageRandom.next()), options: options)
        let last = again.snapshot().commit
        guard last >= acknowledged, last <= model.last else {
            throw Violation(
                "after a second life the store is at commit \(last), "
                    + "not within \(acknowledged)...\(model.last)")
        }
        try model.check(again.snapshot())
    }

    private func checkRange(_ last: CommitID) throws {
        guard last >= acknowledged, last <= model.last else {
            throw Violation(
                "the store is at commit \(last), not within \(acknowledged)...\(model.last)")
        }
    }

    private func check(_ snapshot: LogSnapshot) throws {
        try model.check(snapshot)
        try model.checkChains(snapshot, kept: keptCommits)
    }
}

/// Random identifiers for a store, from a seed.
private final class IdentifierSource: Sendable {
    nonisolated(unsafe) private var random: SeededRandom

    init(seed: UInt64) {
        random = SeededRandom(seed: seed, "identifiers")
    }

    func next() -> UInt64 { random.next() }
}
