/// A snapshot read from files, whose index entries can be repaired in memory.
///
/// Index entries are not logged. Those missing in the checkpoint must be rebuilt after opening,
/// also for reading.
package final class RepairableSnapshot {
    package let snapshot: LogSnapshot
    private let keys: Recovery.Loaded

    init(_ snapshot: LogSnapshot, _ keys: Recovery.Loaded) {
        self.snapshot = snapshot
        self.keys = keys
    }

    /// Returns the snapshot with repaired index entries, without writing; may be called once.
    package func repaired(_ changes: IndexChanges) -> LogSnapshot {
        var keyspace = keys.takeKeyspace()
        keyspace.removeEntries(changes)
        keyspace.addIndexEntries(changes)
        return snapshot.with(
            indexed: keyspace.tree.snapshot(), grownLength: snapshot.grownLength)
    }
}

extension LogReader {
    /// Returns the state that opening the store would recover, with repairable index entries.
    package func mendableSnapshot() throws(StorageError) -> RepairableSnapshot {
        let found = try Recovery.readKeys(volume: volume)
        return RepairableSnapshot(found.snapshot, found.keys)
    }
}
