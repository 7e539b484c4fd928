import SheafBytes

extension Verifier {
    /// Checks each checkpoint, and that replaying the log from it yields the same keys.
    mutating func checkCheckpoints() throws(StorageError) {
        let removals = directory.removalsCompactedThrough
        for (_, name) in directory.checkpoints {
            result.checkpointCount += 1
            guard let checkpoint = try load(checkpoint: name) else { continue }
            let start = checkpoint.summary.start
            result.byteCount += checkpoint.summary.length
            guard start.position >= removals else {
                result.addNote(
                    name, at: Checkpoint.Layout.position,
                    "it is too old: compaction has dropped removals after this checkpoint")
                continue
            }
            guard isWithinLog(checkpoint.summary) else { continue }
            let keyspace = checkpoint.takeKeyspace()
            guard hasValidContents(checkpoint.summary, keyspace) else { continue }
            result.usableCheckpointCount += 1
            guard !result.isDamaged, replay.isComplete else { continue }
            compare(checkpoint.summary, keyspace)
        }
    }

    /// Checks that opening the store yields the same keys and that all payloads are readable.
    mutating func checkOpening() throws(StorageError) {
        guard !result.isDamaged, replay.isComplete else { return }
        do throws(StorageError) {
            let (snapshot, _) = try Recovery.read(volume: volume)
            let name = directory.files.last?.name ?? ""
            if snapshot.commit != replay.lastCommit {
                result.damage(
                    name, at: end.offset,
                    "opening yields commit \(snapshot.commit), not \(replay.lastCommit)")
            }
            if let reason = difference(from: snapshot.tree) {
                result.damage(name, at: end.offset, "opening yields other keys: \(reason)")
            }
            for violation in snapshot.tree.checkInvariants() {
                result.damage(name, at: end.offset, "opening yields an invalid tree: \(violation)")
            }
            try snapshot.tree.forEach(in: Keyspace.present) { key, value throws(StorageError) in
                if let pointer = RecordPointer(value) {
                    try snapshot.forEachOperation(of: key, at: pointer) { _ in }
                }
                return true
            }
        } catch {
            guard !error.isAboutProcess else { throw error }
            addRefusedFinding(error)
        }
    }

    private mutating func addRefusedFinding(_ error: StorageError) {
        switch error {
        case .corrupt(let damage), .unsupported(let damage):
            result.removeNotes(damage.file, at: damage.offset)
            result.damage(
                damage.file, at: damage.offset, "opening fails: \(damage.reason)")
        default:
            result.damage(
                directory.files.last?.name ?? "", at: 0, "opening fails: \(error)")
        }
    }

    /// Loads the checkpoint `name`; adds a finding and returns nil if it is unusable.
    private mutating func load(checkpoint name: String) throws(StorageError) -> Checkpoint? {
        do throws(StorageError) {
            return try Checkpoint.load(
                name, from: volume, store: directory.store, notBefore: .none)
        } catch {
            guard !error.isAboutProcess else { throw error }
            switch error {
            case .corrupt(let damage), .unsupported(let damage):
                result.warn(name, at: damage.offset, damage.reason)
            case .io(let refusal)
            where refusal.code == .notARegularFile || refusal.code == .symbolicLink:
                // Not a warning: no new checkpoint can get this name.
                result.damage(name, at: 0, "\(refusal)")
            default:
                result.warn(name, at: 0, "the checkpoint cannot be read: \(error)")
            }
            return nil
        }
    }

    /// Whether the log reaches as far as a checkpoint, which must not be ahead of it.
    private mutating func isWithinLog(_ checkpoint: Checkpoint.Summary) -> Bool {
        let start = checkpoint.start
        if start.position <= end, start.commit <= replay.lastCommit { return true }
        // Damage to the log was already reported.
        guard !result.isDamaged else { return false }
        result.damage(
            FileName.name(ofSegment: start.position.segment), at: start.position.offset,
            "the log ends earlier, but \(checkpoint.name) contains commit \(start.commit)")
        return false
    }

