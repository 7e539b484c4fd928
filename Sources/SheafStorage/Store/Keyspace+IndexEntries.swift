import SheafBytes
import Synchronization

/// Maintenance of index entries, which are not included in any count.
extension Keyspace {
    /// The number of index entries removed per scan of a range.
    private static let removalCount = 1_024

    /// Applies the removals in `changes`.
    mutating func removeEntries(_ changes: IndexChanges) {
        for range in changes.removedRanges { removeEntries(in: range) }
        guard !changes.removed.isEmpty else { return }
        changes.bytes.withUnsafeBytes { bytes in
            for key in changes.removed { tree.remove(bytes.slice(key.range)) }
        }
    }

    /// Adds index entries for operations that are already in the log.
    mutating func addIndexEntries(_ changes: IndexChanges) {
        guard !changes.toPointers.isEmpty else { return }
        changes.bytes.withUnsafeBytes { bytes in
            for entry in changes.toPointers {
                tree.put(bytes.slice(entry.key), entry.pointer.value(weight: entry.weight))
            }
        }
    }

    private mutating func removeEntries(in range: KeyRange) {
        var keys: [[UInt8]] = []
        repeat {
            keys.removeAll(keepingCapacity: true)
            tree.forEach(in: range) { key, _ in
                keys.append(Array(key))
                return keys.count < Self.removalCount
            }
            for key in keys { key.withUnsafeBytes { _ = tree.remove($0) } }
        } while !keys.isEmpty
    }
}

extension StoreEngine {
    /// Publishes `snapshot` with repaired index entries, without a commit.
    ///
    /// Returns false if there are newer commits, or a flush is pending or running. Existing
    /// snapshots keep their index entries.
    package func repairIndexEntries(of snapshot: LogSnapshot, _ changes: IndexChanges) -> Bool {
        precondition(changes.toOperations.isEmpty, "Index repair refers to logged operations.")
        return state.withLock { state in
            // A running flush has already captured the tree that it publishes.
            guard state.lastCommit == snapshot.commit, state.published.commit == snapshot.commit,
                state.pending.isEmpty, state.spare != nil
            else { return false }
            state.keyspace.removeEntries(changes)
            state.keyspace.addIndexEntries(changes)
            state.indexMark = IndexMark(commit: state.lastCommit, end: state.end)
            state.grownLength += changes.lengthToPointers
            state.published = state.published.with(
                indexed: state.keyspace.tree.snapshot(), grownLength: state.grownLength)
            publish(state.published)
            return true
        }
    }
}
