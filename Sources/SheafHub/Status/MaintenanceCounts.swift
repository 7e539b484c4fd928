import SheafReplication

/// The work of the maintenance of the log since the start of a hub.
struct MaintenanceCounts: Sendable {
    /// Numbers that only grow, by name.
    private(set) var counts: [String: UInt64] = [
        "loaded_documents": 0, "written_snapshots": 0, "verified_snapshots": 0,
        "refused_snapshots": 0, "removed_objects": 0, "trims": 0, "replacements": 0,
        "failed_maintenance": 0,
    ]
    /// The failure of the last step; nil if it succeeded.
    private(set) var failure: SnapshotFailure?

    /// Adds to one of the numbers.
    mutating func add(_ name: String, _ count: Int = 1) {
        counts[name, default: 0] += UInt64(clamping: count)
    }

    /// Records whether a step has succeeded.
    mutating func record(_ failure: SnapshotFailure?) {
        self.failure = failure
        if failure != nil { add("failed_maintenance") }
    }
}