    /// Whether the tree and the live-byte counts of a checkpoint are valid.
    private mutating func hasValidContents(
        _ summary: Checkpoint.Summary, _ keyspace: borrowing Keyspace
    ) -> Bool {
        for violation in keyspace.tree.checkInvariants() {
            result.warn(summary.name, at: Checkpoint.headerLength, violation)
            return false
        }
        var live = LiveBytes(firstSegments: keyspace.live.entries.map(\.firstSegment))
        var deltas: [LogPosition] = []
        var wrong: LogPosition?
        keyspace.tree.forEach { key, value in
            guard let pointer = RecordPointer(value), pointer.position < summary.start.position,
                !(pointer.isDelta && key.first == 0)
            else {
                wrong = LogPosition(rawValue: value.low)
                return false
            }
            // The operation of an index entry is counted with its own key.
            guard key.first != Keyspace.indexEntryByte else { return true }
            live.add(pointer)
            if pointer.isDelta { deltas.append(pointer.position) }
            return true
        }
        if let wrong {
            result.warn(
                summary.name, at: Checkpoint.headerLength,
                "the tree contains the invalid record pointer \(wrong)")
            return false
        }
        guard isRight(keyspace.live, newest: live, deltas: deltas) else {
            result.warn(
                summary.name, at: summary.length - summary.fileCount * Checkpoint.liveEntryLength,
                "the live bytes do not match the tree")
            return false
        }
        return true
    }

    /// Whether live-byte counts match the newest operations and the bases of the deltas among them.
    ///
    /// If bases have been compacted away since, the counts may be too high.
    private mutating func isRight(
        _ noted: LiveBytes, newest: LiveBytes, deltas: [LogPosition]
    ) -> Bool {
        guard !deltas.isEmpty else { return noted == newest }
        if segments == nil { segments = try? Recovery.read(volume: volume).snapshot.segments }
        // A log that cannot be opened is reported elsewhere.
        guard let segments else { return true }
        var live = newest
        var isComplete = true
        for position in deltas {
            let isFound = segments.forEachFoundation(of: position) { live.add($0) }
            isComplete = isComplete && isFound
        }
        guard !isComplete else { return noted == live }
        return live.entries.allSatisfy { $0.length <= noted.length(ofFileAt: $0.firstSegment) }
    }

    private mutating func compare(
        _ summary: Checkpoint.Summary, _ keyspace: consuming Keyspace
    ) {
        do throws(StorageError) {
            let contents = try LogContents(volume)
            var replayer = Replayer(
                keyspace: keyspace, firstSegments: contents.files.map(\.segments.lowerBound))
            var walk = LogWalk(contents.files, from: summary.start)
            _ = try walk.run(&replayer)
            var replayed = replayer.takeKeyspace()
            let tree = replayed.tree.snapshot()
            guard let reason = difference(from: tree) else { return }
            // The checksums are valid, so a bug wrote the checkpoint, and opening would use it.
            result.damage(
                summary.name, at: Checkpoint.headerLength,
                "the keys differ from those of the log: \(reason)")
        } catch {
            addRefusedFinding(error)
        }
    }

    /// Describes how `tree` differs from the keys of the complete log; nil if it does not.
    private func difference(from tree: BTreeSnapshot) -> String? {
        let (count, expected) = (tree.count(in: Keyspace.present), replay.keyspace.count)
        guard count == expected else { return "there are \(count) keys instead of \(expected)" }
        var reason: String?
        replay.keyspace.tree.forEach(in: Keyspace.logged) { key, value in
            // The log has no weights.
            let (found, expected) = (
                tree.find(key).flatMap(RecordPointer.init), RecordPointer(value)
            )
            if found != expected {
                let position = LogPosition(rawValue: value.low)
                let other = found.map { "at \($0.position)" } ?? "missing"
                reason = "the key whose newest operation is at \(position) is \(other)"
            }
            return found == expected
        }
        if let reason { return reason }
        tree.forEach(in: Keyspace.removed) { key, value in
            // A checkpoint may contain removals that compaction has dropped since.
            let position = LogPosition(rawValue: value.low)
            let isKnown =
                replay.keyspace.tree.find(key).flatMap(RecordPointer.init) == RecordPointer(value)
            guard !isKnown, !replay.isCompactedAway(position) else {
                return true
            }
            reason = "a removal at \(position) is not in the log"
            return false
        }
        return reason
    }
}
