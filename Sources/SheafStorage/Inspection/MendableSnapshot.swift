/// A state that was read from the files of a store, and whose links can be put right in memory.
///
/// Links are not in the log: an opening for writing makes those anew that no checkpoint has, and so
/// does who only reads and wants them.
package final class MendableSnapshot {
    package let snapshot: LogSnapshot
    private let keys: Recovery.Loaded

    init(_ snapshot: LogSnapshot, _ keys: Recovery.Loaded) {
        self.snapshot = snapshot
        self.keys = keys
    }

    /// The same state with its links put right, which can be done once; nothing is written.
    package func mended(_ changes: LinkChanges) -> LogSnapshot {
        var keyspace = keys.takeKeyspace()
        keyspace.unlink(changes)
        keyspace.linkPlaces(changes)
        return snapshot.with(
            linked: keyspace.tree.snapshot(), grownLength: snapshot.grownLength)
    }
}

extension LogReader {
    /// The newest state, as an opening would find it, with links that can be put right.
    package func mendableSnapshot() throws(StorageError) -> MendableSnapshot {
        let found = try Recovery.readKeys(volume: volume)
        return MendableSnapshot(found.snapshot, found.keys)
    }
}
