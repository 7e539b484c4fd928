package import SheafBytes
import Synchronization

extension StoreEngine {
    /// Gives keys weights, unless they have changed since their operations at these pointers.
    ///
    /// Snapshots have them from now on, or once the pending commits are durable. A weight is not in
    /// the log: a key that is replayed at opening has none.
    package func setWeights(_ weights: [(key: [UInt8], pointer: RecordPointer, weight: UInt64)]) {
        state.withLock { state in
            for (key, pointer, weight) in weights {
                key.withUnsafeBytes { key in
                    guard state.keyspace.tree.find(key).flatMap(RecordPointer.init) == pointer
                    else { return }
                    state.keyspace.tree.put(key, pointer.value(weight: weight))
                    // The next opening has to add it again, unless a checkpoint has it.
                    state.grownLength += BTreeValue.weightedCount
                }
            }
            // A running flush publishes them if no commit follows it.
            guard state.published.commit == state.lastCommit, state.pending.isEmpty,
                state.spare != nil
            else { return }
            state.published = state.published.with(
                weighted: state.keyspace.tree.snapshot(), grownLength: state.grownLength)
            publish(state.published)
        }
    }
}

extension LogSnapshot {
    /// Returns the pointer to the newest operation of a key in a range with a weight that is not 0.
    package func newestWeighted(in range: KeyRange) -> RecordPointer? {
        var newest: RecordPointer?
        tree.forEachValues(in: range, reversed: false) { values in
            for index in 0..<values.count {
                let value = values[index]
                guard value.weightOrZero != 0, let pointer = RecordPointer(value),
                    pointer.position > newest?.position ?? .none
                else { continue }
                newest = pointer
            }
            return true
        }
        return newest
    }
}
