import SheafDocument
package import SheafStorage
package import SheafSystem
import Synchronization

/// A cache of the earlier states that statements have read.
///
/// A state keeps the tree pages that it shares with the snapshot it was made from, so only a few
/// are kept, and only while they are used.
package final class PastStates: Sendable {
    private struct State: Sendable {
        let snapshot: DocumentSnapshot
        var usedAt: UInt64
    }

    private let clock: Clock
    /// The states, in order of their last use.
    private let states = Mutex<[State]>([])

    /// The commits at earlier times, which never change, in the order in which they were found.
    private let commits = Mutex<[(time: UInt64, commit: CommitID)]>([])

    /// Maximum number of times whose commits are kept.
    private static let maximumTimes = 8
    /// Maximum number of states.
    private static let maximumCount = 2
    /// Time after which an unused state is dropped when another statement runs.
    private static let keptNanoseconds: UInt64 = 10_000_000_000

    package init(_ clock: Clock) {
        self.clock = clock
    }

    /// Returns the documents as of a commit that the log of a snapshot has completely.
    package func state(
        asOf commit: CommitID, from newest: DocumentSnapshot
    ) throws(EngineError) -> DocumentSnapshot {
        guard commit != newest.log.commit else { return newest }
        let known = states.withLock { $0.map(\.snapshot) }
            .filter { $0.log.commit >= commit && $0.log.commit < newest.log.commit }
            .min { $0.log.commit < $1.log.commit }
            .map { $0.with(filesOf: newest) }
        // The fewer commits lie between two states, the faster one is made from the other.
        let state = try (known ?? newest).past(commit)
        record(state)
        return state
    }

    /// Returns the last commit made up to a time, like `LogSnapshot.commit(at:)`.
    package func commit(
        at time: UInt64, in newest: LogSnapshot
    ) throws(StorageError) -> CommitID? {
        guard newest.commitAt > time else { return newest.commit }
        let known = commits.withLock { commits in commits.first { $0.time == time }?.commit }
        if let known { return known }
        guard let found = try newest.commit(at: time) else { return nil }
        commits.withLock { commits in
            commits.append((time, found))
            commits.removeFirst(max(commits.count - Self.maximumTimes, 0))
        }
        return found
    }

    private func record(_ snapshot: DocumentSnapshot) {
        let now = clock.monotonicNanoseconds()
        states.withLock { states in
            states.removeAll { $0.snapshot.log.commit == snapshot.log.commit }
            states.append(State(snapshot: snapshot, usedAt: now))
            states.removeFirst(max(states.count - Self.maximumCount, 0))
        }
    }

    /// Drops all states.
    package func removeAll() {
        states.withLock { $0.removeAll() }
    }

    /// Drops the states that no statement has read for a while.
    package func dropUnused() {
        let now = clock.monotonicNanoseconds()
        states.withLock { states in
            states.removeAll { $0.usedAt + Self.keptNanoseconds < now }
        }
    }
}
