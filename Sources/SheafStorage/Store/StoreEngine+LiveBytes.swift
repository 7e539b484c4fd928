import Synchronization

/// What is not yet known of the counts with which a store was opened.
///
/// The counts come from a checkpoint, and the log behind it has superseded extensions. What those
/// stood on is still counted, and may have been folded away since the checkpoint was written.
struct UnsettledOpening: Sendable {
    private let snapshot: LogSnapshot
    private let live: LiveBytes
    private let orphans: [LogPosition]

    /// Takes over what there is to look up; none where there is nothing.
    init?(takingOrphansOf keyspace: inout Keyspace, in snapshot: LogSnapshot) {
        guard !keyspace.orphans.isEmpty else { return nil }
        self.snapshot = snapshot
        live = keyspace.live
        orphans = keyspace.orphans
        keyspace.orphans = []
    }

    /// The live bytes that are none.
    func garbage() -> LiveBytes {
        var garbage = LiveBytes(firstSegments: live.entries.map(\.firstSegment))
        let segments = snapshot.segments
        let isComplete = orphans.allSatisfy { orphan in
            segments.forEachFoundation(of: orphan) { garbage.add($0) }
        }
        guard !isComplete else { return garbage }
        // Nobody knows any more how long that was; only a count of everything helps.
        garbage = live
        garbage.subtract(LiveBytes(of: snapshot.tree, in: segments))
        return garbage
    }
}

extension EngineState {
    /// Takes the superseded extensions away that are in the log that readers see.
    fileprivate mutating func takeOrphans() -> [LogPosition] {
        guard !keyspace.orphans.isEmpty else { return [] }
        let end = published.end
        let orphans = keyspace.orphans.filter { $0 < end }
        keyspace.orphans.removeAll { $0 < end }
        return orphans
    }
}

extension StoreEngine {
    /// Looks up what superseded extensions stood on, and counts it as live no longer; returns the
    /// state in which it was looked up.
    ///
    /// A compaction works on that state: what it drops has then been counted as garbage before.
    @discardableResult
    func settleLiveBytes() -> LogSnapshot {
        let (snapshot, orphans, opening) = state.withLock { state in
            defer { state.opening = nil }
            return (state.published, state.takeOrphans(), state.opening)
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

    /// In what the counts of live bytes differ from a new count; nothing while a commit waits for
    /// the disk.
    package func checkLiveBytes() -> [String] {
        settleLiveBytes()
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
                "\(length) live bytes are counted in the file of segment \(entry.firstSegment), "
                    + "and there are \(entry.length)")
        }
        if live.total != expected.total {
            differences.append(
                "\(live.total) live bytes are counted in all, and there are \(expected.total)")
        }
        return differences
    }
}
