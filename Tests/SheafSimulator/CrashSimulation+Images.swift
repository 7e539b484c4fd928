import SheafBytes
import SheafStorage
import SheafTestSupport

extension CrashSimulation {
    /// One in this number of images is verified byte by byte.
    private static let verifiedShare = 64
    /// One in this number of images is also opened without its checkpoints.
    private static let replayedShare = 16
    /// Maximum number of consecutive power cuts during recovery.
    private static let maximumDepth = 3

    /// Draws possible disk states for a power cut at this point, and checks and continues each.
    func takeImages() {
        guard violation == nil else { return }
        let seen = max(engine?.snapshot().commit ?? 0, seenByReaders)
        let situation = Situation(
            changes: volume.counters.changes,
            acknowledged: acknowledged.value, seen: seen, last: model.last)
        // A sticky fault repeats the same call without any effect.
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
        // Further power cuts may interrupt recovery.
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
            throw Violation("readers saw commit \(seen), the store is at \(snapshot.commit)")
        }
        try check(snapshot)
        try checkCheckpoints(engine.recovery)
        if isVerified { try verify(image) }
        if let copy { try compare(snapshot, withReplayOf: copy) }
        record(snapshot.commit)
        try liveOn(engine, image, model)
    }

    /// Verifies that a power cut caused no damage: all findings of the verifier are notes.
    private func verify(_ image: SimulatedVolume) throws {
        report.verified += 1
        let verification = try Verifier.verifyFiles(of: image)
        if let finding = verification.findings.first(where: { $0.severity != .note }) {
            throw Violation("the verifier reports: \(finding)")
        }
    }

    /// Verifies that every checkpoint is usable, unless compaction has dropped removals since then.
    ///
    /// A checkpoint is renamed only after it is synchronized.
    private func checkCheckpoints(_ recovery: RecoveryReport) throws {
        for reason in recovery.unusableCheckpoints
        where !reason.hasSuffix("compaction has dropped removals after this checkpoint") {
            throw Violation("unusable checkpoint: \(reason)")
        }
    }

    /// Verifies that replaying the image without checkpoints yields the same tree.
    private func compare(_ snapshot: LogSnapshot, withReplayOf copy: SimulatedVolume) throws {
        report.replayed += 1
        for name in try copy.names() {
            if case .checkpoint = FileName(name) { try copy.remove(name) }
        }
        let replayed = try StoreEngine(opening: copy, options: options).snapshot()
        guard replayed.commit == snapshot.commit,
            Self.positions(replayed) == Self.positions(snapshot)
        else {
            throw Violation("opening with a checkpoint yields another tree than replaying the log")
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

    private func position(_ pointer: RecordPointer?) -> String {
        pointer.map { "\($0.position)" } ?? "none"
    }

    /// Returns the log position of each key that has a payload.
    private static func positions(_ snapshot: LogSnapshot) -> [[UInt8]: LogPosition] {
        var positions: [[UInt8]: LogPosition] = [:]
        snapshot.tree.forEach(in: snapshot.keys) { key, _ in
            positions[Array(key)] = snapshot.recordPointer(of: key)?.position
            return true
        }
        return positions
    }

    /// Commits on the recovered image, cuts the power again, and checks the new commits.
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
                    try batch.appendDelta(key, payload)
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
                "after a second power cut the store is at commit \(last), "
                    + "not within \(acknowledged)...\(model.last)")
        }
        try model.check(again.snapshot())
    }
}
