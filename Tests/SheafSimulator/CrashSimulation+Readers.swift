import SheafStorage
import SheafTestSupport

/// A reader in another process, which lives on when the writer's process dies.
struct SimulatedReader {
    let follower: LogFollower
    /// It refreshes at one of this number of opportunities.
    let laziness: Int
    /// The last commit that it has seen.
    var seen: CommitID
}

extension CrashSimulation {
    /// Maximum number of readers at the same time.
    private static let maximumReaders = 3

    /// Opens or refreshes readers between two calls of the writer, and checks what they see.
    func readBeside() throws {
        guard readerRandom.chance(1, in: 3) else { return }
        // Faults are those of the writer; they would make readers fail as well.
        try volume.withoutFaults {
            for index in readers.indices where readerRandom.chance(1, in: readers[index].laziness) {
                try refresh(&readers[index])
            }
            guard readerRandom.chance(1, in: 6), hasStore else { return }
            if readers.count == Self.maximumReaders {
                readers.remove(at: readerRandom.below(readers.count))
            }
            let follower = try LogFollower(try LogReader(volume))
            try check(follower.snapshot, since: 0)
            let laziness = readerRandom.chance(1, in: 3) ? 100 : 1 + readerRandom.below(4)
            readers.append(
                SimulatedReader(
                    follower: follower, laziness: laziness, seen: follower.snapshot.commit))
            report.openedReaders += 1
        }
    }

    /// Whether the directory has a file of the log.
    private var hasStore: Bool {
        volume.snapshotFiles().keys.contains { name in
            if case .segment = FileName(name) { true } else { false }
        }
    }

    private func refresh(_ reader: inout SimulatedReader) throws {
        let advance = try reader.follower.advance()
        report.refreshes += 1
        guard let advance else {
            guard hasFaults || reader.seen >= acknowledged.value else {
                throw Violation(
                    "a reader stays at commit \(reader.seen) after commit "
                        + "\(acknowledged.value) was acknowledged")
            }
            return
        }
        try check(advance.snapshot, since: reader.seen)
        if let keys = advance.changedKeys {
            try model.checkChanges(
                keys, from: reader.seen, to: advance.snapshot.commit)
        } else {
            report.reloads += 1
        }
        reader.seen = advance.snapshot.commit
    }

    /// Checks the state that a reader sees, which no crash may take back.
    private func check(_ snapshot: LogSnapshot, since seen: CommitID) throws {
        guard snapshot.commit >= seen else {
            throw Violation("a reader saw commit \(seen), and now \(snapshot.commit)")
        }
        // A mark that could not be written leaves readers at an older commit.
        guard hasFaults || snapshot.commit >= acknowledged.value else {
            throw Violation(
                "a reader sees commit \(snapshot.commit), but commit \(acknowledged.value) "
                    + "was acknowledged")
        }
        try check(snapshot)
        seenByReaders = max(seenByReaders, snapshot.commit)
    }
}

extension StoreModel {
    /// Verifies that `keys` contains all keys that commits have changed between two states.
    func checkChanges(_ keys: [[UInt8]], from first: CommitID, to last: CommitID) throws {
        let found = Set(keys)
        for index in 0..<keyCount {
            let isChanged = writes[index].contains { $0.commit > first && $0.commit <= last }
            guard isChanged, !found.contains(Self.key(index)),
                states[Int(first)][index] != states[Int(last)][index]
            else { continue }
            throw Violation("key \(index) changed after commit \(first) and is not reported")
        }
    }
}
