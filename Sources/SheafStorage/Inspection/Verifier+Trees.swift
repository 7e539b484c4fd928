import SheafBytes

extension Verifier {
    /// Checks each checkpoint, and whether the log behind it leads to the keys of the whole log.
    mutating func checkCheckpoints() throws(StorageError) {
        let removals = directory.removalsFoldedThrough
        for (commit, name) in directory.checkpoints {
            result.checkpointCount += 1
            guard let checkpoint = try load(checkpoint: name) else { continue }
            let start = checkpoint.summary.start
            result.byteCount += checkpoint.summary.length
            guard start.commit == commit else {
                result.warn(
                    name, at: Checkpoint.Layout.commit,
                    "the checkpoint is one of commit \(start.commit)")
                continue
            }
            guard start.position >= removals else {
                result.note(
                    name, at: Checkpoint.Layout.position,
                    "too old to be used: compaction has forgotten removals since then")
                continue
            }
            guard isWithinLog(checkpoint.summary) else { continue }
            let keyspace = checkpoint.takeKeyspace()
            guard hasRightPlaces(checkpoint.summary, keyspace) else { continue }
            result.usableCheckpointCount += 1
            guard !result.isDamaged, replay.isWhole else { continue }
            compare(checkpoint.summary, keyspace)
        }
    }

    /// Checks that an opening finds the same keys, and finds the payload of each.
    mutating func checkOpening() throws(StorageError) {
        guard !result.isDamaged, replay.isWhole else { return }
        do throws(StorageError) {
            let (snapshot, _) = try Recovery.read(volume: volume)
            let name = directory.files.last?.name ?? ""
            if snapshot.commit != replay.lastCommit {
                result.damage(
                    name, at: end.offset,
                    "an opening finds commit \(snapshot.commit), not \(replay.lastCommit)")
            }
            if let reason = difference(from: snapshot.tree) {
                result.damage(name, at: end.offset, "an opening finds other keys: \(reason)")
            }
            for violation in snapshot.tree.checkInvariants() {
                result.damage(name, at: end.offset, "the tree of an opening is wrong: \(violation)")
            }
            try snapshot.tree.forEach(in: Keyspace.present) { key, value throws(StorageError) in
                if let place = Place(value) {
                    try snapshot.forEachOperation(of: key, at: place) { _ in }
                }
                return true
            }
        } catch {
            guard !error.isAboutProcess else { throw error }
            noteRefusal(error)
        }
    }

    private mutating func noteRefusal(_ error: StorageError) {
        switch error {
        case .corrupt(let damage), .unsupported(let damage):
            result.damage(
                damage.file, at: damage.offset, "an opening is refused: \(damage.reason)")
        default:
            result.damage(
                directory.files.last?.name ?? "", at: 0, "an opening is refused: \(error)")
        }
    }

    /// The checkpoint `name`, or none and a warning.
    private mutating func load(checkpoint name: String) throws(StorageError) -> Checkpoint? {
        do throws(StorageError) {
            return try Checkpoint.load(
                name, from: volume, store: directory.store, notBefore: .none)
        } catch {
            guard !error.isAboutProcess else { throw error }
            switch error {
            case .corrupt(let damage), .unsupported(let damage):
                result.warn(name, at: damage.offset, damage.reason)
            case .io(let refusal) where refusal.code == .notARegularFile:
                // The log cannot make it again, for something else is in its place.
                result.damage(name, at: 0, "\(refusal)")
            default:
                result.warn(name, at: 0, "the checkpoint cannot be read: \(error)")
            }
            return nil
        }
    }

    /// Whether the log reaches as far as a checkpoint, which never gets ahead of it.
    private mutating func isWithinLog(_ checkpoint: Checkpoint.Summary) -> Bool {
        let start = checkpoint.start
        if start.position <= end, start.commit <= replay.lastCommit { return true }
        // Where the log is known to be damaged, that has been said before.
        guard !result.isDamaged else { return false }
        result.damage(
            FileName.name(ofSegment: start.position.segment), at: start.position.offset,
            "the log ends before this, and \(checkpoint.name) says that commit \(start.commit) "
                + "was in it")
        return false
    }

    /// Whether the tree of a checkpoint is well formed and its count of live bytes right.
    private mutating func hasRightPlaces(
        _ summary: Checkpoint.Summary, _ keyspace: borrowing Keyspace
    ) -> Bool {
        for violation in keyspace.tree.checkInvariants() {
            result.warn(summary.name, at: Checkpoint.headerLength, violation)
            return false
        }
        var live = LiveBytes(firstSegments: keyspace.live.entries.map(\.firstSegment))
        var extensions: [LogPosition] = []
        var wrong: LogPosition?
        keyspace.tree.forEach { key, value in
            guard let place = Place(value), place.position < summary.start.position,
                !(place.isExtension && key.first == 0)
            else {
                wrong = LogPosition(rawValue: value.low)
                return false
            }
            // What a link leads to is counted with the key that has it.
            guard key.first != Keyspace.linkByte else { return true }
            live.add(place)
            if place.isExtension { extensions.append(place.position) }
            return true
        }
        if let wrong {
            result.warn(
                summary.name, at: Checkpoint.headerLength,
                "the tree names the place \(wrong), which it cannot know")
            return false
        }
        guard isRight(keyspace.live, heads: live, extensions: extensions) else {
            result.warn(
                summary.name, at: summary.length - summary.fileCount * Checkpoint.liveEntryLength,
                "the live bytes of the segments do not add up")
            return false
        }
        return true
    }

    /// Whether a count of live bytes is that of these heads and of what the extensions among them
    /// stand on.
    ///
    /// Of what has been superseded since, that may be folded away: then the count is only not less.
    private mutating func isRight(
        _ noted: LiveBytes, heads: LiveBytes, extensions: [LogPosition]
    ) -> Bool {
        guard !extensions.isEmpty else { return noted == heads }
        if segments == nil { segments = try? Recovery.read(volume: volume).snapshot.segments }
        // Where the log cannot be opened, that is found and said elsewhere.
        guard let segments else { return true }
        var live = heads
        var isComplete = true
        for position in extensions {
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
            // A bug wrote it: its checksums are right, and an opening would believe it.
            result.damage(
                summary.name, at: Checkpoint.headerLength,
                "the keys are not those of the log: \(reason)")
        } catch {
            noteRefusal(error)
        }
    }

    /// In what `tree` differs from the keys of the whole log, if it does.
    private func difference(from tree: BTreeSnapshot) -> String? {
        let (count, expected) = (tree.count(in: Keyspace.present), replay.keyspace.count)
        guard count == expected else { return "there are \(count) keys instead of \(expected)" }
        var reason: String?
        replay.keyspace.tree.forEach(in: Keyspace.logged) { key, value in
            let found = tree.find(key)
            if found != value {
                let place = LogPosition(rawValue: value.low)
                let other = found.map { "at \(LogPosition(rawValue: $0.low))" } ?? "missing"
                reason = "the key whose newest operation is at \(place) is \(other)"
            }
            return found == value
        }
        if let reason { return reason }
        tree.forEach(in: Keyspace.removed) { key, value in
            // A checkpoint may know removals that compaction has forgotten since.
            let position = LogPosition(rawValue: value.low)
            guard replay.keyspace.tree.find(key) != value, !replay.isFoldedAway(position) else {
                return true
            }
            reason = "a removal at \(position) is not in the log"
            return false
        }
        return reason
    }
}
