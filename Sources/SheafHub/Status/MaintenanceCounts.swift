package import SheafReplication

/// The work of the maintenance of the log, and of files, since the start of a hub.
package struct MaintenanceCounts: Sendable {
    /// Numbers that only grow, by name.
    package private(set) var counts: [String: UInt64] = [
        "loaded_documents": 0, "written_snapshots": 0, "verified_snapshots": 0,
        "refused_snapshots": 0, "removed_objects": 0, "trims": 0, "replacements": 0,
        "failed_maintenance": 0, "stored_files": 0, "loaded_files": 0, "failed_files": 0,
        "removed_files": 0,
    ]
    /// The failure of the last step that followed the configuration; nil if it succeeded.
    package private(set) var failure: SnapshotFailure?
    /// The same for snapshots.
    private var snapshotFailure: SnapshotFailure?
    /// Whether another hub was replacing the log at the last step.
    private var isWaiting = false

    /// Creates counts of zero.
    package init() {}

    /// Adds to one of the numbers.
    package mutating func add(_ name: String, _ count: Int = 1) {
        counts[name, default: 0] += UInt64(clamping: count)
    }

    /// Records a step that has succeeded; returns whether waiting has begun or ended.
    package mutating func recordSuccess(isWaiting: Bool) -> Bool {
        defer { self.isWaiting = isWaiting }
        failure = nil
        return isWaiting != self.isWaiting
    }

    /// Records a step of the snapshots that has succeeded.
    package mutating func recordSnapshots() { snapshotFailure = nil }

    /// Records a failed step; returns whether the failure differs from that of the last step.
    package mutating func record(_ failure: SnapshotFailure, ofSnapshots: Bool) -> Bool {
        add("failed_maintenance")
        let last = ofSnapshots ? snapshotFailure : self.failure
        if ofSnapshots { snapshotFailure = failure } else { self.failure = failure }
        return failure != last
    }
}
