import SheafBytes
import SheafStorage
import SheafTestSupport

extension CrashSimulation {
    /// One image in so many is verified byte by byte.
    private static let verifiedShare = 64
    /// One image in so many is opened once more without its checkpoints.
    private static let replayedShare = 16
    /// How often in a row the power goes while the store recovers.
    private static let maximumDepth = 3

    /// Draws states in which the disk may be if the power goes now, and lives on in each.
    func takeImages() {
        guard violation == nil else { return }
        let seen = engine?.snapshot().commit ?? 0
        let situation = Situation(
            changes: volume.counters.changes,
            acknowledged: acknowledged.value, seen: seen, last: model.last)
        // A call that fails for ever is made many times, and changes nothing.
        guard situation != lastSituation else { return }
        lastSituation = situation
        let count = volume.isSettled ? 1 : phase.imagesPerCall
        do {
            for _ in 0..<count {
                report.images[phase, default: 0] += 1
                try checkImage(volume.powerCut(seed: imageRandom.next()), seen: seen)
            }
        } catch {
            violation = error
        }
    }

    private func checkImage(_ image: SimulatedVolume, seen: CommitID) throws {
        var image = image
        image.quota = nil
        // The power may go again while the store recovers, and again.
        var depth = 0
        while depth < Self.maximumDepth, imageRandom.chance(1, in: 4) {
            image.crashAtCall(1 + imageRandom.below(8))
            _ = try? StoreEngine(opening: image, options: options)
            image = image.powerCut(seed: imageRandom.next())
            report.images[.recoverInRecover, default: 0] += 1
            depth += 1
        }
        let isVerified = imageRandom.chance(1, in: Self.verifiedShare)
        if isVerified { try verify(image) }
        let isReplayed = imageRandom.chance(1, in: Self.replayedShare)
        let copy = isReplayed ? image.processDeath(seed: imageRandom.next()) : nil
        let engine = try StoreEngine(opening: image, options: options)
        let snapshot = engine.snapshot()
        try checkRange(snapshot.commit)
        guard snapshot.commit >= seen else {
            throw Violation("readers saw commit \(seen); the store is at \(snapshot.commit)")
        }
        try check(snapshot)
        try checkCheckpoints(engine.recovery)
        if isVerified { try verify(image) }
        if let copy { try compare(snapshot, withReplayOf: copy) }
        note(snapshot.commit)
        try liveOn(engine, image, model)
    }

    /// Expects that nothing was damaged: a power cut leaves notes, and no more.
    private func verify(_ image: SimulatedVolume) throws {
        report.verified += 1
        let verification = try Verifier.verifyUnlocked(image)
        if let finding = verification.findings.first(where: { $0.severity != .note }) {
            throw Violation("the verifier finds: \(finding)")
        }
    }

    /// Expects every checkpoint to be whole: it gets its name when all of it is on the disk.
    private func checkCheckpoints(_ recovery: RecoveryReport) throws {
        for reason in recovery.unusableCheckpoints
        where !reason.hasSuffix("compaction has forgotten removals since then") {
            throw Violation("a checkpoint cannot be used: \(reason)")
        }
    }

    /// Opens the same image without checkpoints, and expects the same tree.
    private func compare(_ snapshot: LogSnapshot, withReplayOf copy: SimulatedVolume) throws {
        report.replayed += 1
        for name in try copy.names() {
            if case .checkpoint = FileName(name) { try copy.remove(name) }
        }
        let replayed = try StoreEngine(opening: copy, options: options).snapshot()
        guard replayed.commit == snapshot.commit, Self.places(replayed) == Self.places(snapshot)
        else {
            throw Violation("the checkpoint leads to another tree than the log")
        }
        for index in 0..<model.keyCount {
            let key = StoreModel.key(index)
            let (one, other) = key.span.withUnsafeBytes { key in
                (snapshot.removal(of: key), replayed.removal(of: key))
            }
            guard one == other else {
                throw Violation(
                    "the removal of key \(index) is at \(position(one)) after a checkpoint, "
                        + "and at \(position(other)) without one")
            }
        }
    }

    private func position(_ place: Place?) -> String {
        place.map { "\($0.position)" } ?? "no place"
    }

    /// All keys that have a payload, each with its place.
    private static func places(_ snapshot: LogSnapshot) -> [[UInt8]: LogPosition] {
        var places: [[UInt8]: LogPosition] = [:]
        snapshot.tree.forEach(in: snapshot.keys) { key, _ in
            places[Array(key)] = snapshot.place(of: key)?.position
            return true
        }
        return places
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
                let key = imageRandom.below(model.keyCount)
                let payload = imageRandom.bytes(imageRandom.below(200))
                var batch = ModelBatch(after: model)
                if imageRandom.chance(1, in: 2) {
                    try batch.extend(key, payload)
                } else {
                    try batch.put(key, payload)
                }
                _ = try engine.append(batch.batch)
                model.commit(batch.changes)
                try engine.flush()
                acknowledged = model.last
            }
            if imageRandom.chance(1, in: 4) { try engine.writeCheckpoint() }
        } catch {
            guard image.isPowerCut else { throw error }
        }
        if imageRandom.chance(1, in: 8) { try checkLiveBytes(engine) }
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
}
