import Synchronization

/// The garbage that opening a store has not yet counted.
///
/// The live-byte counts of a checkpoint are updated while replaying the log. If the log supersedes
/// deltas, their bases still count as live, and may have been compacted away since the checkpoint.
struct DeferredGarbage: Sendable {
    private let snapshot: LogSnapshot
    private let live: LiveBytes
    private let orphans: [LogPosition]

    /// Moves the superseded deltas out of `keyspace`; nil if there are none.
    init?(takingOrphansOf keyspace: inout Keyspace, in snapshot: LogSnapshot) {
        guard !keyspace.orphans.isEmpty else { return nil }
        self.snapshot = snapshot
        live = keyspace.live
        orphans = keyspace.orphans
        keyspace.orphans = []
    }

    /// Returns the bytes that are counted as live but are garbage.
    func garbage() -> LiveBytes {
        var garbage = LiveBytes(firstSegments: live.entries.map(\.firstSegment))
        let segments = snapshot.segments
        let isComplete = orphans.allSatisfy { orphan in
            segments.forEachFoundation(of: orphan) { garbage.add($0) }
        }
        guard !isComplete else { return garbage }
        // The length of compacted operations is unknown, so all operations are counted again.
        garbage = live
        garbage.subtract(LiveBytes(of: snapshot.tree, in: segments))
        return garbage
    }
}

extension EngineState {
    /// Removes and returns the superseded deltas in the published part of the log.
    fileprivate mutating func drainOrphans() -> [LogPosition] {
        guard !keyspace.orphans.isEmpty else { return [] }
        let end = published.end
        let orphans = keyspace.orphans.filter { $0 < end }
        keyspace.orphans.removeAll { $0 < end }
        return orphans
    }
}

extension StoreEngine {
    /// Subtracts the bases of superseded deltas from the live bytes; returns the snapshot used.
    ///
    /// Compaction uses the same snapshot, so that all bytes it drops were already counted as
    /// garbage.
    @discardableResult
    func updateLiveBytes() -> LogSnapshot {
        let (snapshot, orphans, opening) = state.withLock { state in
            defer { state.opening = nil }
            return (state.published, state.drainOrphans(), state.opening)
        }
        guard opening != nil || !orphans.isEmpty else { return snapshot }
        var garbage = LiveBytes(
            firstSegments: snapshot.segments.files.map(\.header.segments.lowerBound))
        for orphan in orphans {
            _ = snapshot.segments.forEachFoundation(of: orphan) { garbage.add($0) }
        }
        let before = opening?.garbage()
        state.withLock { state in
            state.keyspace.live.subtract(garbage)
            if let before { state.keyspace.live.subtract(before) }
        }
        return snapshot
    }

    /// Returns the differences between the live-byte counts and a recount.
    ///
    /// Returns an empty array while commits are pending.
    package func checkLiveBytes() -> [String] {
        updateLiveBytes()
        let (tree, live, segments) = state.withLock { state in
            (
                state.published.commit == state.lastCommit ? state.keyspace.tree.snapshot() : nil,
                state.keyspace.live, state.published.segments
            )
        }
        guard let tree else { return [] }
        let expected = LiveBytes(of: tree, in: segments)
        var differences: [String] = []
        for entry in expected.entries {
            let length = live.length(ofFileAt: entry.firstSegment)
            guard length != entry.length else { continue }
            differences.append(
                "\(length) live bytes counted in the file of segment \(entry.firstSegment), "
                    + "but \(entry.length) found")
        }
        if live.total != expected.total {
            differences.append(
                "\(live.total) live bytes counted in total, but \(expected.total) found")
        }
        return differences
    }
}
